"""What one node can hold: every combination of counts by class, and the traffic that stays within it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from headgate.problem import Problem
    from headgate_exact.classes import Classes

Patterns = NDArray[np.int64]
"""Counts by pattern and class, shape (p, k)."""


def patterns_of(problem: Problem, classes: Classes, node: int, limit: int) -> Patterns | None:
    """Every pattern that the node can hold, the empty one first; None if there are more than `limit`."""
    found = np.zeros((1, len(classes.tasks)), dtype=np.int64)
    used = np.zeros((1, problem.demand.shape[1]))
    for number, tasks in enumerate(classes.tasks):
        demand, home = problem.demand[tasks[0]], classes.home[number]
        low = len(tasks) if home == node else 0
        high = len(tasks) if home in (node, -1) else 0
        counts = np.arange(low, high + 1, dtype=np.int64)
        need = used[:, None, :] + counts[None, :, None] * demand
        # what may not move stays, though the node be overloaded by it
        fits = (need <= problem.capacity[node]).all(axis=2) | (counts == low)[None, :]
        row, column = np.nonzero(fits)
        if len(row) > limit:
            return None
        found, used = found[row], need[row, column]
        found[:, number] = counts[column]
    return found[_has_workers(problem, classes, found, int(problem.slots[node]))]


def _has_workers(problem: Problem, classes: Classes, found: Patterns, slots: int) -> NDArray[np.bool_]:
    """Whether the workers of each pattern fit into the slots, as `headgate.slots` packs them: largest heap first."""
    first = [tasks[0] for tasks in classes.tasks]
    topology, heap = problem.topology[first], problem.heap[first]
    here = np.array([(found[:, topology == t] > 0).any(axis=1) for t in range(len(problem.topology_ids))])
    need = here.sum(axis=0) if len(here) else np.zeros(len(found), dtype=np.int64)
    for t in np.flatnonzero(np.isfinite(problem.heap_limit)).tolist():
        mine = np.flatnonzero(topology == t)
        mine = mine[np.argsort(-heap[mine], kind="stable")]
        for row in np.flatnonzero(here[t]).tolist():
            heaps = np.repeat(heap[mine], found[row, mine])
            need[row] += _workers(heaps.tolist(), float(problem.heap_limit[t])) - 1
    return np.asarray((need <= slots) | ~found.any(axis=1))


def _workers(heaps: list[float], limit: float) -> int:
    """Workers that first fit opens; more than any node has where one task is too large."""
    left: list[float] = []
    for heap in heaps:
        if heap > limit:
            return 1_000_000
        fit = next((number for number, room in enumerate(left) if room >= heap), None)
        if fit is None:
            left.append(limit - heap)
        else:
            left[fit] -= heap
    return len(left)


def local_traffic(problem: Problem, classes: Classes, found: Patterns) -> NDArray[np.int64]:
    """Traffic within a node that holds each pattern, in the units of `Traffic`, shape (p,)."""
    blocks, sparse = problem.traffic.blocks, problem.traffic.sparse
    first = np.array([tasks[0] for tasks in classes.tasks], dtype=np.int64)
    total = np.zeros(len(found), dtype=np.int64)
    for a0, a1, b0, b1, rate in zip(
        blocks.source_start, blocks.source_stop, blocks.target_start, blocks.target_stop, blocks.rate, strict=True
    ):
        sends, receives = (first >= a0) & (first < a1), (first >= b0) & (first < b1)
        pairs = found[:, sends].sum(axis=1) * found[:, receives].sum(axis=1)
        total += rate * (pairs - found[:, sends & receives].sum(axis=1))
    of = {task: number for number, tasks in enumerate(classes.tasks) for task in tasks}
    for source, target, rate in zip(sparse.sources.tolist(), sparse.indices.tolist(), sparse.rate, strict=True):
        total += rate * found[:, of[source]] * found[:, of[target]]
    return total
