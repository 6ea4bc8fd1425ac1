"""Costs of sets of tasks on a node, for many sets at once: traffic that stays local, and excess over what it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks.problem.arrays.workers import Workers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks_dstorm.plus.links import LoadLimits

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

PAIRS = 2**16
"""Pairs of tasks, and pairs of a task and a node, up to which a problem counts as small: every set is weighed by a
product with the matrix of all pairs, which takes seconds for thousands of sets if it is much larger."""

PACKINGS = 2**20
"""Combinations of heaps of one topology, at most, whose numbers of workers are kept; 2**20 of them take 8 MB."""


class NodeCosts:
    """Costs of a small problem. Traffic is in whole units, so that no sum depends on its order.

    Attributes:
        rates: float64 (n, n), units that each pair of tasks exchanges.
        movable: bool (n,), tasks that a search may place: neither fixed nor too large for a worker.
        nodes: int64, nodes that may take tasks: with slots, and not full of fixed tasks.
    """

    def __init__(self, problem: Problem, limits: LoadLimits | None = None) -> None:
        self._problem = problem
        self._limits = limits
        self._of_tasks = problem.traffic.of_tasks.astype(np.float64)
        self._per_task = max(float(self._of_tasks.mean()), 1.0)
        self.rates = _rates(problem)
        self.movable: Flags = (problem.fixed < 0) & (problem.heap <= problem.heap_limit[problem.topology])
        held = problem.used(problem.fixed)
        self.nodes: Ints = np.flatnonzero((problem.slots > 0) & (held <= problem.capacity).all(axis=1))
        self._capacity = np.maximum(problem.capacity, held)
        mean = problem.demand.mean(axis=0)
        self._unit = np.where(mean > 0, mean, 1.0)
        self._limited: list[int] = np.flatnonzero(np.isfinite(problem.heap_limit)).tolist()
        self._workers = Workers(problem)
        self._packings = {
            topology: _Packings(problem, self._workers, self.movable, topology) for topology in self._limited
        }
        # a topology without a heap limit has one worker on a node, whoever is there
        self._plain = np.zeros((problem.n, len(problem.heap_limit)))
        self._plain[np.arange(problem.n), problem.topology] = 1.0
        self._plain[:, self._limited] = 0.0
        self._plain[problem.closed] = 0.0
        self._codes = np.stack([np.zeros(problem.n), *(each.code for each in self._packings.values())], axis=1)
        self._held = self._workers_held(np.flatnonzero(problem.fixed >= 0))
        self._slots = np.maximum(problem.slots, self._held)

    @classmethod
    def of(cls, problem: Problem, limits: LoadLimits | None = None) -> NodeCosts | None:
        """The costs of a problem, None if it is not small, or its heaps are of too many sizes.

        Args:
            limits: Loads that what crosses nodes is not to exceed.
        """
        if max(problem.n, problem.m) * problem.n > PAIRS or not problem.n:
            return None
        movable = (problem.fixed < 0) & (problem.heap <= problem.heap_limit[problem.topology])
        for topology in np.flatnonzero(np.isfinite(problem.heap_limit)).tolist():
            _, counts = np.unique(problem.heap[movable & (problem.topology == topology)], return_counts=True)
            if np.log2(counts + 1.0).sum() > np.log2(PACKINGS):
                return None
        return cls(problem, limits)

    def weigh(self, sets: Floats, node: Ints) -> tuple[Floats, Floats]:
        """Weigh sets of tasks, each on a node.

        Args:
            sets: 1 for each task of a set, else 0, float64 (k, n).
            node: Node of each set, int64 (k,).

        Returns:
            Units of traffic within each set, float64 (k,); and what it exceeds, float64 (k,): the sum over the
            resources in demands of a mean task, of what crosses nodes in traffic of a mean task, and of workers for
            which there is no slot; 0 where the node holds it.
        """
        local = np.einsum("kn,kn->k", sets @ self.rates, sets) / 2
        over = (np.maximum(sets @ self._problem.demand - self._capacity[node], 0.0) / self._unit).sum(axis=1)
        if self._limits is not None:
            links = (sets @ self._of_tasks.T).T - local
            over += self._limits.beyond(links, sets @ self._problem.demand[:, 0], node) / self._per_task
        workers = self._held[node] + (sets @ self._plain > 0).sum(axis=1)
        if self._limited:
            codes = (sets @ self._codes).astype(np.int64)
            for column, packings in enumerate(self._packings.values(), 1):
                workers += packings.workers(codes[:, column])
        return local, over + np.maximum(workers - self._slots[node], 0)

    def _workers_held(self, fixed: Ints) -> Ints:
        """Workers with a heap limit that fixed tasks hold on each node; others are not put into them here."""
        problem = self._problem
        found = np.zeros(problem.m, dtype=np.int64)
        limited = fixed[np.isfinite(problem.heap_limit[problem.topology[fixed]])]
        for node in np.unique(problem.fixed[limited]).tolist():
            found[node], _ = self._workers.needed(limited[problem.fixed[limited] == node].tolist())
        return found


class _Packings:
    """Numbers of workers that the movable tasks of a topology need, by how many there are of each heap.

    Attributes:
        code: float64 (n,), what each task adds to the code of a set; the code says how many there are of each heap.
    """

    def __init__(self, problem: Problem, workers: Workers, movable: Flags, topology: int) -> None:
        tasks = np.flatnonzero(movable & (problem.topology == topology))
        _, first, kind, counts = np.unique(
            problem.heap[tasks], return_index=True, return_inverse=True, return_counts=True
        )
        step = np.cumprod(np.append(1, counts + 1))
        self.code = np.zeros(problem.n)
        self.code[tasks] = step[kind.reshape(-1)]
        self._workers = workers
        self._kinds = list(zip(tasks[first].tolist(), step.tolist(), (counts + 1).tolist(), strict=False))
        self._known = np.full(int(step[-1]), -1, dtype=np.int64)

    def workers(self, codes: Ints) -> Ints:
        """Workers that sets need, by their codes, int64 (k,)."""
        found = self._known[codes]
        if (found < 0).any():
            for code in np.unique(codes[found < 0]).tolist():
                tasks = [task for task, step, base in self._kinds for _ in range(code // step % base)]
                self._known[code], _ = self._workers.needed(tasks)
            found = self._known[codes]
        return found


def _rates(problem: Problem) -> Floats:
    """Units that each pair of tasks exchanges, float64 (n, n); a task sends nothing to itself."""
    rates = np.zeros((problem.n, problem.n))
    blocks, flows = problem.traffic.blocks, problem.traffic.symmetric
    names = ("source_start", "source_stop", "target_start", "target_stop", "rate")
    for a0, a1, b0, b1, rate in zip(*(getattr(blocks, name).tolist() for name in names), strict=True):
        rates[a0:a1, b0:b1] += rate
        rates[b0:b1, a0:a1] += rate
    np.add.at(rates, (flows.sources, flows.indices), flows.rate)
    np.fill_diagonal(rates, 0.0)
    return rates
