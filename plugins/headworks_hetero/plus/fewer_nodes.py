"""Fewer nodes: one after the other is left, as long as it is worth the rate that is lost."""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.toolbox.best_response import best_of_one
from headworks.toolbox.cancel import on_cancel
from headworks_hetero.plus.search import REACH, LocalSearch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.toolbox.instance_counts import InstanceCounts

    Counts = NDArray[np.int64]
    Floats = NDArray[np.float64]

TRIED = 8
"""Nodes that are tried each time, those first that do least for what they are worth; more of them take longer."""
PART = 64
"""Part of the budget with which the tasks that remain are improved each time."""
RATES = (1.0, 0.95, 0.9, 0.8, 0.65, 0.5, 0.3, 0.1)
"""Parts of the rate at which the tasks of a node are tried elsewhere, before they are improved."""


def on_fewer_nodes(
    instances: InstanceCounts, counts: Counts, shares: Floats, *, budget: int, most: int
) -> tuple[InstanceCounts, Counts]:
    """Leave nodes as long as the rate, in parts of the first, less the shares of the nodes in use grows.

    Args:
        instances: The choice of instance counts.
        counts: Tasks by component and machine, int64 (K, m), which sustain some rate.
        shares: Share of the rate that each node in use counts as, float64 (m,).
        budget: Cells of tables of all searches together.
        most: Tasks that all components may have.

    Returns:
        The choice without the nodes that were left, and the counts.
    """
    ended = Event()
    on_cancel(ended.set)
    highest = _rate(instances, counts)
    kept = instances.present.any(axis=0) | instances.floor.any(axis=0)

    def worth(counts: Counts) -> float:
        return _rate(instances, counts) / highest - float(shares[counts.any(axis=0)].sum())

    for _ in range(counts.shape[1]):
        does = (instances.profiled.load(counts, 1.0)) / np.maximum(shares, 1e-12)
        nodes = np.flatnonzero(counts.any(axis=0) & ~kept & (shares > 0))
        nodes = nodes[np.argsort(does[nodes], kind="stable")][:TRIED]
        tried = [each for node in nodes.tolist() if (each := _left(instances, counts, node, budget, most, ended))]
        best = max(tried, key=lambda each: worth(each[1]), default=None)
        if best is None or worth(best[1]) <= worth(counts) or ended.is_set():
            break
        instances, counts = best
    return instances, counts


def _left(
    instances: InstanceCounts, counts: Counts, node: int, budget: int, most: int, ended: Event
) -> tuple[InstanceCounts, Counts] | None:
    """The choice without a node, and the best counts found there; None if its tasks find no place."""
    if ended.is_set():
        return None
    covers = instances.profiled.covers.copy()
    covers[:, node] = False
    closed = attrs.evolve(instances, profiled=attrs.evolve(instances.profiled, covers=covers))
    found = _moved(closed, counts, node)
    if found is None:
        return None
    course = LocalSearch(instances=closed, most=max(most, int(found.sum())), left=budget // PART)
    return closed, course.descend(found, REACH)


def _moved(instances: InstanceCounts, counts: Counts, node: int) -> Counts | None:
    """Counts without tasks on a node, at the highest of some rates at which its components fit elsewhere."""
    parts = np.flatnonzero(counts[:, node]).tolist()
    rest, rate = counts.copy(), _rate(instances, counts)
    rest[:, node] = 0
    for share in RATES:
        found: Counts | None = rest
        for part in parts:
            numbers = np.arange(max(int(instances.least[part]), 1), int(counts[part].sum()) + 1)
            found = None if found is None else best_of_one(instances, found, part, numbers, share * rate)
        if found is not None:
            return found
    return None


def _rate(instances: InstanceCounts, counts: Counts) -> float:
    return instances.profiled.max_factor(counts, np.maximum(instances.free, 0.0))
