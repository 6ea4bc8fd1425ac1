"""Algorithm 1 where tasks come in few sizes: a heap of numerators for each."""

from __future__ import annotations

from collections import defaultdict
from heapq import heapify, heappop, heappush, heapreplace
from operator import add, le, sub
from typing import TYPE_CHECKING

from headgate_dstorm.availability import by_availability, residents
from headgate_dstorm.race import Race, critical_usage
from headgate_dstorm.sizes import Sizes, count_sizes

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from headgate.problem import Problem
    from headgate_dstorm.groups import Groups
    from headgate_dstorm.options import Options

    Entry = tuple[float, int, int]

SHARE = 2
"""Groups of one size, on average, at least: with fewer, one scan over all groups is cheaper."""

PEERS = 64
"""Groups that a task exchanges tuples with, on average, at most: each step looks at them one by one."""

WEIGHT = 16
"""Whole weights up to here keep numerators apart: two that differ never round to one priority (rates have 46 bits)."""


class Heaps:
    """The state of Algorithm 1: what is placed, what waits, and how the open node stands to it.

    Tasks of one size have the same rho3 (Eq. 5.5), so that the greatest numerator leads among them, then the lowest
    index. A group waits in two queues, of its size in all topologies and of its size in its own: a node without a
    free slot takes only tasks of topologies that have a worker there. A queue is a heap of (-numerator, lowest
    task, group); an entry that has been overtaken is dropped when it comes up.
    """

    def __init__(self, problem: Problem, options: Options, groups: Groups) -> None:
        self.problem, self.options, self.groups = problem, options, groups
        self.room = problem.room()
        self.nobody = problem.n
        self.sizes = Sizes(groups)
        self.first: list[int] = groups.first.tolist()
        self.waiting: list[float] = groups.waiting.tolist()
        self.shared = [0.0] * (groups.count + 1)
        self.numerator = [options.beta * waiting for waiting in self.waiting]
        self.resting: dict[int, list[Entry]] = defaultdict(list)
        self.heaps: dict[int, list[Entry]] = self.resting
        self.remaining = int((problem.fixed < 0).sum())
        self._residents = residents(problem)
        self._demand: list[list[float]] = problem.demand.tolist()
        self._widest: list[float] = problem.capacity.max(axis=0, initial=0.0).tolist()
        self._everyone = Race(self.sizes, list(range(self.sizes.count)), self._widest)
        self._lines = [self.sizes.tasks(queue)[::-1] for queue in range(len(self.sizes))]
        self._lowest = [line[-1] if line else self.nobody for line in self._lines]
        self._rest(range(groups.count))

    @staticmethod
    def suit(groups: Groups, options: Options) -> bool:
        """Whether sizes and peers are few, and numerators that differ have priorities that differ."""
        exact = all(weight <= WEIGHT and weight == int(weight) for weight in (options.alpha, options.beta))
        return exact and groups.mean_peers() <= PEERS and count_sizes(groups) * SHARE <= groups.count

    def run(self) -> NDArray[np.int64]:
        """Fill the nodes; the node of each task, -1 for those left."""
        for node in by_availability(self.problem):
            if not self.remaining:
                break
            self.fill(node)
        return self.room.node_of

    def fill(self, node: int) -> None:
        """Lines 9-17: place the task of highest priority on the node while one fits."""
        self._open(node)
        while (group := self._next()) is not None:
            self._place(group)
        self._rest(self._touched)

    def _open(self, node: int) -> None:
        self.node = node
        self.capacity: list[float] = self.problem.capacity[node].tolist()
        self.free: list[float] = self.room.free[node].tolist()
        self.used = list(map(sub, self.capacity, self.free))
        self.heaps, self.beta = self.resting, self.options.beta
        self._touched: set[int] = set()
        self._enter()
        for task in self._residents.get(node, ()):
            for group, rate in self.groups.partners(task):
                self.shared[group] += rate
                self._touched.add(group)
        self._watch()
        self._renumber(self._touched)

    def _enter(self) -> None:
        """Begin the race: of all, or of the topologies on the node if that has no slot left for another one."""
        self._zero: list[tuple[int, int]] | None = None
        self.idle = False
        if self.room.free_slots[self.node] > 0:
            self.open, self.race = True, self._everyone
        else:
            here = self.room.topologies_on(self.node)
            queues = [queue for topology in here for queue in self.sizes.of_topology.get(topology, ())]
            self.open, self.race = False, Race(self.sizes, queues, self._widest)
        self.race.top[:] = [self._head(queue) for queue in self.race.queues]
        self._refit()

    def _refit(self) -> None:
        self.race.refit(self.free)
        if not self.open:
            for place, queue in enumerate(self.race.queues):
                if not self._has_worker(queue):
                    self.race.top[place] = -1.0

    def _has_worker(self, queue: int) -> bool:
        return self.open or self.room.takes(self.sizes.topology[queue], self.sizes.heap[queue], self.node)

    def _fits(self, place: int) -> bool:
        return all(map(le, self.race.needs(place), self.free)) and self._has_worker(self.race.queues[place])

    def _head(self, queue: int) -> float:
        """The greatest numerator in a queue, 0 if there is no positive one."""
        heap, first, numerator = self.heaps[queue], self.first, self.numerator
        while heap:
            negative, task, group = heap[0]
            if first[group] == task and numerator[group] == -negative:
                return -negative
            heappop(heap)
        return 0.0

    def _next(self) -> int | None:
        """The group of the task to place next, None when none fits."""
        race = self.race
        while not self.idle:
            places, _, free = race.best(self.used, self.capacity, self.usage, self.critical)
            if not places:
                self.idle = True
            elif all(map(self._fits, places)):
                queues = [race.queues[place] for place in places]
                heads = map(self._costless, queues) if free else (self.heaps[queue][0][1:] for queue in queues)
                return min(heads)[1]
            else:
                self._refit()
        return self._lowest_that_fits()

    def _costless(self, queue: int) -> tuple[int, int]:
        """The lowest task of those in a queue that bring traffic, whatever the amount."""
        first, numerator = self.first, self.numerator
        entries = self.heaps[queue]
        return min((task, at) for less, task, at in entries if first[at] == task and numerator[at] == -less)

    def _lowest_that_fits(self) -> int | None:
        """The group of the lowest task that fits; none of those brings traffic."""
        if self._zero is None:
            places = (self.race.top >= 0).nonzero()[0].tolist()
            self._zero = [(self._lowest[self.race.queues[place]], place) for place in places]
            heapify(self._zero)
        while self._zero:
            task, place = self._zero[0]
            lowest = self._lowest[self.race.queues[place]]
            if lowest == self.nobody or not self._fits(place):
                heappop(self._zero)
            elif lowest != task:
                heapreplace(self._zero, (lowest, place))
            else:
                return int(self.groups.of[task])
        return None

    def _step_aside(self, task: int, group: int) -> None:
        """The task was placed: others of its size are the lowest now."""
        node_of = self.room.node_of
        for queue in self.sizes.homes[group]:
            if self._lowest[queue] == task:
                line = self._lines[queue]
                while line and node_of[line[-1]] >= 0:
                    line.pop()
                self._lowest[queue] = line[-1] if line else self.nobody

    def _place(self, group: int) -> None:
        members = self.groups.left[group]
        task = members.pop()
        self.first[group] = members[-1] if members else self.nobody
        self.room.place(task, self.node)
        self._step_aside(task, group)
        self.remaining -= 1
        demand = self._demand[task]
        self.free = list(map(sub, self.free, demand))
        self.used = list(map(add, self.used, demand))
        changed, waiting, shared = [group], self.waiting, self.shared
        for peer, rate in self.groups.partners(task):
            waiting[peer] -= rate
            shared[peer] += rate
            changed.append(peer)
        self._touched.update(changed)
        self._watch()
        self._renumber(changed)
        if self.open and self.room.free_slots[self.node] <= 0:
            self._enter()

    def _watch(self) -> None:
        """Once the node is nearly full, what may follow counts no more (the second line of Eq. 5.5)."""
        self.usage, self.critical = critical_usage(self.used, self.capacity)
        if self.beta and self.usage > self.options.threshold:
            self.beta = 0.0
            self.heaps = defaultdict(list)
            self.race.top[self.race.top > 0] = 0.0
            self._renumber(self._touched)

    def _renumber(self, groups: Iterable[int]) -> None:
        """Give groups their numerators of Eq. 5.5, and the queues in the race their heads."""
        alpha, beta, shared, waiting = self.options.alpha, self.beta, self.shared, self.waiting
        at, top, homes = self.race.at, self.race.top, self.sizes.homes
        for group in groups:
            benefit = alpha * shared[group]
            if beta:
                benefit += beta * waiting[group]
            if self.idle and not benefit:
                self.numerator[group] = 0.0
                continue
            self._number(group, benefit)
            for queue in homes[group]:
                place = at.get(queue)
                if place is not None and top.item(place) >= 0:
                    top[place] = self._head(queue)
                    self.idle = False

    def _number(self, group: int, benefit: float) -> None:
        """Note the numerator of a group, and put it in its queues."""
        self.numerator[group] = benefit
        task = self.first[group]
        if benefit > 0 and task < self.nobody:
            entry = (-benefit, task, group)
            for queue in self.sizes.homes[group]:
                heappush(self.heaps[queue], entry)

    def _rest(self, groups: Iterable[int]) -> None:
        """No node is open: groups share nothing with it any more."""
        self.heaps = self.resting
        for group in groups:
            self.shared[group] = 0.0
            self._number(group, self.options.beta * self.waiting[group])
