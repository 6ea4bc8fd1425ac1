"""Soft constraints: tasks that break one move to nodes with room where they break less."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.problem.room.room import Room
from headworks.problem.rules.domain_counts import DomainCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem.arrays.arrays import Arrays
    from headworks.problem.arrays.constraints import Constraints

    Ints = NDArray[np.int64]

PASSES = 2
"""Passes over the tasks: a later one finds what moves of an earlier one made possible."""


def repair_soft(problem: Arrays, node_of: Ints) -> Ints:
    """Move tasks that break soft constraints to nodes that fit and weigh less, the heaviest first.

    No hard constraint is broken for it, and no batch takes longer than it may. Where the number of moves is limited,
    what runs stays.

    Returns:
        Node index of each task, int64 (n,).
    """
    constraints = problem.constraints
    if not constraints.soft:
        return node_of
    work = _SoftPlacement(problem, constraints, node_of)
    for _ in range(PASSES):
        if not work.improve():
            break
    return work.room.node_of.copy()


class _SoftPlacement:
    def __init__(self, problem: Arrays, constraints: Constraints, node_of: Ints) -> None:
        self.problem, self.room = problem, Room(problem)
        size = constraints.allowed.shape
        self._rules = constraints.soft_counted
        # soft rules counted as if they were hard, each by itself, tell where one is broken
        plain = attrs.evolve(constraints, allowed=np.ones(size, dtype=bool))
        self._each = [
            DomainCounts(attrs.evolve(plain, counted=(rule,), of=_of(rule.group)), problem.component)
            for rule in self._rules
        ]
        self._labels = np.zeros(size)
        for label in constraints.soft_labels:
            self._labels[np.ix_(label.member, ~label.nodes)] += label.constraint.weight
        still = problem.request.limits.max_moves is not None
        self._free = (problem.fixed < 0) & ((problem.current < 0) | (not still))
        for task in np.flatnonzero(node_of >= 0).tolist():
            self._change(task, int(node_of[task]), 1)
            if problem.fixed[task] < 0:
                self.room.place(task, int(node_of[task]))

    def improve(self) -> bool:
        """Move each task that breaks a constraint, if another node weighs less; say whether any moved."""
        here = self.room.node_of
        tasks = np.flatnonzero((here >= 0) & self._free)
        costs = np.array([self._cost(task)[here[task]] for task in tasks.tolist()])
        moved = False
        for task in tasks[np.lexsort((tasks, -costs))][: int((costs > 0).sum())].tolist():
            moved |= self._move(task)
        return moved

    def _cost(self, task: int) -> NDArray[np.float64]:
        """Weight of what the task breaks on each node, itself taken away first, float64 (m,)."""
        node = int(self.room.node_of[task])
        cost: NDArray[np.float64] = self._labels[self.problem.component[task]].copy()
        for rule, counts in zip(self._rules, self._each, strict=True):
            if rule.group[self.problem.component[task]] >= 0:
                counts.change(task, node, -1)
                cost += rule.constraint.weight * ~counts.open_to(task, self.room.free)
                counts.change(task, node)
        return cost

    def _move(self, task: int) -> bool:
        here, cost = int(self.room.node_of[task]), self._cost(task)
        if not cost[here]:
            return False
        self.room.remove(task)
        fits = np.flatnonzero(self.room.fits(task))
        units = self.problem.traffic.of_task(task, self.room.node_of, self.problem.m)
        there = min(fits.tolist(), key=lambda node: (cost[node], -units[node], node), default=here)
        if cost[there] >= cost[here]:
            there = here
        self.room.place(task, there)
        if there != here and self._breaks_another(task, here):
            self.room.remove(task)
            self.room.place(task, here)
            there = here
        if there != here:
            self._change(task, here, -1)
            self._change(task, there, 1)
        return there != here

    def _breaks_another(self, task: int, here: int) -> bool:
        """Check whether a task breaks another rule where it is now, as a batch that takes too long."""
        before = self.room.node_of.copy()
        before[task] = here
        return any(rule.worsens(before, self.room.node_of) for rule in self.problem.rules)

    def _change(self, task: int, node: int, sign: int) -> None:
        for counts in self._each:
            counts.change(task, node, sign)


def _of(group: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    return tuple((0,) if each >= 0 else () for each in group)
