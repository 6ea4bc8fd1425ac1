from baseline_cases import chain, node_numbers, nodes, part, request, topology
from headworks.model import FrozenMap, Metrics, Slot, Status, TaskSample
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from headworks_baselines.resource_aware import ResourceAwareOptions, resource_aware

RACKS = ["x", "y", "y"]


def plan(asked, **options):
    answer = resource_aware.headworks_schedule(asked, ResourceAwareOptions(**options))
    assert check_plan(Problem.of(asked, measured=answer.measured), answer) == ()
    return answer


def test_the_chain_by_number_of_connections():
    answer = plan(chain())
    # B has most connections, then its neighbours A and C, then D: B and A fill the first node
    assert [node_numbers(answer, name) for name in "ABCD"] == [[0], [0], [1], [1]]
    assert answer.scores.inter_node == 100


def test_the_chain_breadth_first():
    for rule in ("ras", "distance"):
        answer = plan(chain(), order="bfs", rule=rule)
        assert [node_numbers(answer, name) for name in "ABCD"] == [[0], [0], [1], [1]]


def test_the_emptiest_node_of_the_richest_rack_is_first():
    asked = request(nodes((100, 100), (80, 100), (100, 90), rack=RACKS), topology("t", [part("a")]))
    # rack y has most; n1 holds 80/180 + 100/190 of it, n2 holds 100/180 + 90/190
    assert node_numbers(plan(asked), "a") == [2]


def test_the_host_is_looked_at_before_the_node():
    # host h holds two nodes of 60: more of the rack than the one of 100
    asked = request(
        nodes((100, 100), (60, 60), (60, 60), rack=["x"] * 3, host=["g", "h", "h"]), topology("t", [part("a")])
    )
    assert node_numbers(plan(asked), "a") == [1]


def test_a_topology_goes_on_where_it_is():
    asked = request(
        nodes((100, 10), (900, 90)),
        topology("t", [part("a", 3)]),
        assignment=FrozenMap({"t/a/0": Slot("n0", 0)}),
    )
    assert node_numbers(plan(asked), "a") == [0, 0, 1]
    assert node_numbers(plan(asked, rebalance=True), "a") == [1, 1, 1]


def test_nodes_with_a_generic_resource_are_left_to_those_that_ask_for_it():
    from headworks.model import Component, Node, Resources

    cluster = (
        Node(id="n0", capacity=Resources(cpu=100, memory=100, gpu=1)),
        Node(id="n1", capacity=Resources(cpu=90, memory=90)),
    )
    plain = request(cluster, topology("t", [part("a")]))
    hungry = Component(id="a", demand=Resources(cpu=50, memory=1, gpu=1))
    assert node_numbers(plan(plain), "a") == [1]
    assert node_numbers(plan(request(cluster, topology("t", [hungry]))), "a") == [0]


def test_another_component_keeps_the_old_order_and_the_same_one_sorts_anew():
    # a (on n0, first by id) fills it; b finds n1 first in the order made for a, though n2 is emptier by then:
    # t runs first and leaves n1 half full
    cluster = nodes((100, 100), (100, 100), (100, 100))
    asked = request(
        cluster,
        topology("t", [part("a", 1, cpu=100.0), part("b", 2, cpu=20.0)], [("a", "b")]),
    )
    # order: a, b, b. The first b follows a: the old order stands (n0 full, so n1); the second b sorts: n1 has one
    assert node_numbers(plan(asked), "b") == [1, 1]


def test_distance_fills_the_node_that_matches_best_near_the_reference():
    # the reference is n1, the richest of the richest rack; n2 is in its rack and fits exactly, n0 is elsewhere
    asked = request(nodes((50, 1), (200, 200), (50, 1), rack=RACKS), topology("t", [part("a")]))
    assert node_numbers(plan(asked, rule="distance"), "a") == [2]
    # n1: (150/201)^2 + (199/201)^2 = 1.54, n0: 1 (other rack), n2: 0.25 (same rack)
    asked = request(nodes((50, 1), (200, 200), rack=RACKS[:2]), topology("t", [part("a")]))
    assert node_numbers(plan(asked, rule="distance"), "a") == [0]


def test_distance_follows_the_last_task():
    # all three match alike; after the first task the reference is where it went
    asked = request(nodes((100, 9), (100, 9), (110, 9), rack=["x", "y", "x"]), topology("t", [part("a", 4)]))
    assert node_numbers(plan(asked, rule="distance"), "a") == [2, 2, 0, 0]


def test_distance_begins_where_most_of_the_topology_runs():
    # n1 has two tasks and is full, n0 and n4 have one and lie in the richest rack: n3 is n1's neighbour, n2 theirs
    running = {f"t/a/{task}": Slot(node, 0) for task, node in enumerate(("n1", "n1", "n0", "n4"))}
    asked = request(
        nodes((90, 9), (100, 9), (150, 9), (100, 9), (60, 9), rack=["y", "x", "y", "x", "y"]),
        topology("t", [part("a", 5)]),
        assignment=FrozenMap(running),
    )
    assert node_numbers(plan(asked, rule="distance"), "a") == [1, 1, 0, 4, 3]


def test_topologies_come_by_priority_then_by_id():
    late, early = topology("a", [part("a", 2)], priority=1), topology("b", [part("a", 2)], priority=0)
    answer = plan(request(nodes((100, 10)), late, early))
    assert answer.status is Status.INFEASIBLE
    assert set(answer.assignment) == {"b/a/0", "b/a/1"}


def test_declared_demands_are_the_default():
    asked = request(
        nodes((100, 10), (100, 10)),
        topology("t", [part("a", 2)]),
        metrics=Metrics(tasks=(TaskSample(task="t/a/0", cpu=90.0),)),
    )
    assert node_numbers(plan(asked), "a") == [0, 0]
    assert node_numbers(plan(asked, measured=True), "a") == [0, 1]
