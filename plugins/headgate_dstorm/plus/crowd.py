"""State of the annealer of large problems: a placement as arrays, on which many changes are weighed at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headgate.problem.workers import Workers
from headgate_dstorm.availability import residents

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate.problem import Problem
    from headgate_dstorm.groups import Groups

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


class Exchange:
    """What one task of a group exchanges with one of another group, in rows that are sorted by group.

    Attributes:
        start: int64 (G + 2,), where the row of each group starts; group G, of fixed tasks, has none.
        peer: int64 (e,), the other group of each entry.
        rate: float64 (e,), whole units.
        own: float64 (G + 1,), units that two tasks of one group exchange.
    """

    def __init__(self, groups: Groups) -> None:
        self._width = groups.count + 1
        pairs = [(group, *pair) for group, left in enumerate(groups.left) for pair in groups.partners(left[0])]
        table = np.array([pair for pair in pairs if pair[1] < groups.count], dtype=np.float64).reshape(-1, 3)
        keys = table[:, 0].astype(np.int64) * self._width + table[:, 1].astype(np.int64)
        self._keys, inverse = np.unique(keys, return_inverse=True)
        self.rate = np.zeros(len(self._keys))
        np.add.at(self.rate, inverse.reshape(-1), table[:, 2])
        source = self._keys // self._width
        self.peer: Ints = self._keys % self._width
        self.start: Ints = np.searchsorted(source, np.arange(self._width + 1))
        every = np.arange(self._width)
        self.own: Floats = self.between(every, every)

    def between(self, one: Ints, other: Ints) -> Floats:
        """Units that a task of each group exchanges with one of the other."""
        if not len(self._keys):
            return np.zeros(len(one))
        keys = one * self._width + other
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self.rate[at], 0.0)

    def rows(self, groups: Ints) -> tuple[Ints, Ints]:
        """The entries of some groups, one row after the other: position in `groups`, and index of the entry."""
        start = self.start[groups]
        length = self.start[groups + 1] - start
        at = np.repeat(np.arange(len(groups)), length)
        return at, np.arange(len(at)) - np.repeat(np.cumsum(length) - length, length) + start[at]


class Crowd:
    """Every task on a node or nowhere; capacity, slots and heap limits are kept by every change.

    A change is a task that moves, or that changes places with another one. Changes on different nodes do not touch
    each other: what each wins is exact, however many are made at once.

    Attributes:
        node_of: int64 (n,), node of each task, -1 for nowhere.
        tasks: int64, the free tasks that are placed.
        pull: float64 (m, G + 1), units that a task of each group would exchange with all tasks on each node.
        exchange: What groups exchange.
    """

    def __init__(self, problem: Problem, groups: Groups, node_of: Ints) -> None:
        self.problem, self.groups = problem, groups
        self.node_of = node_of.copy()
        self.exchange = Exchange(groups)
        placed = np.flatnonzero(node_of >= 0)
        at = node_of[placed]
        self.pull = _pull(problem, groups, node_of)
        self.free = problem.capacity.copy()
        np.subtract.at(self.free, at, problem.demand[placed])
        self.of_topology = np.zeros((problem.m, len(problem.heap_limit)), dtype=np.int32)
        np.add.at(self.of_topology, (at, problem.topology[placed]), 1)
        self.slots_left = problem.slots - (self.of_topology > 0).sum(axis=1)
        self.tasks = placed[problem.fixed[placed] < 0]
        self._list(self.tasks)
        workers = Workers(problem)
        self._heaps = None if workers.plain else Heaps(self, workers)
        self._mark = np.empty(problem.m, dtype=np.int64)

    def _list(self, tasks: Ints) -> None:
        """Note who is on each node: `on` (m, w), of which the first `count` are in use, and where in it a task is."""
        m = self.problem.m
        tasks = tasks[np.argsort(self.node_of[tasks], kind="stable")]
        at = self.node_of[tasks]
        self.count = np.bincount(at, minlength=m)
        self.on = np.full((m, 2 * int(self.count.max(initial=0)) + 4), -1, dtype=np.int64)
        self._rank = np.zeros(self.problem.n, dtype=np.int64)
        self._rank[tasks] = np.arange(len(tasks)) - (np.cumsum(self.count) - self.count)[at]
        self.on[at, self._rank[tasks]] = tasks

    def gain(self, task: Ints, there: Ints) -> Floats:
        """Units that no longer cross nodes if each task moves."""
        group = self.groups.of[task]
        found: Floats = self.pull[there, group] - self.pull[self.node_of[task], group] + self.exchange.own[group]
        return found

    def twice(self, one: Ints, other: Ints) -> Floats:
        """Units that both moves of an exchange count, though they stay between nodes."""
        return 2.0 * self.exchange.between(self.groups.of[one], self.groups.of[other])

    def fits(self, task: Ints, there: Ints) -> Flags:
        """Whether each node has room for a task beside all that is there; heap limits apart."""
        fits: Flags = (self.of_topology[there, self.problem.topology[task]] > 0) | (self.slots_left[there] > 0)
        for need, free in zip(self.problem.demand.T, self.free.T, strict=True):
            fits &= need[task] <= free[there]
        return fits

    def fit_changed(self, one: Ints, other: Ints) -> Flags:
        """Whether each pair of tasks can change places; heap limits apart."""
        here, there = self.node_of[one], self.node_of[other]
        fits = self._slot_after(one, there, other) & self._slot_after(other, here, one)
        for need, free in zip(self.problem.demand.T, self.free.T, strict=True):
            fits &= (need[one] <= free[there] + need[other]) & (need[other] <= free[here] + need[one])
        return fits

    def _slot_after(self, task: Ints, node: Ints, gone: Ints) -> Flags:
        """Whether a node has a slot for a task when another one has left it."""
        topology, other = self.problem.topology[task], self.problem.topology[gone]
        beside = self.of_topology[node, topology] - (topology == other)
        left = self.slots_left[node] + (self.of_topology[node, other] == 1)
        found: Flags = (beside > 0) | (left > 0)
        return found

    def apart(self, task: Ints, there: Ints) -> Flags:
        """Which changes to make at once: each is the first one that touches its two nodes."""
        here, number = self.node_of[task], np.arange(len(task))
        self._mark[np.stack([here, there], axis=1).ravel()[::-1]] = np.repeat(number, 2)[::-1]
        first: Flags = (self._mark[here] == number) & (self._mark[there] == number)
        return first

    def change(self, task: Ints, there: Ints, other: Ints) -> Flags:
        """Make changes on different nodes, `other` being -1 for a move; say which ones heap limits allow."""
        allowed = np.ones(len(task), dtype=bool)
        if self._heaps is not None:
            allowed = self._heaps.allow(task, there, other)
            task, there, other = task[allowed], there[allowed], other[allowed]
        both = other >= 0
        here = self.node_of[task]
        self._shift(task, here, there)
        self._shift(other[both], there[both], here[both])
        self._trade(task[both], other[both])
        self._relist(task[~both], here[~both], there[~both])
        return allowed

    def _shift(self, task: Ints, here: Ints, there: Ints) -> None:
        at, entry = self.exchange.rows(self.groups.of[task])
        peer, rate = self.exchange.peer[entry], self.exchange.rate[entry]
        self.pull[here[at], peer] -= rate
        self.pull[there[at], peer] += rate
        topology, demand = self.problem.topology[task], self.problem.demand[task]
        self.of_topology[here, topology] -= 1
        self.slots_left[here] += self.of_topology[here, topology] == 0
        self.slots_left[there] -= self.of_topology[there, topology] == 0
        self.of_topology[there, topology] += 1
        self.free[here] += demand
        self.free[there] -= demand
        self.node_of[task] = there
        if self._heaps is not None:
            self._heaps.shift(task, here, there)

    def _trade(self, one: Ints, other: Ints) -> None:
        """The tasks have changed places; so do they in the lists."""
        at, rank = self.node_of[one], self._rank[other]
        self.on[self.node_of[other], self._rank[one]] = other
        self.on[at, rank] = one
        self._rank[other], self._rank[one] = self._rank[one], rank

    def _relist(self, task: Ints, here: Ints, there: Ints) -> None:
        """The tasks have moved; the last one of a list takes the place of who left."""
        self.count[here] -= 1
        last, rank = self.on[here, self.count[here]], self._rank[task]
        self.on[here, rank], self._rank[last] = last, rank
        if self.count[there].max(initial=0) >= self.on.shape[1]:
            self.on = np.pad(self.on, ((0, 0), (0, self.on.shape[1])), constant_values=-1)
        self.on[there, self.count[there]], self._rank[task] = task, self.count[there]
        self.count[there] += 1


class Heaps:
    """Heap limits: the workers on a node are counted, by `headgate.problem.workers`, where its slots might not suffice.

    Bounds of first fit decreasing say where that is not so for many nodes at once; the rule never needs more workers.
    """

    def __init__(self, crowd: Crowd, workers: Workers) -> None:
        self._crowd, self._workers = crowd, workers
        self._least = self._tasks_of_a_worker()
        self._sum = np.zeros(crowd.of_topology.shape)
        placed = np.flatnonzero(crowd.node_of >= 0)
        self._add(placed, crowd.node_of[placed], 1.0)
        self._residents = residents(crowd.problem)
        self._held = np.zeros(crowd.problem.m, dtype=np.int64)
        for node, tasks in self._residents.items():
            self._held[node], _ = self._workers.needed(tasks)

    def _tasks_of_a_worker(self) -> Ints:
        """Tasks of each topology that first fit puts at least into every worker but the last."""
        problem = self._crowd.problem
        largest = np.zeros(len(problem.heap_limit))
        np.maximum.at(largest, problem.topology, problem.heap)
        most = np.divide(problem.heap_limit, largest, out=np.full(len(largest), np.inf), where=largest > 0)
        found: Ints = np.clip(most, 1.0, float(problem.n + 1)).astype(np.int64)
        return found

    def allow(self, task: Ints, there: Ints, other: Ints) -> Flags:
        """Which changes leave both nodes with slots enough; workers are packed only where a bound does not say so."""
        crowd = self._crowd
        allowed = np.ones(len(task), dtype=bool)
        here, slots = crowd.node_of[task], crowd.problem.slots
        near = self._bound(there) + 1 > slots[there]
        near |= self._bound(here) + (other >= 0) > slots[here]
        for at in np.flatnonzero(near).tolist():
            one, two = int(task[at]), int(other[at])
            allowed[at] = self._enough(int(there[at]), one, two) and self._enough(int(here[at]), two, one)
        return allowed

    def shift(self, task: Ints, here: Ints, there: Ints) -> None:
        """Each task has moved."""
        self._add(task, here, -1.0)
        self._add(task, there, 1.0)

    def _add(self, task: Ints, node: Ints, sign: float) -> None:
        problem = self._crowd.problem
        np.add.at(self._sum, (node, problem.topology[task]), sign * problem.heap[task])

    def _bound(self, nodes: Ints) -> Floats:
        """More workers than that are on none of the nodes: two that come one after the other fill one together.

        Those that fixed tasks hold are beside them, however empty they are.
        """
        by_number = -(-self._crowd.of_topology[nodes] // self._least)
        by_sum = np.floor(2.0 * self._sum[nodes] / self._crowd.problem.heap_limit) + 1.0
        bound: Floats = np.minimum(by_number, by_sum).sum(axis=1) + self._held[nodes]
        return bound

    def _enough(self, node: int, comes: int, goes: int) -> bool:
        """Whether a node's slots suffice when one task comes and one goes, -1 being none."""
        crowd = self._crowd
        tasks = [*crowd.on[node, : crowd.count[node]].tolist(), *self._residents.get(node, ()), comes]
        need, _ = self._workers.needed(task for task in tasks if task not in (-1, goes))
        return need <= self._workers.slots[node]


def _pull(problem: Problem, groups: Groups, node_of: Ints) -> Floats:
    pull = np.zeros((problem.m, groups.count + 1))
    for task in np.flatnonzero(node_of >= 0).tolist():
        peers, rates = groups.peers(task)
        pull[node_of[task], peers] += rates
    pull[:, groups.count] = 0.0
    return pull
