"""State of the annealing: a placement as arrays, on which many changes are weighed at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks.problem.arrays.workers import Workers
from headworks_dstorm.plus.constraint_limits import ConstraintLimits
from headworks_dstorm.plus.heap_limits import HeapLimits
from headworks_dstorm.plus.links import LinkLoads

if TYPE_CHECKING:
    from headworks.problem import Problem
    from headworks_dstorm.plus.exchange import Exchange, Flags, Floats, Ints
    from headworks_dstorm.plus.links import LoadLimits


class AnnealingState:
    """Every task on a node or nowhere; capacity, slots and heap limits are kept by every change.

    A change is a task that moves, or that changes places with another one. Changes on different nodes do not touch
    each other: what each wins is exact, however many are made at once.

    Attributes:
        node_of: int64 (n,), node of each task, -1 for nowhere.
        tasks: int64, the free tasks that are placed.
        exchange: Units that pairs of tasks exchange.
        pull: float64 (m, s), units that a task of each segment exchanges by streams with all tasks on each node, itself
            included where it is there.
        free: float64 (m, r), capacity not taken.
        held: int64 (m,), tasks on each node, the fixed ones included.
        slots_left: int64 (m,), slots not taken, with one worker for each topology.
        on: int64 (m, w), the free tasks on each node: the first `count` of a row are in use.
        links: Loads by what crosses nodes, None where no node has a limit.
    """

    def __init__(self, problem: Problem, exchange: Exchange, node_of: Ints, limits: LoadLimits | None = None) -> None:
        self.problem, self.exchange, self.node_of = problem, exchange, node_of.copy()
        placed = np.flatnonzero(node_of >= 0)
        at = node_of[placed]
        self.pull = self._pulls(placed)
        self.free = problem.capacity.copy()
        self.held = np.bincount(at, minlength=problem.m)
        np.subtract.at(self.free, at, problem.demand[placed])
        self.of_topology = np.zeros((problem.m, len(problem.heap_limit)), dtype=np.int32)
        counted = placed[~problem.closed[placed]]
        np.add.at(self.of_topology, (node_of[counted], problem.topology[counted]), 1)
        self.slots_left = problem.slots - (self.of_topology > 0).sum(axis=1)
        self.tasks = placed[problem.fixed[placed] < 0]
        self._list(self.tasks)
        workers = Workers(problem)
        self._heaps = None if workers.plain else HeapLimits(self, workers)
        self._mark = np.empty(problem.m, dtype=np.int64)
        self.links = None if limits is None else LinkLoads(self, limits)
        self._limits = ConstraintLimits(problem, problem.constraints, node_of) if problem.constraints else None

    def _pulls(self, placed: Ints) -> Floats:
        """Sum over the tasks on each node of what a task of each segment exchanges with them."""
        exchange = self.exchange
        keys = self.node_of[placed] * exchange.segments + exchange.segment[placed]
        pairs, count = np.unique(keys, return_counts=True)
        node, segment = np.divmod(pairs, exchange.segments)
        at, entry = exchange.streams.entries(segment)
        pull = np.zeros((self.problem.m, exchange.segments))
        np.add.at(pull, (node[at], exchange.streams.peer[entry]), count[at] * exchange.streams.rate[entry])
        return pull

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
        """Units that no longer cross nodes if each task moves.

        Args:
            task: Task of each move, int64 (c,).
            there: Node that it moves to, int64 (c,).
        """
        exchange, here = self.exchange, self.node_of[task]
        segment = exchange.segment[task]
        # the pull of its node counts the task with itself, which `own` puts right
        found: Floats = self.pull[there, segment] - self.pull[here, segment] + exchange.own[segment]
        if len(exchange.flows):
            at, entry = exchange.flows.entries(task)
            node, rate = self.node_of[exchange.flows.peer[entry]], exchange.flows.rate[entry]
            won = rate * (node == there[at]) - rate * (node == here[at])
            found += np.bincount(at, won, minlength=len(task))
        return found

    def near(self, task: Ints, node: Ints) -> Floats:
        """Units that each task exchanges with the others on a node, itself left out.

        Args:
            task: Tasks, int64 (c,).
            node: A node for each, int64 (c,).
        """
        exchange, segment = self.exchange, self.exchange.segment[task]
        found: Floats = self.pull[node, segment] - exchange.own[segment] * (node == self.node_of[task])
        if len(exchange.flows):
            at, entry = exchange.flows.entries(task)
            rate = exchange.flows.rate[entry] * (self.node_of[exchange.flows.peer[entry]] == node[at])
            found += np.bincount(at, rate, minlength=len(task))
        return found

    def twice(self, one: Ints, other: Ints) -> Floats:
        """Units that both moves of an exchange count, though they stay between nodes.

        Args:
            one: A task of each pair, int64 (c,).
            other: The other one, int64 (c,).
        """
        return 2.0 * self.exchange.between(one, other)

    def fits(self, task: Ints, there: Ints) -> Flags:
        """Check which nodes have room for a task beside all that is there; heap limits apart.

        Args:
            task: Task of each move, int64 (c,).
            there: Node that it moves to, int64 (c,).
        """
        fits: Flags = (self.of_topology[there, self.problem.topology[task]] > 0) | (self.slots_left[there] > 0)
        for need, free in zip(self.problem.demand.T, self.free.T, strict=True):
            fits &= need[task] <= free[there]
        if self._limits is not None:
            fits &= self._limits.allowed(task, there)
        return fits

    def plenty(self, nodes: Ints) -> Flags:
        """Check which nodes no heap limit can keep from one more task."""
        return np.ones(len(nodes), dtype=bool) if self._heaps is None else ~self._heaps.near(nodes)

    def fit_swapped(self, one: Ints, other: Ints) -> Flags:
        """Check which pairs of tasks can change places; heap limits apart.

        Args:
            one: A task of each pair, int64 (c,).
            other: The other one, int64 (c,).
        """
        here, there = self.node_of[one], self.node_of[other]
        fits = self._slot_after(one, there, other) & self._slot_after(other, here, one)
        for need, free in zip(self.problem.demand.T, self.free.T, strict=True):
            fits &= (need[one] <= free[there] + need[other]) & (need[other] <= free[here] + need[one])
        return fits

    def _slot_after(self, task: Ints, node: Ints, gone: Ints) -> Flags:
        """Check which nodes have a slot for a task when another one has left."""
        topology, other = self.problem.topology[task], self.problem.topology[gone]
        beside = self.of_topology[node, topology] - (topology == other)
        left = self.slots_left[node] + (self.of_topology[node, other] == 1)
        found: Flags = (beside > 0) | (left > 0)
        return found

    def apart(self, task: Ints, there: Ints) -> Flags:
        """Choose changes to make at once: each is the first one that touches its two nodes.

        Args:
            task: Task of each move, int64 (c,).
            there: Node that it moves to, int64 (c,).
        """
        here, number = self.node_of[task], np.arange(len(task))
        # written backwards, so that of all changes that touch a node the first one's number stays
        self._mark[np.stack([here, there], axis=1).ravel()[::-1]] = np.repeat(number, 2)[::-1]
        first: Flags = (self._mark[here] == number) & (self._mark[there] == number)
        return first

    def change(self, task: Ints, there: Ints, other: Ints) -> Flags:
        """Make changes on different nodes, `other` being -1 for a move; say which heap limits and constraints allow.

        Args:
            task: Task of each change, int64 (c,).
            there: Node that it moves to, int64 (c,).
            other: Task that comes back in its place, -1 for none, int64 (c,).
        """
        allowed = np.ones(len(task), dtype=bool)
        if self._heaps is not None:
            allowed = self._heaps.allow(task, there, other)
        if self._limits is not None:
            allowed = self._limits.change(task, there, other, allowed, self)
        if not allowed.all():
            task, there, other = task[allowed], there[allowed], other[allowed]
        if self.links is not None:
            self.links.change(task, there, other)
        both = other >= 0
        here = self.node_of[task]
        moved = np.concatenate([task, other[both]])
        self._shift(moved, np.concatenate([here, there[both]]), np.concatenate([there, here[both]]))
        self._trade(task[both], other[both])
        self._relist(task[~both], here[~both], there[~both])
        return allowed

    def _shift(self, task: Ints, here: Ints, there: Ints) -> None:
        """The tasks move, of which no two leave or come to one node; a node that one leaves may be where one comes."""
        streams = self.exchange.streams
        at, entry = streams.entries(self.exchange.segment[task])
        peer, rate = streams.peer[entry], streams.rate[entry]
        self.pull[here[at], peer] -= rate
        self.pull[there[at], peer] += rate
        topology, demand = self.problem.topology[task], self.problem.demand[task]
        self.of_topology[here, topology] -= 1
        self.slots_left[here] += self.of_topology[here, topology] == 0
        self.slots_left[there] -= self.of_topology[there, topology] == 0
        self.of_topology[there, topology] += 1
        self.held[here] -= 1
        self.held[there] += 1
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
