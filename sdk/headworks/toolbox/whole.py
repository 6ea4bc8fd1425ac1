"""A packing of whole topologies: best fit decreasing, and only what fits nowhere is divided, along its traffic."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import groupby, repeat
from typing import TYPE_CHECKING

import numpy as np

from headworks.problem.arrays.arrays import STEP

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks.problem.room.room import Room

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

TRIES = 4
"""Nodes, at most, on which a topology, or a part of it, is tried: heap limits and constraints may close the first."""


def whole_topologies(problem: Problem, closed: Sequence[int] = (), *, ended: Callable[[], bool] = bool) -> Ints:
    """The largest topology first, on the node in use that it leaves fullest, else on another one.

    One that fits nowhere fills the node that holds most of it with the tasks that exchange most with each other; what
    is left of it comes in its turn, by its size.

    Args:
        problem: The problem.
        closed: Nodes that take no task.
        ended: Whether to end now, with the tasks placed so far.

    Returns:
        Node index of each task, int64 (n,), -1 where nothing fits.
    """
    packing = _WholePacking(problem, closed)
    free = np.flatnonzero(problem.fixed < 0)
    parts = np.split(free, np.flatnonzero(np.diff(problem.topology[free])) + 1) if len(free) else []
    waiting = [(-packing.size(part), int(part[0]), part) for part in parts]
    heapify(waiting)
    while waiting and not ended():
        _, _, part = heappop(waiting)
        if packing.keep_whole(part):
            continue
        rest = packing.divide(part)
        if 0 < len(rest) < len(part):
            heappush(waiting, (-packing.size(rest), int(rest[0]), rest))
    return packing.room.node_of


class _WholePacking:
    """Tasks of one topology at a time, placed in a room."""

    def __init__(self, problem: Problem, closed: Sequence[int]) -> None:
        self._problem = problem
        self.room: Room = problem.room()
        self._widest = np.maximum(problem.capacity.max(axis=0, initial=0.0), STEP)
        self._used = np.zeros(problem.m, dtype=bool)
        self._used[problem.fixed[problem.fixed >= 0]] = True
        self._closed = np.array(closed, dtype=np.int64)
        self._first = np.searchsorted(problem.topology, np.arange(len(problem.topology_ids) + 1))
        self._rates = _rates(problem)

    def size(self, tasks: Ints) -> float:
        """Share that some tasks take of the widest node, of the resource of which they take most."""
        return float((self._problem.demand[tasks].sum(axis=0) / self._widest).max(initial=0.0))

    def keep_whole(self, tasks: Ints) -> bool:
        """Place tasks together: whether a node has room for all of them."""
        room, need = self.room, self._problem.demand[tasks].sum(axis=0)
        open_, left = self._open(tasks, need), np.zeros(self._problem.m)
        for free, widest in zip(room.free.T, self._widest.tolist(), strict=True):
            left += free / widest
        # of nodes in use the fullest, else the largest: the more there is room for, the fewer are needed
        order = np.where(self._used, left, 2 * len(need) - left)
        order[~open_] = np.inf
        for _ in range(min(TRIES, int(open_.sum()))):
            node = int(order.argmin())
            order[node] = np.inf
            placed = 0
            for alike in self._alike(tasks):
                placed += (count := room.place_alike(alike, node))
                if count < len(alike):
                    break
            if placed == len(tasks):
                self._used[node] = True
                return True
            for task in tasks[room.node_of[tasks] == node].tolist():
                room.remove(task)
        return False

    def divide(self, tasks: Ints) -> Ints:
        """Place as many tasks as fit on the node that has room for most of them; return those that are left."""
        share = np.full(self._problem.m, np.inf)
        for free, need in zip(self.room.free.T, self._problem.demand[tasks].sum(axis=0).tolist(), strict=True):
            if need > 0:
                share = np.minimum(share, free / need)
        nodes = np.flatnonzero(self._open(tasks, self._problem.demand[tasks].min(axis=0)))
        for node in nodes[np.argsort(-share[nodes], kind="stable")][:TRIES].tolist():
            if self._grow(tasks, node):
                self._used[node] = True
                return tasks[self.room.node_of[tasks] < 0]
        return tasks

    def _open(self, tasks: Ints, need: Floats) -> NDArray[np.bool_]:
        """Nodes that have as much of each resource, and a slot for the topology or a worker of it, bool (m,)."""
        topology = int(self._problem.topology[tasks[0]])
        here = self.room.node_of[self._first[topology] : self._first[topology + 1]]
        found: NDArray[np.bool_] = self.room.free_slots > 0
        found[here[here >= 0]] = True
        found[self._closed] = False
        for free, least in zip(self.room.free.T, need.tolist(), strict=True):  # many rows, and few columns
            found &= free >= least
        return found

    def _alike(self, tasks: Ints) -> list[list[int]]:
        """The tasks in groups that need the same, int64 (k,) each."""
        rows = (self._problem.component[tasks].tolist(), self._problem.demand[tasks].tolist(), tasks.tolist())
        return [[task for _, _, task in some] for _, some in groupby(zip(*rows, strict=True), key=lambda row: row[:2])]

    def _grow(self, tasks: Ints, node: int) -> int:
        """Place tasks one by one, next the one that exchanges most with those there for what it takes.

        Returns:
            Number of tasks placed.
        """
        parts, start = np.unique(self._problem.component[tasks], return_index=True)
        waits = [some.tolist()[::-1] for some in np.split(tasks, start[1:])]
        rates = [[self._rates.get((one, other), 0.0) for other in parts.tolist()] for one in parts.tolist()]
        takes = [self.size(tasks[at : at + 1]) + STEP for at in start.tolist()]
        # the first is the one that exchanges most with all
        worth = [sum(rate * len(some) for rate, some in zip(row, waits, strict=True)) for row in rates]
        open_, placed = list(range(len(parts))), 0
        while open_:
            at = max(open_, key=lambda part: worth[part] / takes[part])
            if not self.room.place_if_fits(waits[at][-1], node):
                open_.remove(at)
                continue
            waits[at].pop()
            worth = [had + rate for had, rate in zip(worth if placed else repeat(0.0), rates[at], strict=False)]
            placed += 1
            if not waits[at]:
                open_.remove(at)
        return placed


def _rates(problem: Problem) -> dict[tuple[int, int], float]:
    """Units that a task of each component exchanges with one of each other one, on average."""
    blocks, flows, component = problem.traffic.blocks, problem.traffic.sparse, problem.component
    pairs = (blocks.source_stop - blocks.source_start) * (blocks.target_stop - blocks.target_start)
    source = np.concatenate([component[blocks.source_start], component[flows.sources]])
    target = np.concatenate([component[blocks.target_start], component[flows.indices]])
    units = np.concatenate([pairs * blocks.rate, flows.rate]).astype(np.float64)
    width = len(problem.components) + 1
    keys, inverse = np.unique(source * width + target, return_inverse=True)
    count = np.bincount(component, minlength=width)
    found: dict[tuple[int, int], float] = {}
    for key, total in zip(keys.tolist(), np.bincount(inverse, units, minlength=len(keys)).tolist(), strict=True):
        one, other = divmod(key, width)
        each = total / (int(count[one]) * int(count[other]))
        for pair in {(one, other), (other, one)}:
            found[pair] = found.get(pair, 0.0) + each
    return found
