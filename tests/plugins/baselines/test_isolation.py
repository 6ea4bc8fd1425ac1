import attrs

from baseline_cases import node_numbers, nodes, part, request, topology
from headworks.model import FrozenMap, Slot, Status
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from headworks_baselines.even import EvenOptions, even
from headworks_baselines.isolation import isolation

ROOMY = [(400, 400)] * 4


def plan(asked, **options):
    answer = isolation.headworks_schedule(Problem.of(asked), EvenOptions(**options))
    assert check_plan(Problem.of(asked), answer) == ()
    return answer


def test_an_isolated_topology_has_its_hosts_alone():
    asked = request(nodes(*ROOMY), topology("s", [part("a", 4)]), topology("t", [part("a", 4)], isolated_nodes=2))
    answer = plan(asked)
    assert node_numbers(answer, "a") == [0, 1, 0, 1]
    assert node_numbers(answer, "a", "s") == [2, 3, 2, 3]
    assert answer.explanation == "2 nodes serve one topology alone"


def test_the_unit_is_the_host():
    hosts = ["x", "y", "y", "z"]
    asked = request(
        nodes(*ROOMY, host=hosts), topology("s", [part("a", 2)]), topology("t", [part("a", 4)], isolated_nodes=1)
    )
    answer = plan(asked)
    assert node_numbers(answer, "a") == [1, 2, 1, 2], "y has most slots"
    assert node_numbers(answer, "a", "s") == [0, 3]


def test_hosts_on_which_others_run_are_not_claimed():
    asked = request(
        nodes(*ROOMY[:2]),
        topology("s", [part("a", 1)]),
        topology("t", [part("a", 2)], isolated_nodes=2),
        assignment=FrozenMap({"s/a/0": Slot("n0", 0)}),
    )
    answer = plan(asked)
    assert node_numbers(answer, "a", "s") == [0]
    assert node_numbers(answer, "a") == [1, 1]
    assert "t asks for 2 hosts of its own and gets 1" in answer.explanation


def test_hosts_on_which_it_runs_already_are_claimed_first():
    asked = request(
        nodes(*ROOMY),
        topology("t", [part("a", 2)], isolated_nodes=1),
        assignment=FrozenMap({"t/a/0": Slot("n2", 0)}),
    )
    assert node_numbers(plan(asked), "a") == [2, 2]


def test_rebalance_puts_claims_first():
    asked = request(
        nodes(*ROOMY[:2]),
        topology("s", [part("a", 2)]),
        topology("t", [part("a", 2)], isolated_nodes=1),
        assignment=FrozenMap({"s/a/0": Slot("n0", 0), "s/a/1": Slot("n1", 0)}),
    )
    answer = plan(asked, rebalance=True)
    assert node_numbers(answer, "a") == [0, 0]
    assert node_numbers(answer, "a", "s") == [1, 1]


def test_what_has_no_room_on_its_hosts_waits():
    asked = request(nodes((100, 9), (400, 9)), topology("t", [part("a", 4)], isolated_nodes=1))
    answer = plan(asked)
    assert answer.status is Status.INFEASIBLE
    assert node_numbers(answer, "a") == [0, 0]


def test_without_isolated_topologies_it_is_even():
    asked = request(nodes(*ROOMY), topology("s", [part("a", 3)]), topology("t", [part("b", 6)]))
    expected = even.headworks_schedule(Problem.of(asked), EvenOptions())
    assert attrs.evolve(plan(asked), explanation="") == attrs.evolve(expected, explanation="")


def test_a_host_that_can_hold_none_of_its_tasks_is_not_claimed():
    asked = request(
        nodes((20, 400), (400, 0.5), (100, 400), (400, 400)),
        topology("s", [part("a", 1, cpu=10, memory=0.25)]),
        topology("t", [part("a", 2)], isolated_nodes=2),
    )
    answer = plan(asked)
    assert node_numbers(answer, "a") == [2, 3]
    assert node_numbers(answer, "a", "s") == [0]


def test_no_more_hosts_are_claimed_than_there_are_tasks():
    asked = request(nodes(*ROOMY), topology("s", [part("a", 3)]), topology("t", [part("a", 1)], isolated_nodes=3))
    answer = plan(asked)
    assert answer.explanation == "1 nodes serve one topology alone"
    assert node_numbers(answer, "a", "s") == [1, 2, 3]


def test_a_reason_names_the_reservation():
    """t has n1 of two nodes; of s, which shares the other, one task waits: n1 would have room for it."""
    asked = request(
        nodes((100, 9), (400, 9)),
        topology("s", [part("a", 3)]),
        topology("t", [part("a", 1)], isolated_nodes=1),
        assignment=FrozenMap({"t/a/0": Slot("n1", 0)}),
    )
    (reason,) = plan(asked).reasons
    assert (reason.code, reason.subject, reason.resource, reason.need, reason.have) == (
        "reserved",
        "s",
        "nodes",
        2.0,
        1.0,
    )
    said = "s finds no room for 1 of its tasks: n1 is kept for t; lower the isolated_nodes of t, or add a host"
    assert reason.message == said


def test_a_reason_names_the_hosts_of_its_own_that_are_too_few():
    asked = request(nodes((100, 9), (100, 9)), topology("t", [part("a", 3)], isolated_nodes=1))
    (reason,) = plan(asked).reasons
    assert reason.message == (
        "t has 1 nodes of its own (isolated_nodes), without room for 1 of its tasks; "
        "raise isolated_nodes, or add a host"
    )
