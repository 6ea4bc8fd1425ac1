from __future__ import annotations

from collections import defaultdict

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headworks.model import Constraint, ConstraintKind, Limits, Reason, Scope
from headworks.problem import Problem
from headworks.problem.room.slots import assign_slots
from headworks.testing.instances.strategies import requests
from small_requests import at, component, node, request, topology


@st.composite
def decisions(draw):
    problem = Problem.of(draw(requests()))
    nodes = draw(st.lists(st.integers(-1, problem.m - 1), min_size=problem.n, max_size=problem.n))
    workers = draw(st.none() | st.lists(st.integers(-1, 3), min_size=problem.n, max_size=problem.n))
    worker_of = None if workers is None else np.array(workers, dtype=np.int64)
    return problem, np.where(problem.fixed >= 0, problem.fixed, np.array(nodes, dtype=np.int64)), worker_of


@given(decisions())
def test_slots_exist_serve_one_topology_and_keep_its_heap_limit(decision):
    problem, node_of, worker_of = decision
    slots, reasons = assign_slots(problem, node_of, worker_of)
    offered = {(each.id, port) for each in problem.request.cluster.nodes for port in each.slots}
    tenants, heap = defaultdict(set), defaultdict(float)
    for task, slot in slots.items():
        assert (slot.node, slot.port) in offered
        assert slot.node == problem.node_ids[node_of[task]]
        tenants[slot].add(int(problem.topology[task]))
        heap[slot] += float(problem.heap[task])
    crowded = {reason.subject for reason in reasons}
    assert {task for task in range(problem.n) if node_of[task] >= 0 and task not in slots} == {
        task for task in range(problem.n) if node_of[task] >= 0 and problem.node_ids[node_of[task]] in crowded
    }
    for slot, topologies in tenants.items():
        (owner,) = topologies
        alone = [task for task, other in slots.items() if other == slot]
        assert heap[slot] <= problem.heap_limit[owner] or len(alone) == 1


def test_each_topology_has_one_worker_on_a_node_on_the_lowest_port():
    made = request([node("a", slots=3)], [topology("t", component("c", 3)), topology("u", component("c", 2))])
    slots, reasons = assign_slots(Problem.of(made), np.zeros(5, dtype=np.int64))
    assert reasons == []
    assert [slots[task].port for task in range(5)] == [6700, 6700, 6700, 6701, 6701]


def test_a_heap_limit_asks_for_more_workers_and_fills_them_largest_first():
    parts = component("little", 3, heap=40.0), component("much", 1, heap=60.0)  # in order of their ids
    made = request([node("a", slots=3)], [topology("t", *parts, worker_heap=100.0)])
    slots, _ = assign_slots(Problem.of(made), np.zeros(4, dtype=np.int64))
    assert [slots[task].port for task in range(4)] == [6700, 6701, 6701, 6700]


def test_a_running_task_keeps_its_slot_and_newcomers_join_it():
    made = request([node("a", slots=3)], [topology("t", component("c", 3))], {"t/c/1": "a:6702"})
    slots, _ = assign_slots(Problem.of(made), np.zeros(3, dtype=np.int64))
    assert {slots[task].port for task in range(3)} == {6702}


def test_a_new_worker_takes_a_port_that_nobody_uses_before_one_that_is_given_up():
    made = request(
        [node("a", slots=2), node("b")], [topology("t", component("c")), topology("u", component("c"))], {"t/c/0": "a"}
    )
    slots, _ = assign_slots(Problem.of(made), np.array([1, 0]))
    assert slots[1] == at("a:6701")


def test_workers_are_packed_anew_when_kept_ones_leave_too_few_slots():
    running = {"t/c/0": "a:6700", "t/c/1": "a:6701"}
    made = request([node("a", slots=2)], [topology("t", component("c", 2)), topology("u", component("c"))], running)
    slots, reasons = assign_slots(Problem.of(made), np.zeros(3, dtype=np.int64))
    assert reasons == []
    assert slots[0] == slots[1] != slots[2]


def test_a_fixed_task_keeps_its_slot_even_when_workers_are_packed_anew():
    running = {"t/c/0": "a:6700", "t/f/0": "a:6701"}
    parts = component("c"), component("f", movable=False)
    made = request([node("a", slots=2)], [topology("t", *parts), topology("u", component("c"))], running)
    slots, _ = assign_slots(Problem.of(made), np.zeros(3, dtype=np.int64))
    assert [slots[task].port for task in range(3)] == [6701, 6701, 6700]


def test_too_few_slots_are_a_reason_with_the_numbers():
    made = request([node("a", slots=1)], [topology("t", component("c")), topology("u", component("c"))])
    slots, (reason,) = assign_slots(Problem.of(made), np.zeros(2, dtype=np.int64))
    assert slots == {}
    message = "node a has 1 slots, the workers planned on it need 2; add slots or spread topologies"
    assert reason == Reason(code="slots", subject="a", message=message, resource="slots", need=2, have=1)


