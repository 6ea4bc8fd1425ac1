from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headworks.problem import Problem
from headworks.testing.instances.strategies import requests
from small_requests import component, node, request, topology


@given(requests(), st.data())
def test_both_questions_agree_and_what_fits_makes_a_plan_without_faults(asked, data):
    problem = Problem.of(asked)
    room = problem.room()
    for task in np.flatnonzero(problem.fixed < 0).tolist():
        fits = room.fits(task)
        assert fits.tolist() == [room.fits_on(task, node) for node in range(problem.m)]
        alike = int(problem.topology[task]), float(problem.heap[task])
        assert room.has_worker(task).tolist() == [room.takes(*alike, node) for node in range(problem.m)]
        if fits.any():
            room.place(task, data.draw(st.sampled_from(np.flatnonzero(fits).tolist())))
    placed = room.node_of >= 0
    used = np.zeros_like(problem.capacity)
    np.add.at(used, room.node_of[placed], problem.demand[placed])
    assert (room.free == problem.capacity - used).all()


def test_a_topology_takes_one_slot_of_a_node_and_one_more_when_the_heap_is_full():
    parts = component("c", 3, cpu=1.0, heap=40.0)
    room = Problem.of(request([node("a", slots=3)], [topology("t", parts, worker_heap=100.0)])).room()
    left = []
    for task in range(3):
        room.place(task, 0)
        left.append((int(room.free_slots[0]), room.heap_left(0, 0)))
    assert left == [(2, 60.0), (2, 20.0), (1, 60.0)]


def test_a_task_that_no_worker_may_hold_fits_nowhere():
    parts = component("c", 1, cpu=1.0, heap=101.0)
    assert not Problem.of(request([node("a")], [topology("t", parts, worker_heap=100.0)])).room().fits(0).any()


def test_slots_run_out_for_new_topologies_only():
    made = [topology(name, component("c", 2, cpu=1.0)) for name in "tu"]
    room = Problem.of(request([node("a", slots=1)], made)).room()
    room.place(0, 0)
    assert room.topologies_on(0) == (0,)
    assert [bool(room.fits(task)[0]) for task in range(4)] == [True, True, False, False]


def test_fixed_tasks_are_in_their_place_from_the_start():
    parts = component("c", 2, cpu=60.0, movable=False)
    room = Problem.of(request([node("a")], [topology("t", parts)], {"t/c/1": "a"})).room()
    assert room.node_of.tolist() == [-1, 0]
    assert not room.fits(0)[0]


@given(requests(), st.data())
def test_to_place_what_fits_is_to_look_and_to_place(asked, data):
    problem = Problem.of(asked)
    one, other = problem.room(), problem.room()
    for task in np.flatnonzero(problem.fixed < 0).tolist() if problem.m else ():
        node = data.draw(st.integers(0, problem.m - 1))
        fits = one.fits_on(task, node)
        if fits:
            one.place(task, node)
        assert other.place_if_fits(task, node) == fits
        assert (one.node_of == other.node_of).all()
        assert (one.free == other.free).all()
        assert (one.free_slots == other.free_slots).all()
        assert (one.has_worker(task) == other.has_worker(task)).all()


@given(requests(), st.data())
def test_tasks_that_are_alike_are_placed_together_as_one_by_one(asked, data):
    problem = Problem.of(asked)
    alike: dict[tuple[object, ...], list[int]] = {}
    for task in np.flatnonzero(problem.fixed < 0).tolist():
        key = (problem.topology[task], problem.heap[task], *problem.demand[task])
        alike.setdefault(key, []).append(task)
    room, other = problem.room(), problem.room()
    for tasks in alike.values():
        node, placed = data.draw(st.integers(0, problem.m - 1)), 0
        while placed < len(tasks) and other.fits_on(tasks[placed], node):
            other.place(tasks[placed], node)
            placed += 1
        assert room.place_alike(tasks, node) == placed
    assert room.node_of.tolist() == other.node_of.tolist()
    assert room.free.tolist() == other.free.tolist()
    assert room.free_slots.tolist() == other.free_slots.tolist()
    assert [room.fits(task).tolist() for task in range(problem.n)] == [
        other.fits(task).tolist() for task in range(problem.n)
    ]


def state(room, problem):
    """All that a room says."""
    return (
        room.free.tolist(),
        room.free_slots.tolist(),
        room.node_of.tolist(),
        [room.fits(task).tolist() for task in range(problem.n)],
        [room.topologies_on(node) for node in range(problem.m)],
    )


@given(requests(), st.data())
def test_a_copy_is_in_the_same_state_and_changes_by_itself(asked, data):
    problem = Problem.of(asked)
    room = problem.room()
    free = np.flatnonzero(problem.fixed < 0).tolist() if problem.m else []

    def fill(room, part):
        for task in part:
            room.place_if_fits(task, data.draw(st.integers(0, problem.m - 1)))

    fill(room, free[::2])
    before, other = state(room, problem), room.copy()
    assert state(other, problem) == before
    fill(other, free[1::2])
    for task in free[::2]:
        if other.node_of[task] >= 0:
            other.remove(task)
    assert state(room, problem) == before
    assert state(other, problem) == state(problem.room(other.node_of), problem)


@given(requests(), st.data())
def test_a_room_may_begin_with_a_placement(asked, data):
    problem = Problem.of(asked)
    drawn = data.draw(st.lists(st.integers(-1, problem.m - 1), min_size=problem.n, max_size=problem.n))
    room = problem.room()
    for task in np.flatnonzero(problem.fixed < 0).tolist():
        if drawn[task] >= 0:
            room.place(task, drawn[task])
    assert state(problem.room(np.array(drawn, dtype=np.int64)), problem) == state(room, problem)
