"""Heap limits of many changes at once: most are decided by bounds, the others by counting workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from headworks_dstorm.availability import residents

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks.problem.arrays.workers import Workers
    from headworks_dstorm.plus.exchange import Flags, Floats, Ints


class Occupancy(Protocol):
    """Tasks on nodes as the annealing keeps them; see `headworks_dstorm.plus.state.AnnealingState`."""

    problem: Problem
    node_of: Ints
    of_topology: NDArray[np.int32]
    on: Ints
    count: Ints


class HeapLimits:
    """Heap limits: `headworks.problem.arrays.workers` counts the workers on a node where its slots might not suffice.

    Bounds of first fit decreasing say where that is not so for many nodes at once; the rule never needs more workers.
    """

    def __init__(self, state: Occupancy, workers: Workers) -> None:
        self._state, self._workers = state, workers
        self._least = self._tasks_of_a_worker()
        self._sum = np.zeros(state.of_topology.shape)
        placed = np.flatnonzero((state.node_of >= 0) & ~state.problem.closed)
        np.add.at(self._sum, (state.node_of[placed], state.problem.topology[placed]), state.problem.heap[placed])
        self._residents = residents(state.problem)
        self._held = np.zeros(state.problem.m, dtype=np.int64)
        for node, tasks in self._residents.items():
            self._held[node], _ = self._workers.needed(tasks)
        every = np.indices(state.of_topology.shape).reshape(2, -1)
        self._bounds = self._bound_of(every[0], every[1]).reshape(state.of_topology.shape)
        self._bound = self._bounds.sum(axis=1) + self._held
        """More workers than that are on none of the nodes, (m,): those of their tasks, and those that fixed tasks hold,
        however empty they are."""

    def _tasks_of_a_worker(self) -> Ints:
        """Tasks of each topology that first fit puts at least into every worker but the last."""
        problem = self._state.problem
        largest = np.zeros(len(problem.heap_limit))
        np.maximum.at(largest, problem.topology, problem.heap)
        most = np.divide(problem.heap_limit, largest, out=np.full(len(largest), np.inf), where=largest > 0)
        found: Ints = np.clip(most, 1.0, float(problem.n + 1)).astype(np.int64)
        return found

    def near(self, nodes: Ints) -> Flags:
        """Check which nodes might not have slots enough with one more task."""
        found: Flags = self._bound[nodes] + 1 > self._state.problem.slots[nodes]
        return found

    def allow(self, task: Ints, there: Ints, other: Ints) -> Flags:
        """Check which changes leave both nodes with slots enough.

        Workers are packed only where a bound does not decide; changes are on different nodes.

        Args:
            task: Task of each change, int64 (c,).
            there: Node that it moves to, int64 (c,).
            other: Task that comes back in its place, -1 for none, int64 (c,).
        """
        state = self._state
        allowed = np.ones(len(task), dtype=bool)
        here, slots = state.node_of[task], state.problem.slots
        near = self.near(there)
        near |= self._bound[here] + (other >= 0) > slots[here]
        for at in np.flatnonzero(near).tolist():
            one, two = int(task[at]), int(other[at])
            allowed[at] = self._enough(int(there[at]), one, two) and self._enough(int(here[at]), two, one)
        return allowed

    def shift(self, task: Ints, here: Ints, there: Ints) -> None:
        """Each task has moved, of which no two left or came to one node.

        Args:
            task: Tasks, int64 (c,).
            here: Node that each left, int64 (c,).
            there: Node that each came to, int64 (c,).
        """
        topology, heap = self._state.problem.topology[task], self._state.problem.heap[task]
        self._sum[here, topology] -= heap
        self._sum[there, topology] += heap
        nodes, topology = np.concatenate([here, there]), np.concatenate([topology, topology])
        self._bounds[nodes, topology] = self._bound_of(nodes, topology)
        self._bound[nodes] = self._bounds[nodes].sum(axis=1) + self._held[nodes]

    def _bound_of(self, nodes: Ints, topology: Ints) -> Floats:
        """No more workers than that has each topology on its node: two that come one after the other fill one together.

        Args:
            nodes: int64 (c,).
            topology: int64 (c,).
        """
        # first fit: every worker but the last holds at least `_least` tasks, and two in a row more than one limit
        by_number = -(-self._state.of_topology[nodes, topology] // self._least[topology])
        limit, held = self._state.problem.heap_limit[topology], self._sum[nodes, topology]
        by_sum = np.floor(np.divide(2.0 * held, limit, out=np.zeros_like(held), where=limit > 0)) + 1.0
        bound: Floats = np.minimum(by_number, by_sum)
        return bound

    def _enough(self, node: int, comes: int, goes: int) -> bool:
        """Check that a node's slots suffice when one task comes and one goes, -1 being none."""
        state = self._state
        tasks: list[int] = state.on[node, : state.count[node]].tolist()
        if goes >= 0:
            tasks.remove(goes)
        if comes >= 0:
            tasks.append(comes)
        need, _ = self._workers.needed([*tasks, *self._residents.get(node, ())])
        return need <= self._workers.slots[node]
