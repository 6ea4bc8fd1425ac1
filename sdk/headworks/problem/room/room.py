"""Remaining capacity of a cluster while a scheduler places tasks one by one."""

from __future__ import annotations

from copy import copy
from operator import le
from typing import TYPE_CHECKING, Self

import numpy as np

from headworks.problem.arrays.workers import TOO_MANY, Workers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headworks.problem.arrays.arrays import Arrays
    from headworks.problem.rules.rule import PlacementRule, Tally
    from headworks.problem.rules.worker_rules import WorkerNeeds

UNKNOWN = -1
"""Nobody has asked yet how many workers more a heap needs on a node."""


class Room:
    """Free capacity and free slots, and the node of every task placed so far.

    A topology needs one slot on each node it uses, and more where its worker's heap limit asks for them, by the rule
    of `headworks.problem.arrays.workers`: slots are counted for the tasks that are on a node, in whatever order they
    came. So where every task was placed on a node that `fits`, `Problem.plan(room.node_of)` gives every task a slot.
    Fixed tasks are placed from the start, in the workers in which they run. A node that a hard constraint closes to a
    task does not fit it either.
    """

    def __init__(
        self,
        problem: Arrays,
        node_of: NDArray[np.int64] | None = None,
        rules: tuple[PlacementRule, ...] | None = None,
    ) -> None:
        """Place the fixed tasks, then those of a placement.

        Args:
            node_of: The placement, int64 (n,), -1 for a task without a node; it says nothing of fixed tasks.
            rules: Rules in place of the request's own.
        """
        self._problem = problem
        rules = problem.rules if rules is None else rules
        self._tallies = tuple(each for rule in rules for each in rule.tallies())
        self._needs = tuple(each for rule in rules for each in rule.needs())
        self._counters: tuple[Tally | WorkerNeeds, ...] = (*self._tallies, *self._needs)
        self.free: NDArray[np.float64] = problem.capacity.copy()
        """float64 (m, r): capacity not yet taken."""
        self.free_slots: NDArray[np.int64] = problem.slots.copy()
        """int64 (m,): slots not yet taken; negative where tasks were placed that did not fit."""
        self.node_of: NDArray[np.int64] = np.full(problem.n, -1, dtype=np.int64)
        """int64 (n,): node of each task placed, -1 for the others."""
        self._demand: list[list[float]] = problem.demand.tolist()
        self._topology: list[int] = problem.topology.tolist()
        self._workers = Workers(problem)
        self._further: dict[int, NDArray[np.int8]] = {}
        for task in np.flatnonzero(problem.fixed >= 0).tolist():
            self.place(task, int(problem.fixed[task]))
        if node_of is not None:
            for task in np.flatnonzero((node_of >= 0) & (problem.fixed < 0)).tolist():
                self.place(task, int(node_of[task]))

    def copy(self) -> Self:
        """A room in the same state: tasks come and go in one without the other. Takes far less time than a new one."""
        other = copy(self)
        tallies, needs = (tuple(each.copy() for each in some) for some in (self._tallies, self._needs))
        vars(other).update(
            free=self.free.copy(),
            free_slots=self.free_slots.copy(),
            node_of=self.node_of.copy(),
            _tallies=tallies,
            _needs=needs,
            _counters=(*tallies, *needs),
            _workers=self._workers.copy(),
            _further={topology: rows.copy() for topology, rows in self._further.items()},
        )
        return other

    def fits(self, task: int) -> NDArray[np.bool_]:
        """Nodes that have room for the task, bool (m,)."""
        fits = self.has_worker(task)
        for resource, need in enumerate(self._problem.demand[task].tolist()):
            fits &= self.free[:, resource] >= need
        for tally in self._tallies:
            fits &= tally.open_to(task, self.free)
        for need in self._needs:
            fits = need.admit_all(task, fits)
        return fits

    def fits_on(self, task: int, node: int) -> bool:
        """Check whether one node has room for the task; the same as `fits(task)[node]`, without looking at others."""
        return (
            all(map(le, self._demand[task], self.free[node].tolist()))
            and self._workers.fit(task, node)
            and self.admits(task, node)
            and all(each.admit(task, node) for each in self._needs)
        )

    def admits(self, task: int, node: int) -> bool:
        """Check that no hard constraint closes the node to the task, with or without room."""
        return all(each.admits(task, node, self.free) for each in self._tallies)

    def open_to(self, task: int) -> NDArray[np.bool_]:
        """Nodes that no hard constraint closes to the task, with or without room, bool (m,)."""
        found = np.ones(self._problem.m, dtype=bool)
        for each in self._tallies:
            found &= each.open_to(task, self.free)
        return found

    def takes(self, topology: int, heap: float, node: int) -> bool:
        """Check whether the slots of a node suffice for one more task of a topology, with a heap of its tasks."""
        size = self._workers.size_of(topology, heap)
        return bool(self._workers.further(topology, size, node) <= self.free_slots[node])

    def heap_left(self, topology: int, node: int) -> float:
        """MB of heap in the emptiest worker of a topology on a node, -inf if it has none there."""
        return self._workers.emptiest(topology, node)

    def topologies_on(self, node: int) -> tuple[int, ...]:
        """Indices of the topologies that have a worker on the node."""
        return self._workers.topologies(node)

    def has_worker(self, task: int) -> NDArray[np.bool_]:
        """Nodes that have a worker with heap left for the task, or a free slot for a new one, bool (m,)."""
        found: NDArray[np.bool_] = self._further_of(task) <= self.free_slots
        return found

    def joins_worker(self, task: int) -> NDArray[np.bool_]:
        """Nodes that have a worker of the task's topology with heap left for it, bool (m,)."""
        found: NDArray[np.bool_] = self._further_of(task) == 0
        return found

    def place(self, task: int, node: int) -> None:
        """Put the task on the node, even if it does not fit."""
        self.node_of[task] = node
        self.free[node] -= self._problem.demand[task]
        self._workers.add(task, node)
        self._recount(task, node)
        for each in self._counters:
            each.change(task, node)

    def place_if_fits(self, task: int, node: int) -> bool:
        """Place a task that is not fixed if the node has room for it: whether it was placed; `fits_on` and `place`."""
        if self._tallies or self._needs:
            fits = self.fits_on(task, node)
            if fits:
                self.place(task, node)
            return fits
        if not all(map(le, self._demand[task], self.free[node].tolist())) or not self._workers.add_if_fits(task, node):
            return False
        self.node_of[task] = node
        self.free[node] -= self._problem.demand[task]
        self._recount(task, node)
        return True

    def place_alike(self, tasks: Sequence[int], node: int) -> int:
        """Place tasks one after the other as long as they fit on the node: how many were placed.

        Args:
            tasks: Tasks of one topology, one demand and one heap, none of them fixed; at least one. They are of one
                component where constraints bind it.
        """
        if not self.admits(tasks[0], node):
            return 0
        count = min([len(tasks), *(each.left_for(tasks[0], node) for each in self._tallies)])
        if not count:
            return 0
        if self._needs:  # workers are counted task by task
            return self._place_singly(tasks[:count], node)
        for need, free in zip(self._demand[tasks[0]], self.free[node].tolist(), strict=True):
            if need > free:
                return 0
            if need > 0:
                count = min(count, int(free // need))
        count = self._workers.add_alike(tasks[:count], node)
        if count:
            self.node_of[tasks[0] if count == 1 else tasks[:count]] = node
            self.free[node] -= count * self._problem.demand[tasks[0]]
            self._recount(tasks[0], node)
            for each in self._tallies:
                each.change(tasks[0], node, count)
        return count

    def _place_singly(self, tasks: Sequence[int], node: int) -> int:
        for number, task in enumerate(tasks):
            if not self.fits_on(task, node):
                return number
            self.place(task, node)
        return len(tasks)

    def remove(self, task: int) -> None:
        """Take a placed task off its node, as if it had never come."""
        node = int(self.node_of[task])
        self.node_of[task] = -1
        self.free[node] += self._problem.demand[task]
        self._workers.remove(task, node)
        self._recount(task, node)
        for each in self._counters:
            each.change(task, node, -1)

    def _recount(self, task: int, node: int) -> None:
        topology = self._topology[task]
        self.free_slots[node] = self._workers.slots[node] - self._workers.taken(node)
        if topology in self._further:  # rows that nobody asked for are not kept
            self._count(topology, node)

    def _count(self, topology: int, node: int) -> None:
        plain = self._workers.limit[topology] == np.inf
        self._further[topology][:, node] = self._workers.further(topology, 0, node) if plain else UNKNOWN

    def _further_of(self, task: int) -> NDArray[np.int8]:
        """Workers more that each node needs with the task, int8 (m,)."""
        workers, topology, size = self._workers, self._topology[task], self._workers.size[task]
        row: NDArray[np.int8] = self._rows(topology)[size]
        for node in np.flatnonzero(row == UNKNOWN).tolist() if workers.limit[topology] < np.inf else ():
            row[node] = workers.further(topology, size, node)
        return row

    def _rows(self, topology: int) -> NDArray[np.int8]:
        """Workers more that each node needs with one more task, int8 (sizes of the topology, m)."""
        if topology not in self._further:
            limit = self._workers.limit[topology]
            empty = [[1 if heap <= limit else TOO_MANY] for heap in self._workers.sizes[topology]]
            self._further[topology] = np.repeat(np.array(empty, dtype=np.int8), self._problem.m, axis=1)
            here = self.node_of[self._problem.topology == topology]
            for node in np.unique(here[here >= 0]).tolist():
                self._count(topology, node)
        return self._further[topology]
