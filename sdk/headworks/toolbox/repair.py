"""Repair of a partial placement: first fit for the tasks left over, else one exchange with a placed task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks.problem.room.room import Room

TRIALS = 64
"""Placed tasks tried for an exchange with one left over: each trial is a first fit over all nodes."""


def repair(problem: Problem, node_of: NDArray[np.int64], nodes: Sequence[int]) -> NDArray[np.int64]:
    """Place what is left: first fit over the nodes in their order, else where one placed task can make way.

    Args:
        node_of: Node index of each task, shape (n,), -1 for a task without one.
        nodes: Node indices in the order of the first fit.

    Returns:
        Node index of each task, -1 for those that are still left. Placed tasks stay placed.
    """
    room = problem.room(node_of)
    shuffle = _Shuffle(problem, room, nodes)
    for task in np.flatnonzero((node_of < 0) & (problem.fixed < 0)).tolist():
        if not shuffle.add(task):
            shuffle.exchange(task)
    return room.node_of


class _Shuffle:
    """A room in which tasks change places. What it holds does not depend on what was tried before."""

    def __init__(self, problem: Problem, room: Room, nodes: Sequence[int]) -> None:
        self.problem = problem
        self.room = room
        self.nodes = np.array(nodes, dtype=np.int64)

    def add(self, task: int) -> bool:
        """Place a task by first fit, if there is room."""
        node = self._first_fit(task)
        if node >= 0:
            self.room.place(task, node)
        return node >= 0

    def exchange(self, task: int) -> bool:
        """Put a task in the place of the lowest placed one that finds another, if there is one."""
        if self.problem.heap[task] > self.problem.heap_limit[self.problem.topology[task]]:
            return False  # no worker may hold it, whoever makes way
        room, free_slots = self.room, np.minimum(self.room.free_slots, 0)
        placed = np.flatnonzero((room.node_of >= 0) & (self.problem.fixed < 0))
        spare = room.free[room.node_of[placed]] + self.problem.demand[placed]
        gives = (spare >= self.problem.demand[task]).all(axis=1)
        return any(self._swap(task, victim, free_slots) for victim in placed[gives][:TRIALS].tolist())

    def _swap(self, task: int, victim: int, free_slots: NDArray[np.int64]) -> bool:
        """Put a task in the place of another that finds a place elsewhere; all is as it was where none is."""
        room, home = self.room, int(self.room.node_of[victim])
        room.remove(victim)
        if not room.admits(task, home):
            room.place(victim, home)
            return False
        room.place(task, home)
        other = self._first_fit(victim) if (room.free_slots >= free_slots).all() else -1
        if other < 0:
            room.remove(task)
        room.place(victim, home if other < 0 else other)
        return other >= 0

    def _first_fit(self, task: int) -> int:
        fits = self.room.fits(task)[self.nodes]
        return int(self.nodes[fits.argmax()]) if fits.any() else -1
