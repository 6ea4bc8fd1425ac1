"""Patterns: every combination of counts by class that one node can hold, and the traffic that stays within it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headgate.problem import Problem
    from headgate.problem.workers import Workers
    from headgate_exact.classes import Classes

Patterns = NDArray[np.int64]
"""Counts by pattern and class, shape (p, k)."""


def patterns_of(
    problem: Problem, classes: Classes, workers: Workers, node: int, limit: int
) -> tuple[Patterns, bool] | None:
    """Every pattern that the node can hold, the empty one first; None if there are more than `limit`.

    Args:
        problem: The request as arrays.
        classes: Interchangeable tasks and nodes.
        workers: The rule by which heaps fill workers.
        node: A node of the group.
        limit: Patterns that are listed, at most.

    Returns:
        The patterns, and whether those that are left out are known to need more workers than there are slots.
    """
    found = np.zeros((1, len(classes.tasks)), dtype=np.int64)
    used = np.zeros((1, problem.demand.shape[1]))
    for number, tasks in enumerate(classes.tasks):
        demand, home = problem.demand[tasks[0]], classes.home[number]
        low = len(tasks) if home == node else 0
        large = problem.heap[tasks[0]] > problem.heap_limit[problem.topology[tasks[0]]]  # no new worker may hold it
        high = len(tasks) if home == node or (home == -1 and not large) else 0
        counts = np.arange(low, high + 1, dtype=np.int64)
        need = used[:, None, :] + counts[None, :, None] * demand
        # what may not move stays, though the node be overloaded by it
        fits = (need <= problem.capacity[node]).all(axis=2) | (counts == low)[None, :]
        row, column = np.nonzero(fits)
        if len(row) > limit:
            return None
        found, used = found[row], need[row, column]
        found[:, number] = counts[column]
    need, proven = _workers(problem, classes, workers, found)
    fits = (need <= problem.slots[node]) | ~found.any(axis=1)
    return found[fits], bool(proven[~fits].all())


def _workers(
    problem: Problem, classes: Classes, workers: Workers, found: Patterns
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Workers that each pattern needs, by the rule of `headgate.problem.workers`, and whether that is proven."""
    topology = problem.topology[[tasks[0] for tasks in classes.tasks]]
    need, proven = np.zeros(len(found), dtype=np.int64), np.ones(len(found), dtype=bool)
    for t in np.unique(topology).tolist():
        mine = np.flatnonzero(topology == t)
        if workers.plain:
            need += found[:, mine].any(axis=1)
            continue
        rows, of = np.unique(found[:, mine], axis=0, return_inverse=True)
        counted = [workers.needed(_tasks(classes, mine.tolist(), row)) for row in rows.tolist()]
        of = of.reshape(-1)
        need += np.array([number for number, _ in counted], dtype=np.int64)[of]
        proven &= np.array([known for _, known in counted], dtype=bool)[of]
    return need, proven


def _tasks(classes: Classes, numbers: list[int], counts: list[int]) -> Iterator[int]:
    for number, count in zip(numbers, counts, strict=True):
        yield from classes.tasks[number][:count]


def local_traffic(problem: Problem, classes: Classes, found: Patterns) -> NDArray[np.int64]:
    """Traffic within a node that holds each pattern, in the units of `Traffic`, shape (p,).

    Args:
        problem: The request as arrays.
        classes: Interchangeable tasks.
        found: The patterns.
    """
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
