"""A placement that changes task by task: who is where, what is free, and what a move wins."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

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
        """A task that never moves is there."""
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


class Workers:
    """Worker processes on each node: one for each topology there, more where its heap limit asks for them.

    Heaps are packed first fit decreasing, as the step from nodes to slots packs them; a packing is worked out once.
    """

    def __init__(self, problem: Problem) -> None:
        self.topology: list[int] = problem.topology.tolist()
        self.limit: list[float] = problem.heap_limit.tolist()
        self.heap: list[float] = problem.heap.tolist()
        self.slots: list[int] = problem.slots.tolist()
        self._heaps: list[dict[int, tuple[float, ...]]] = [{} for _ in range(problem.m)]
        self._number: dict[tuple[int, tuple[float, ...]], int] = {}
        self._taken = [0] * problem.m

    def fit(self, task: int, node: int) -> bool:
        """Whether the node's slots suffice with the task on it."""
        topology = self.topology[task]
        limit, heaps = self.limit[topology], self._heaps[node].get(topology)
        if limit == float("inf"):
            return heaps is not None or self._taken[node] < self.slots[node]
        if self.heap[task] > limit:
            return False
        heaps = heaps or ()
        more = self._count(topology, _with(heaps, self.heap[task])) - self._count(topology, heaps)
        return self._taken[node] + more <= self.slots[node]

    def add(self, task: int, node: int) -> None:
        """A task comes."""
        topology = self.topology[task]
        heaps = self._heaps[node].get(topology, ())
        self._change(topology, node, heaps, _with(heaps, self.heap[task]))

    def remove(self, task: int, node: int) -> None:
        """A task goes."""
        topology = self.topology[task]
        heaps = self._heaps[node][topology]
        at = heaps.index(self.heap[task])
        self._change(topology, node, heaps, heaps[:at] + heaps[at + 1 :])

    def taken(self, node: int) -> int:
        """How many slots of a node the workers there take."""
        return self._taken[node]

    def needed(self, tasks: Iterable[int]) -> int:
        """How many workers some tasks need on one node."""
        heaps: dict[int, list[float]] = defaultdict(list)
        for task in tasks:
            heaps[self.topology[task]].append(self.heap[task])
        return sum(self._count(topology, tuple(sorted(each, reverse=True))) for topology, each in heaps.items())

    def _change(self, topology: int, node: int, before: tuple[float, ...], after: tuple[float, ...]) -> None:
        self._taken[node] += self._count(topology, after) - self._count(topology, before)
        if after:
            self._heaps[node][topology] = after
        else:
            del self._heaps[node][topology]

    def _count(self, topology: int, heaps: tuple[float, ...]) -> int:
        limit = self.limit[topology]
        if limit == float("inf") or not heaps:
            return min(1, len(heaps))
        key = (topology, heaps)
        if key not in self._number:
            self._number[key] = _first_fit(heaps, limit)
        return self._number[key]


def _with(heaps: tuple[float, ...], heap: float) -> tuple[float, ...]:
    """Heaps, largest first, and one more."""
    at = next((index for index, other in enumerate(heaps) if other < heap), len(heaps))
    return (*heaps[:at], heap, *heaps[at:])


def _first_fit(heaps: tuple[float, ...], limit: float) -> int:
    workers: list[float] = []
    for heap in heaps:
        at = next((index for index, left in enumerate(workers) if left >= heap), None)
        if at is None:
            workers.append(limit - heap)
        else:
            workers[at] -= heap
    return len(workers)


def _merged(pairs: Iterable[tuple[int, float]], count: int) -> dict[int, int]:
    """Whole rates by group in ascending order, those of no group left out."""
    found: dict[int, int] = {}
    for group, rate in pairs:
        if group < count:
            found[group] = found.get(group, 0) + int(rate)
    return dict(sorted(found.items()))
