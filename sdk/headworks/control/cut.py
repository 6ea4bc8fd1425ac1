"""The moves of a plan, of which one after the other is taken out, always the one that is missed least.

Tasks often gain only together, and one that comes makes room by another one that goes. A search that added moves one
by one would find no first one; this one begins with all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks.problem import Problem
from headworks.problem.arrays.arrays import STEP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headworks.model import Plan, Request

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

DIGITS = 9
"""Digits of parts of a node's capacity: sums of them are off by less."""


class Cut:
    """Moves of running tasks, numbered as they were given.

    Attributes:
        left: Whether a move is still made, bool (k,).
        before: Nodes that the tasks leave, int64 (k,). `after`: nodes that they come to, -1 for none.
    """

    def __init__(self, request: Request, plan: Plan, moved: Sequence[str]) -> None:
        """Begin with all moves of a plan.

        Args:
            moved: Tasks of the moves, by id.
        """
        self._problem = problem = Problem.of(request, measured=plan.measured)
        self._tasks: Ints = np.array([problem.task_index[each] for each in moved], dtype=np.int64)
        node_of = problem.node_of(plan.assignment)
        self.left: Bools = np.ones(len(moved), dtype=bool)
        self.before, self.after = problem.current[self._tasks], node_of[self._tasks]
        self._used = problem.used(node_of)
        # No part of a plan fills a node beyond the headroom that is asked for, or the plan as a whole keeps.
        roomy = problem.capacity.copy()
        roomy[:, 0] *= request.limits.fill or 1.0
        self._limit = np.maximum(roomy, self._used)
        ends = zip(self._tasks.tolist(), self.before.tolist(), self.after.tolist(), strict=True)
        near = [problem.traffic.of_task(task, node_of, problem.m)[[before, after]] for task, before, after in ends]
        self._near = np.array(near, dtype=np.int64).reshape(-1, 2).T.copy()

    def crowds(self) -> Floats:
        """Amounts beyond the limits of nodes that taking each move out adds, as parts of capacity, float64 (k,)."""
        needs = self._problem.demand[self._tasks]
        now = self._beyond(np.arange(self._problem.m), 0.0)
        added = self._beyond(self.before, needs) - now[self.before]
        relieved = np.where(self.after < 0, 0.0, now[self.after] - self._beyond(self.after, -needs))
        return np.where(self.before == self.after, 0.0, np.round(added - relieved, DIGITS))

    def _beyond(self, nodes: Ints, more: Floats | float) -> Floats:
        over = np.maximum(self._used[nodes] + more - self._limit[nodes], 0.0)
        beyond: Floats = (over / np.maximum(self._problem.capacity[nodes], STEP)).sum(axis=1)
        return beyond

    def costs(self) -> Ints:
        """Traffic between nodes that taking each move out adds, in units, int64 (k,)."""
        costs: Ints = self._near[1] * (self.after >= 0) - self._near[0]
        return np.where(self.before == self.after, 0, costs)

    def harmful(self, among: Bools) -> int | None:
        """One of some moves without which nodes are less crowded, or as crowded with less traffic between them."""
        crowds, costs = self.crowds(), self.costs()
        return first(among & self.left & ((crowds < 0) | ((crowds == 0) & (costs < 0))), crowds, costs)

    def take_out(self, move: int) -> None:
        """Leave a task where it runs."""
        self.left[move] = False
        here, there = int(self.before[move]), int(self.after[move])
        needs = self._problem.demand[self._tasks[move]]
        self._used[here] += needs
        if there >= 0:
            self._used[there] -= needs
        beside = self._pairs(int(self._tasks[move]))[self._tasks]
        for near, ends in zip(self._near, (self.before, self.after), strict=True):
            near += beside * ((ends == here).astype(np.int64) - (ends == there))

    def _pairs(self, task: int) -> Ints:
        """Traffic that a task exchanges with each other one, both ways, in units, int64 (n,)."""
        traffic, found = self._problem.traffic, np.zeros(self._problem.n, dtype=np.int64)
        blocks = traffic.blocks
        sends = (blocks.source_start <= task) & (task < blocks.source_stop)
        receives = (blocks.target_start <= task) & (task < blocks.target_stop)
        for at in np.flatnonzero(sends).tolist():
            found[blocks.target_start[at] : blocks.target_stop[at]] += blocks.rate[at]
        for at in np.flatnonzero(receives).tolist():
            found[blocks.source_start[at] : blocks.source_stop[at]] += blocks.rate[at]
        row = slice(int(traffic.symmetric.indptr[task]), int(traffic.symmetric.indptr[task + 1]))
        found[traffic.symmetric.indices[row]] += traffic.symmetric.rate[row]
        found[task] = 0
        return found


def first(among: Bools, *figures: Floats | Ints) -> int | None:
    """The move of those that may be chosen which is least in the first figure, then in the next; then the last one."""
    at = np.flatnonzero(among)
    for each in figures:
        at = at[each[at] == each[at].min()] if len(at) else at
    return int(at[-1]) if len(at) else None
