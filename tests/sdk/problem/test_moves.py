from __future__ import annotations

import attrs
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headworks.model import FrozenMap, Limits, MoveKind
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from headworks.problem.plan.places import seat
from headworks.problem.room.moves import _Walk, order_moves
from headworks.problem.room.slots import assign_slots
from headworks.testing.instances.strategies import requests
from small_requests import at, component, node, request, topology


def simulate(problem, plan):
    """Follow the moves; fail where a task enters a node or a slot that cannot take it."""
    running = problem.request.assignment
    place = {task: running[task] for task, on in zip(problem.task_ids, problem.current, strict=True) if on >= 0}
    for move in plan.moves:
        task = problem.task_index[move.task]
        assert place.pop(move.task, None) == move.source
        assert (move.kind is MoveKind.PLACE) == (move.source is None)
        assert (move.kind is MoveKind.EVICT) == (move.target is None)
        if move.target is None:
            continue
        here = [problem.task_index[other] for other, slot in place.items() if slot.node == move.target.node]
        mates = [problem.task_index[other] for other, slot in place.items() if slot == move.target]
        if move.source is None or move.source.node != move.target.node:
            have = problem.capacity[problem.node_index[move.target.node]]
            assert (problem.demand[here].sum(axis=0) + problem.demand[task] <= have).all()
        assert {int(problem.topology[mate]) for mate in mates} <= {int(problem.topology[task])}
        assert problem.heap[[*mates, task]].sum() <= problem.heap_limit[problem.topology[task]]
        place[move.task] = move.target
    assert place == plan.assignment


@st.composite
def answers(draw):
    """Problems and what a scheduler that keeps capacity, or one that keeps nothing, decides."""
    problem = Problem.of(draw(requests()))
    if draw(st.booleans()):
        nodes = draw(st.lists(st.integers(-1, problem.m - 1), min_size=problem.n, max_size=problem.n))
        return problem, np.array(nodes, dtype=np.int64)
    room = problem.room()
    for task in draw(st.permutations(np.flatnonzero(problem.fixed < 0).tolist())):
        fits = np.flatnonzero(room.fits(task)).tolist()
        if fits:
            room.place(task, draw(st.sampled_from(fits)))
    return problem, room.node_of


@given(answers())
def test_capacity_slots_heap_and_the_limit_hold_after_every_move(answer):
    problem, node_of = answer
    plan = problem.plan(node_of)
    simulate(problem, plan)
    limit = problem.request.limits.max_moves
    moved = {move.task for move in plan.moves if move.kind is not MoveKind.PLACE}
    assert limit is None or len(moved) <= limit
    assert plan == problem.plan(node_of)
    assert check_plan(problem, plan) == ()


@given(answers())
def test_planning_from_a_planned_state_moves_nothing(answer):
    problem, node_of = answer
    plan = problem.plan(node_of)
    then = Problem.of(attrs.evolve(problem.request, assignment=plan.assignment))
    assert then.plan(then.current).moves == ()


@given(answers())
def test_with_one_move_left_no_running_task_is_taken_off_for_good(answer):
    problem, node_of = answer
    asked = Problem.of(attrs.evolve(problem.request, limits=Limits(max_moves=1)))
    wanted = np.where((node_of < 0) & (asked.current >= 0), asked.current, node_of)
    plan = asked.plan(wanted)
    placed = {move.task for move in plan.moves if move.kind is MoveKind.PLACE}
    gone = {move.task for move in plan.moves if move.kind is MoveKind.EVICT} - placed
    without_slots = {reason.subject for reason in plan.reasons if reason.code == "slots"}
    wanted = wanted[seat(asked, wanted).taken]  # equal tasks keep their places
    assert {asked.node_ids[wanted[asked.task_index[task]]] for task in gone} <= without_slots


def swap(**limits):
    """Two full nodes whose tasks want each other's place."""
    made = [topology("t", component("c", cpu=100.0), component("d", cpu=100.0))]
    asked = request([node("a"), node("b")], made, {"t/c/0": "a", "t/d/0": "b"}, **limits)
    return Problem.of(asked).plan([1, 0])


