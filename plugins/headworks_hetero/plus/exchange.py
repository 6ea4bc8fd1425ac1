"""Exchanges of single tasks of the fullest machine, for clusters where the tables of two components are too large."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from headworks.toolbox.best_response import Rest, most_alone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from headworks.toolbox.instance_counts import InstanceCounts

    Counts = NDArray[np.int64]

TRIALS = 1_000
"""Placements that are tried; more of them relieve more machines, and take longer."""


def exchange(instances: InstanceCounts, counts: Counts, most: int, *, given: bool = False) -> Counts:
    """Exchange tasks of the fullest machine as long as the highest factor grows.

    Args:
        instances: The choice of instance counts.
        counts: Tasks by component and machine, int64 (K, m).
        most: Tasks that all components may have.
        given: Whether each component keeps its number of tasks.
    """
    model, free, budget = instances.profiled, np.maximum(instances.free, 0.0), TRIALS
    best = model.max_factor(counts, free)
    while budget > 0 and math.isfinite(best):
        spare = np.where(counts > 0, model.limit - model.task_load(counts, best), np.inf).min(axis=0)
        node, better = int(np.minimum(free - model.load(counts, best), spare).argmin()), None
        for tried in _swaps(instances, counts, node) if given else _exchanges(instances, counts, node, most):
            budget -= 1
            rate = model.max_factor(tried, free)
            if rate > best * (1 + 1e-9):
                best, better = rate, tried
            if budget <= 0:
                break
        if better is None:
            break
        counts = better
    return counts


def _exchanges(instances: InstanceCounts, counts: Counts, node: int, most: int) -> Iterator[Counts]:
    """Counts with a task of the machine's components moved, gone, or joined by one more anywhere."""
    alike = np.unique(np.vstack([instances.profiled.e, counts]), axis=1, return_index=True)[1]
    rest, more = Rest.of(instances, counts, ()), counts.sum() < most
    for part in np.flatnonzero(counts[:, node]).tolist():
        takes = most_alone(instances, rest, part) > 0
        others = [other for other in alike.tolist() if other != node and takes[other]]
        for other in others if more and counts[part].sum() < instances.most[part] else ():
            yield _changed(counts, (part, other, 1))
        if counts[part, node] <= instances.floor[part, node]:
            continue
        if counts[part].sum() > instances.least[part]:
            yield _changed(counts, (part, node, -1))
        for other in others:
            yield _changed(counts, (part, other, 1), (part, node, -1))


def _swaps(instances: InstanceCounts, counts: Counts, node: int) -> Iterator[Counts]:
    """Counts with a task of the machine moved to another, alone or in exchange for one of another component there."""
    rest, movable = Rest.of(instances, counts, ()), counts > instances.floor
    takes = [most_alone(instances, rest, part) > 0 for part in range(len(counts))]
    for part in np.flatnonzero(movable[:, node]).tolist():
        for other in np.flatnonzero(takes[part] & (np.arange(counts.shape[1]) != node)).tolist():
            moved = (part, other, 1), (part, node, -1)
            yield _changed(counts, *moved)
            for back in np.flatnonzero(movable[:, other]).tolist():
                if back != part and takes[back][node]:
                    yield _changed(counts, *moved, (back, node, 1), (back, other, -1))


def _changed(counts: Counts, *changes: tuple[int, int, int]) -> Counts:
    changed = counts.copy()
    for part, node, by in changes:
        changed[part, node] += by
    return changed
