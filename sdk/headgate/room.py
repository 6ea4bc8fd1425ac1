"""What is left of a cluster while a scheduler places tasks one by one."""

from __future__ import annotations

import math
from operator import le
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate.problem import Problem

NO_WORKER = (-math.inf,)


class Room:
    """Free capacity and free slots, and the node of every task placed so far.

    A topology needs one slot on each node it uses, and one more each time its worker's heap limit is full
    (tasks go to the first worker with heap left). Fixed tasks are placed from the start.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.free: NDArray[np.float64] = problem.capacity.copy()
        """float64 (m, r): capacity not yet taken."""
        self.free_slots: NDArray[np.int64] = problem.slots.copy()
        """int64 (m,): slots not yet taken."""
        self.node_of: NDArray[np.int64] = np.full(problem.n, -1, dtype=np.int64)
        """int64 (n,): node of each task placed, -1 for the others."""
        self._demand: list[list[float]] = problem.demand.tolist()
        self._topology: list[int] = problem.topology.tolist()
        self._heap: list[float] = problem.heap.tolist()
        self._limit: list[float] = problem.heap_limit.tolist()
        self._widest: dict[int, NDArray[np.float64]] = {}
        self._workers: list[dict[int, list[float]]] = [{} for _ in range(problem.m)]
        for task in np.flatnonzero(problem.fixed >= 0).tolist():
            self.place(task, int(problem.fixed[task]))

    def fits(self, task: int) -> NDArray[np.bool_]:
        """Whether the task has room on each node, bool (m,)."""
        fits = self.has_worker(task)
        for resource, need in enumerate(self._problem.demand[task].tolist()):
            fits &= self.free[:, resource] >= need
        return fits

    def fits_on(self, task: int, node: int) -> bool:
        """Whether the task has room on one node; the same as `fits(task)[node]`, without looking at others."""
        if not all(map(le, self._demand[task], self.free[node].tolist())):
            return False
        topology, heap = self._topology[task], self._heap[task]
        fresh = self.free_slots[node] > 0 and heap <= self._limit[topology]
        return bool(fresh or self.heap_left(topology, node) >= heap)

    def heap_left(self, topology: int, node: int) -> float:
        """MB of heap in the emptiest worker of a topology on a node, -inf if it has none there."""
        return max(self._workers[node].get(topology, NO_WORKER))

    def topologies_on(self, node: int) -> tuple[int, ...]:
        """Indices of the topologies that have a worker on the node."""
        return tuple(self._workers[node])

    def has_worker(self, task: int) -> NDArray[np.bool_]:
        """Whether each node has a worker with heap left for the task, or a free slot for a new one, bool (m,)."""
        problem = self._problem
        topology, heap = int(problem.topology[task]), problem.heap[task]
        fresh = (self.free_slots > 0) if heap <= problem.heap_limit[topology] else np.zeros(problem.m, bool)
        return fresh | self.joins_worker(task)

    def joins_worker(self, task: int) -> NDArray[np.bool_]:
        """Whether each node has a worker of the task's topology with heap left for it, bool (m,)."""
        widest = self._widest.get(self._topology[task])
        return np.zeros(self._problem.m, bool) if widest is None else widest >= self._heap[task]

    def place(self, task: int, node: int) -> None:
        """Put the task on the node, whether it fits or not; a worker is opened where none has heap left."""
        self.node_of[task] = node
        self.free[node] -= self._problem.demand[task]
        self._open_worker(self._topology[task], node, self._heap[task])

    def remove(self, task: int) -> None:
        """Take a placed task off its node; what is left of its topology there is packed again."""
        node = int(self.node_of[task])
        self.node_of[task] = -1
        self.free[node] += self._problem.demand[task]
        self.repack(self._topology[task], node)

    def repack(self, topology: int, node: int) -> None:
        """Pack the tasks of a topology on a node as if they came in order: those that are fixed, then by index."""
        here = np.flatnonzero((self.node_of == node) & (self._problem.topology == topology))
        self.free_slots[node] += len(self._workers[node].pop(topology, ()))
        if topology in self._widest:
            self._widest[topology][node] = -np.inf
        for task in sorted(here.tolist(), key=lambda each: self._problem.fixed[each] < 0):
            self._open_worker(topology, node, self._heap[task])

    def _open_worker(self, topology: int, node: int, heap: float) -> None:
        workers = self._workers[node].setdefault(topology, [])
        for number, left in enumerate(workers):
            if left >= heap:
                workers[number] = left - heap
                break
        else:
            workers.append(self._limit[topology] - heap)
            self.free_slots[node] -= 1
        if topology not in self._widest:
            self._widest[topology] = np.full(self._problem.m, -np.inf)
        self._widest[topology][node] = max(workers)
