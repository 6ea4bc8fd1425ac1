from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from baseline_cases import chain, node_numbers, nodes, part, request, topology
from headworks.model import FrozenMap, Slot, Status
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from headworks_baselines.even import EvenOptions, even
from headworks_baselines.round_robin import slot_order


def plan(asked, **options):
    answer = even.headworks_schedule(Problem.of(asked), EvenOptions(**options))
    assert check_plan(Problem.of(asked), answer) == ()
    return answer


def test_slots_are_interleaved_over_the_nodes_with_most_free_slots_first():
    assert slot_order(np.array([1, 3, 2, 3]), 9).tolist() == [1, 3, 2, 0, 1, 3, 2, 1, 3]
    assert slot_order(np.array([1, 3, 2, 3]), 5).tolist() == [1, 3, 2, 0, 1]
    assert slot_order(np.array([0, 0]), 2).tolist() == []


@given(st.lists(st.integers(0, 5), max_size=8), st.integers(0, 50))
def test_every_free_slot_has_one_turn(free, slots):
    order = slot_order(np.array(free, dtype=np.int64), slots)
    assert len(order) == min(slots, sum(free))
    whole = slot_order(np.array(free, dtype=np.int64), sum(free))
    assert np.bincount(whole, minlength=len(free)).tolist() == free
    assert order.tolist() == whole[: len(order)].tolist()


def test_round_robin_sends_all_traffic_of_the_chain_between_nodes():
    answer = plan(chain())
    assert [node_numbers(answer, name) for name in "ABCD"] == [[0], [1], [0], [1]]
    assert answer.scores.inter_node == 120


def test_a_topology_uses_as_many_slots_as_it_has_workers():
    asked = request(nodes(*[(400, 400)] * 3), topology("t", [part("a", 4)], workers=2))
    assert node_numbers(plan(asked, workers="topology"), "a") == [0, 1, 0, 1]
    assert node_numbers(plan(asked, workers="nodes"), "a") == [0, 1, 2, 0]


def test_eight_workers_on_two_nodes_are_eight_slots_if_all_workers_are_asked_for():
    asked = request(nodes(*[(4000, 400)] * 2), topology("t", [part("a", 16)], workers=8))
    assert len(set(plan(asked).assignment.values())) == 2
    slots = Counter(plan(asked, workers="topology").assignment.values())
    assert slots == {Slot(f"n{number}", port): 2 for number in range(2) for port in range(4)}


def test_workers_that_run_count_among_those_asked_for():
    asked = request(
        nodes(*[(4000, 400)] * 2),
        topology("t", [part("a", 6)], workers=3),
        assignment=FrozenMap({"t/a/0": Slot("n0", 0), "t/a/1": Slot("n0", 1)}),
    )
    answer = plan(asked, workers="topology")
    assert len(set(answer.assignment.values())) == 3
    assert all(move.source is None for move in answer.moves)


def test_the_next_topology_starts_where_most_slots_are_free():
    topologies = [topology(name, [part("a", 2)], workers=2) for name in "tu"]
    answer = plan(request(nodes(*[(400, 400)] * 3), *topologies), workers="topology")
    assert node_numbers(answer, "a") == [0, 1]
    assert node_numbers(answer, "a", "u") == [2, 0]


def test_a_node_without_room_is_passed_over():
    asked = request(nodes((50, 9), (150, 9)), topology("t", [part("a", 4)]))
    answer = plan(asked)
    assert node_numbers(answer, "a") == [0, 1, 1, 1]
    assert answer.status is Status.OK
    assert "2 tasks passed over" in answer.explanation


def test_one_worker_that_is_too_small_spills_over_to_the_next_node():
    asked = request(nodes((100, 9), (100, 9)), topology("t", [part("a", 3)], workers=1))
    assert node_numbers(plan(asked, workers="topology"), "a") == [0, 0, 1]


def test_what_fits_nowhere_is_a_reason():
    answer = plan(request(nodes((100, 9)), topology("t", [part("a", 3)])))
    assert answer.status is Status.INFEASIBLE
    assert [reason.subject for reason in answer.reasons] == ["t/a/2"]


def running():
    asked = request(nodes((400, 9), (400, 9)), topology("t", [part("a", 4)]))
    return request(
        asked.cluster.nodes,
        *asked.topologies,
        assignment=FrozenMap({f"t/a/{index}": Slot("n0", 0) for index in range(3)}),
    )


def test_running_tasks_stay_and_new_ones_go_to_new_slots():
    answer = plan(running())
    assert node_numbers(answer, "a") == [0, 0, 0, 1]
    assert [move.task for move in answer.moves] == ["t/a/3"]


def test_a_topology_that_has_its_workers_keeps_to_them():
    assert node_numbers(plan(running(), workers="topology"), "a") == [0, 0, 0, 0]


def test_rebalance_deals_running_tasks_anew():
    assert node_numbers(plan(running(), rebalance=True), "a") == [0, 1, 0, 1]


def test_each_topology_gets_the_workers_that_it_asks_for_and_fewer_where_others_would_find_no_slot():
    many = [topology(f"t{number:03}", [part("spout", 10, cpu=0.0)]) for number in range(500)]
    assert len(plan(request(nodes(*[(100.0, 1e6)] * 150), *many), workers="topology").assignment) == 5000
    assert len(plan(request(nodes(*[(100.0, 1e6)] * 150), *many)).assignment) < 5000

    three = [topology(name, [part("spout", 6, cpu=0.0)], workers=4) for name in "abc"]
    answer = plan(request(nodes((100.0, 100.0), (100.0, 100.0), slots=3), *three), workers="topology")
    workers = {name: len({s for t, s in answer.assignment.items() if t.startswith(name)}) for name in "abc"}
    assert len(answer.assignment) == 18
    assert workers == {"a": 2, "b": 2, "c": 2}
