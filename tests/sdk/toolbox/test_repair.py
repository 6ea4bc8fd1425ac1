"""Tasks that were left over: what repair does is what a new room for each trial would do."""

from __future__ import annotations

import random

import numpy as np
import pytest

from headworks.problem import Problem
from headworks.toolbox.repair import TRIALS, repair
from small_requests import component, node, request, topology


def room_of(problem, node_of):
    room = problem.room()
    for task in np.flatnonzero((node_of >= 0) & (problem.fixed < 0)).tolist():
        room.place(task, int(node_of[task]))
    return room


def first(room, task, nodes):
    fits = room.fits(task)
    return next((node for node in nodes if fits[node]), None)


def exchanged(problem, room, task, nodes):
    """The literal exchange: a new room for each task that is tried."""
    at = room.node_of
    placed = np.flatnonzero((at >= 0) & (problem.fixed < 0))
    gives = (room.free[at[placed]] + problem.demand[placed] >= problem.demand[task]).all(axis=1)
    for victim in placed[gives][:TRIALS].tolist():
        trial = at.copy()
        trial[task], trial[victim] = at[victim], -1
        without = room_of(problem, trial)
        if (without.free_slots < np.minimum(room.free_slots, 0)).any():
            continue
        other = first(without, victim, nodes)
        if other is not None:
            trial[victim] = other
            return trial
    return None


def literally(problem, node_of, nodes):
    """The placement, and how many exchanges were made and how many were not to be had."""
    node_of, room, made, failed = node_of.copy(), room_of(problem, node_of), 0, 0
    for task in np.flatnonzero(node_of < 0).tolist():
        at = first(room, task, nodes)
        if at is not None:
            room.place(task, at)
            node_of[task] = at
        elif (found := exchanged(problem, room, task, nodes)) is not None:
            node_of, room, made = found, room_of(problem, found), made + 1
        else:
            failed += 1
    return node_of, made, failed


def tight(seed):
    """A problem that is about full, some of its workers limited in heap and some of its tasks not movable."""
    dice = random.Random(seed)
    topologies, running = [], {}
    for number in range(dice.randint(1, 3)):
        limit = dice.choice([None, 60.0, 100.0])
        parts = [
            component(
                f"c{each}",
                dice.randint(2, 5),
                cpu=float(dice.choice([10, 20, 30, 45, 60])),
                **({} if limit is None else {"heap": float(dice.choice([10, 25, 40, 60]))}),
            )
            for each in range(dice.randint(1, 3))
        ]
        pinned = component("fixed", 2, cpu=10.0, movable=False)
        running |= {f"t{number}/fixed/{index}": "n0" for index in range(2)}
        worker = {} if limit is None else {"worker_heap": limit}
        topologies.append(topology(f"t{number}", *parts, pinned, **worker))
    need = sum(part.parallelism * part.demand["cpu"] for each in topologies for part in each.components)
    count = dice.randint(2, 5)
    sizes = [float(round(need / count * dice.choice([0.9, 1.0, 1.1, 1.2]))) for _ in range(count)]
    nodes = [node(f"n{number}", cpu=cpu, slots=dice.randint(1, 4)) for number, cpu in enumerate(sizes)]
    return Problem.of(request(nodes, topologies, running))


def begun(problem, seed):
    """A placement that leaves some tasks out."""
    dice, room = random.Random(seed), problem.room()
    for task in dice.sample(range(problem.n), problem.n):
        fits = np.flatnonzero(room.fits(task)).tolist()
        if fits and problem.fixed[task] < 0 and dice.random() < 0.9:
            room.place(task, dice.choice(fits))
    return room.node_of


def test_one_room_decides_as_a_new_one_for_each_trial():
    exchanges = failures = 0
    for seed in range(300):
        problem = tight(seed)
        start = begun(problem, seed)
        nodes = random.Random(seed).sample(range(problem.m), problem.m)
        expected, made, failed = literally(problem, start, nodes)
        assert repair(problem, start, nodes).tolist() == expected.tolist(), seed
        exchanges, failures = exchanges + made, failures + failed
    assert min(exchanges, failures) > 50


@pytest.mark.parametrize("seed", range(20))
def test_a_room_without_a_task_is_as_if_the_task_had_never_come(seed):
    problem = tight(seed)
    room = room_of(problem, begun(problem, seed))
    for task in np.flatnonzero((room.node_of >= 0) & (problem.fixed < 0)).tolist()[::2]:
        room.remove(task)
        fresh = room_of(problem, room.node_of)
        assert (room.node_of == fresh.node_of).all()
        assert (room.free == fresh.free).all()
        assert (room.free_slots == fresh.free_slots).all()
        for other in range(problem.n):
            assert room.has_worker(other).tolist() == fresh.has_worker(other).tolist()
            assert room.fits(other).tolist() == fresh.fits(other).tolist()
    assert all(sorted(room.topologies_on(at)) == sorted(fresh.topologies_on(at)) for at in range(problem.m))


def test_nothing_is_left_where_nothing_was():
    problem = tight(1)
    whole = np.zeros(problem.n, dtype=np.int64)
    assert repair(problem, whole, range(problem.m)).tolist() == whole.tolist()