def test_dead_slots_are_forgotten():
    made = request([node("a", slots=1)], [topology("t", component("c", 2))], {"t/c/0": "a:9", "t/c/1": "gone"})
    slots, _ = assign_slots(Problem.of(made), np.zeros(2, dtype=np.int64))
    assert set(slots.values()) == {at("a")}


@pytest.mark.parametrize(("slots", "expected"), [(3, {6700, 6701}), (1, {6700})])
def test_where_nothing_may_move_newcomers_leave_running_workers_alone_while_slots_suffice(slots, expected):
    made = request([node("a", slots=slots)], [topology("t", component("c", 3))], {"t/c/1": "a:6700"})
    made = attrs.evolve(made, limits=Limits(max_moves=0))
    found, reasons = assign_slots(Problem.of(made), np.zeros(3, dtype=np.int64))
    assert reasons == []
    assert {found[task].port for task in range(3)} == expected


@given(decisions())
def test_a_decision_on_workers_costs_no_task_its_slot(decision):
    problem, node_of, worker_of = decision
    assert assign_slots(problem, node_of, worker_of)[0].keys() == assign_slots(problem, node_of)[0].keys()


def ports(made, workers):
    slots, reasons = assign_slots(Problem.of(made), np.zeros(len(workers), dtype=np.int64), np.array(workers))
    assert reasons == []
    return [slots[task].port - 6700 for task in range(len(workers))]


def test_tasks_that_are_to_be_in_different_workers_are():
    made = request([node("a", slots=4)], [topology("t", component("c", 4)), topology("u", component("c", 2))])
    assert ports(made, [5, 2, 5, -1, 0, 0]) == [0, 1, 0, 2, 3, 3]


def test_where_slots_do_not_suffice_topologies_have_fewer_workers_than_was_decided():
    made = request([node("a", slots=3)], [topology("t", component("c", 4)), topology("u", component("c", 1))])
    assert ports(made, [0, 1, 2, 3, 0]) == [0, 1, 0, 1, 2]


def test_a_worker_that_was_decided_stays_in_the_port_in_which_most_of_its_tasks_run():
    running = {"t/c/0": "a:6701", "t/c/1": "a:6702", "t/c/2": "a:6702", "t/c/3": "a:6701"}
    made = request([node("a", slots=4)], [topology("t", component("c", 4))], running)
    assert ports(made, [1, 0, 0, 0]) == [1, 2, 2, 2]
    assert ports(made, [0, 1, 2, 3]) == [1, 2, 0, 3]  # a new one takes the lowest that is free
    assert ports(made, [-1, -1, -1, -1]) == [1, 2, 2, 1]


def test_a_fixed_task_stays_in_its_port_whatever_was_decided():
    running = {"t/c/0": "a:6702", "t/f/0": "a:6702", "t/f/1": "a:6703"}
    parts = component("c", 2), component("f", 2, movable=False)
    made = request([node("a", slots=4)], [topology("t", *parts)], running)
    assert ports(made, [0, 0, 1, 1]) == [0, 0, 2, 3]


def test_a_heap_limit_holds_within_a_worker_that_was_decided():
    made = request([node("a", slots=4)], [topology("t", component("c", 4, heap=40.0), worker_heap=100.0)])
    assert ports(made, [0, 0, 0, 1]) == [0, 0, 1, 2]


def test_where_nothing_may_move_a_decision_on_workers_moves_nothing():
    running = {"t/c/0": "a:6701", "t/c/1": "a:6701"}
    made = request([node("a", slots=4)], [topology("t", component("c", 3))], running)
    assert ports(attrs.evolve(made, limits=Limits(max_moves=0)), [0, 1, 2]) == [1, 1, 0]


def test_no_worker_begins_for_tasks_that_move_while_theirs_run():
    """What a scheduler decided on workers is for those that start."""
    parts = (component("c", 2), component("stays", 1, movable=False))
    running = {"t/c/0": "a", "t/c/1": "a", "t/stays/0": "a"}
    made = request([node("a", slots=3)], [topology("t", *parts)], running)
    here, numbers = np.zeros(3, dtype=np.int64), np.array([0, 1, -1])
    assert len(set(assign_slots(Problem.of(made), here, numbers)[0].values())) == 3
    live = attrs.evolve(made, topologies=tuple(attrs.evolve(each, live=True) for each in made.topologies))
    assert set(map(str, assign_slots(Problem.of(live), here, numbers)[0].values())) == {"a:6700"}


def test_constraints_within_workers_that_slots_do_not_suffice_for_are_a_reason_with_the_numbers():
    alone = Constraint(kind=ConstraintKind.AT_MOST, components=("c",), scope=Scope.WORKER, limit=1)
    made = request([node("a", slots=2)], [topology("t", component("c", 3), constraints=(alone,))])
    slots, (reason,) = assign_slots(Problem.of(made), np.zeros(3, dtype=np.int64))
    assert len(slots) == 2
    message = "node a has 2 slots: constraints within workers leave 1 of its tasks without one; add slots"
    assert reason == Reason(code="constraint", subject="a", message=message, resource="slots", need=3.0, have=2)