def test_a_swap_of_full_nodes_evicts_one_and_places_it_last():
    plan = swap()
    assert [(move.kind, move.task) for move in plan.moves] == [
        ("evict", "t/c/0"),
        ("migrate", "t/d/0"),
        ("place", "t/c/0"),
    ]
    assert plan.status == "ok"
    assert plan.scores.moves == 2


def test_a_swap_that_the_limit_would_leave_half_done_is_not_begun():
    plan = swap(max_moves=1)
    assert plan.status == "ok"
    assert plan.moves == ()
    assert [(reason.code, reason.need, reason.have) for reason in plan.reasons] == [("move-limit", 2, 1)]


def test_where_nothing_may_move_what_runs_is_fixed():
    plan = swap(max_moves=0)
    assert (plan.status, plan.moves, plan.reasons) == ("ok", (), ())


def test_the_limit_lets_the_first_tasks_move_and_the_others_stay():
    running = {f"t/c/{index}": "a" for index in range(4)}
    made = request([node("a", 400.0), node("b", 400.0)], [topology("t", component("c", 4))], running, max_moves=2)
    plan = Problem.of(made).plan([1, 1, 1, 1])
    assert [move.task for move in plan.moves] == ["t/c/0", "t/c/1"]
    assert {slot.node for slot in plan.assignment.values()} == {"a", "b"}
    assert [(reason.code, reason.need) for reason in plan.reasons] == [("move-limit", 2)]


def test_new_tasks_are_placed_when_nothing_may_move():
    made = request([node("a"), node("b")], [topology("t", component("c", 3))], {"t/c/0": "a"}, max_moves=0)
    plan = Problem.of(made).plan([1, 1, 0])
    assert plan.status == "ok"
    assert [(move.kind, move.task) for move in plan.moves] == [("place", "t/c/1"), ("place", "t/c/2")]
    assert plan.assignment["t/c/0"] == at("a")


def test_a_move_waits_until_another_has_made_room():
    parts = component("c", cpu=100.0), component("d", cpu=100.0)
    running = {"t/c/0": "a", "t/d/0": "b"}
    plan = Problem.of(request([node("a"), node("b"), node("c")], [topology("t", *parts)], running)).plan([1, 2])
    assert [move.task for move in plan.moves] == ["t/d/0", "t/c/0"]


def test_a_task_changes_its_slot_on_a_full_node_without_leaving_it():
    running = {"t/c/0": "a:6700", "t/c/1": "a:6701"}
    parts = topology("t", component("c", 2)), topology("u", component("c", cpu=0.0))
    plan = Problem.of(request([node("a", 100.0)], parts, running)).plan([0, 0, 0])
    assert [(move.kind, move.task, str(move.target)) for move in plan.moves] == [
        ("migrate", "t/c/1", "a:6700"),
        ("place", "u/c/0", "a:6701"),
    ]


def test_tasks_of_a_dead_node_are_placed_not_moved():
    made = request([node("a")], [topology("t", component("c", 2))], {"t/c/0": "gone", "t/c/1": "a"}, max_moves=0)
    plan = Problem.of(made).plan([0, 0])
    assert [(move.kind, move.task, move.source) for move in plan.moves] == [("place", "t/c/0", None)]
    assert plan.scores.moves == 0


def test_a_running_task_that_is_planned_nowhere_is_evicted_within_the_limit():
    parts = [topology("t", component("c", 2))]
    running = {"t/c/0": "a", "t/c/1": "a"}
    problem = Problem.of(request([node("a")], parts, running, max_moves=1))
    route = order_moves(problem, {})
    assert [(move.kind, move.task) for move in route.moves] == [("evict", "t/c/0")]
    assert route.slots == {1: at("a")}
    assert route.dropped == 1


@given(answers())
def test_where_nothing_runs_the_way_is_the_same_with_and_without_a_walk(answer):
    problem, node_of = answer
    idle = Problem.of(attrs.evolve(problem.request, assignment=FrozenMap()))
    target, _ = assign_slots(idle, node_of)
    route, walked = order_moves(idle, target), _Walk(idle, target).run()
    assert (route.moves, route.slots, route.dropped) == (walked.moves, walked.slots, walked.dropped)
    assert list(route.slots) == sorted(route.slots)
