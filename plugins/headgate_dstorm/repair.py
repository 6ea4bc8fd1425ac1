"""A fallback for Algorithm 1's Failure: places for the tasks that were left over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headgate_dstorm.availability import by_availability

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate.problem import Problem
    from headgate.room import Room

TRIALS = 64
"""Placed tasks that are tried to make way for one that was left over."""


def repair(problem: Problem, node_of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Place what is left: first fit in the order of Eq. 5.4, else where one placed task can make way.

    Returns:
        Node index of each task, -1 for those that are still left. Placed tasks stay placed.
    """
    nodes, node_of = by_availability(problem), node_of.copy()
    room = _room(problem, node_of)
    for task in np.flatnonzero(node_of < 0).tolist():
        node = _first_fit(room, task, nodes)
        if node is not None:
            room.place(task, node)
            node_of[task] = node
        elif (other := _exchange(problem, room, task, nodes)) is not None:
            node_of, room = other, _room(problem, other)
    return node_of


def _room(problem: Problem, node_of: NDArray[np.int64]) -> Room:
    room = problem.room()
    for task in np.flatnonzero((node_of >= 0) & (problem.fixed < 0)).tolist():
        room.place(task, int(node_of[task]))
    return room


def _first_fit(room: Room, task: int, nodes: list[int]) -> int | None:
    fits = room.fits(task)
    return next((node for node in nodes if fits[node]), None)


def _exchange(problem: Problem, room: Room, task: int, nodes: list[int]) -> NDArray[np.int64] | None:
    """The placement after the lowest task that can make way has done so, None if there is none."""
    at = room.node_of
    placed = np.flatnonzero((at >= 0) & (problem.fixed < 0))
    gives = (room.free[at[placed]] + problem.demand[placed] >= problem.demand[task]).all(axis=1)
    for victim in placed[gives][:TRIALS].tolist():
        trial = at.copy()
        trial[task], trial[victim] = at[victim], -1
        without = _room(problem, trial)
        if (without.free_slots < np.minimum(room.free_slots, 0)).any():
            continue
        node = _first_fit(without, victim, nodes)
        if node is not None:
            trial[victim] = node
            return trial
    return None
