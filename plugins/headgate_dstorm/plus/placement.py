"""State of the annealer of small problems: a placement, free capacity, workers, and the gain of each move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.problem.workers import Workers
from headgate_dstorm.groups import Groups

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from headgate.problem import Problem


class Placement:
    """Every task on a node or nowhere, with capacity, slots and heap limits kept by every change.

    What each node exchanges is counted by group (tasks that exchange the same with everybody), so that a change costs
    as many steps as a task has groups of peers, and its gain none.

    Attributes:
        node_of: Node of each task, -1 for nowhere.
        on: The free tasks on each node.
        of: Group of each task, that of fixed tasks is no group.
        rates: For each group, the groups that a task of it exchanges with, and the units with one task there.
        pulls: For each node, units that a task of each group would exchange with all tasks there, if any.
        own: Units that two tasks of each group exchange.
    """

    def __init__(self, problem: Problem, node_of: NDArray[np.int64]) -> None:
        groups = Groups(problem)
        self.problem = problem
        self.node_of: list[int] = node_of.tolist()
        self.of: list[int] = groups.of.tolist()
        self.rates = [_merged(groups.partners(left[0]), groups.count) for left in groups.left]
        self.members: list[list[int]] = [left[::-1] for left in groups.left]
        self.own = [rates.get(group, 0) for group, rates in enumerate(self.rates)]
        self.pulls: list[dict[int, int]] = [{} for _ in range(problem.m)]
        self.demand: list[tuple[float, ...]] = [tuple(row) for row in problem.demand.tolist()]
        self.free: list[list[float]] = problem.capacity.tolist()
        self.on: list[list[int]] = [[] for _ in range(problem.m)]
        self._rank = [0] * problem.n
        self.workers = Workers(problem)
        for task, node in enumerate(self.node_of):
            if node < 0:
                continue
            if self.of[task] < groups.count:
                self._enter(task, node)
            else:
                self._stay(task, node, _merged(groups.partners(task), groups.count))

    def _stay(self, task: int, node: int, rates: dict[int, int]) -> None:
        """Count a task on a node: its demand, its worker, and its pull on all groups that exchange tuples with it."""
        pull = self.pulls[node]
        for peer, rate in rates.items():
            pull[peer] = pull.get(peer, 0) + rate
        self.free[node] = [a - b for a, b in zip(self.free[node], self.demand[task], strict=True)]
        self.workers.add(task, node)

    def _enter(self, task: int, node: int) -> None:
        self.node_of[task] = node
        self._rank[task] = len(self.on[node])
        self.on[node].append(task)
        self._stay(task, node, self.rates[self.of[task]])

    def _leave(self, task: int) -> None:
        node = self.node_of[task]
        pull = self.pulls[node]
        for peer, rate in self.rates[self.of[task]].items():
            pull[peer] -= rate
        self.free[node] = [a + b for a, b in zip(self.free[node], self.demand[task], strict=True)]
        self.workers.remove(task, node)
        last = self.on[node].pop()
        if last != task:
            self.on[node][self._rank[task]] = last
            self._rank[last] = self._rank[task]

    def gain(self, task: int, node: int) -> int:
        """Units that no longer cross nodes if a free task moves to another node."""
        group, pulls = self.of[task], self.pulls
        return pulls[node].get(group, 0) - pulls[self.node_of[task]].get(group, 0) + self.own[group]

    def between(self, one: int, other: int) -> int:
        """Units that two free tasks exchange."""
        return self.rates[self.of[one]].get(self.of[other], 0)

    def fits(self, task: int, node: int) -> bool:
        """Whether the node has room for the task beside all that is there."""
        for need, free in zip(self.demand[task], self.free[node], strict=True):
            if need > free:
                return False
        return self.workers.fit(task, node)

    def move(self, task: int, node: int) -> None:
        """Move a free task to a node that has room for it."""
        self._leave(task)
        self._enter(task, node)

    def swap(self, one: int, other: int) -> bool:
        """Exchange the nodes of two free tasks if both have room then; say whether it was done."""
        here, there = self.node_of[one], self.node_of[other]
        for need, gives, free, back in zip(
            self.demand[one], self.demand[other], self.free[there], self.free[here], strict=True
        ):
            if need > free + gives or gives > back + need:
                return False
        self._leave(one)
        self._leave(other)
        done = self.workers.fit(one, there)
        self._enter(one, there if done else here)
        if done and not self.workers.fit(other, here):
            self._leave(one)
            self._enter(one, here)
            done = False
        self._enter(other, here if done else there)
        return done


def _merged(pairs: Iterable[tuple[int, float]], count: int) -> dict[int, int]:
    """Whole rates by group in ascending order, those of no group left out."""
    found: dict[int, int] = {}
    for group, rate in pairs:
        if group < count:
            found[group] = found.get(group, 0) + int(rate)
    return dict(sorted(found.items()))
