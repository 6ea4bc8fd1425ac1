"""Groups of nearly the same demand and traffic, bounded together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate_dstorm.groups import Groups

SIZE = 64
"""Groups in a cell, at most."""

GRID = 64
"""Classes of demand, at most, over all resources."""


class Cells:
    """A partition of the living groups into cells, each with bounds that hold for all its groups.

    While a group waits, its `waiting` only falls: bounds stay valid, and get looser, until the cells are made
    anew. Float division and addition are monotone, so that Eq. 5.5 evaluated at a cell's bounds is never below
    the priority of a member that shares no traffic with the node, to the last bit.

    Attributes:
        demand: float64 (r, c), the least demand in each cell.
        waiting: float64 (c,), the most that a group in it waits for.
        first: int64 (c,), the lowest task in it.
    """

    def __init__(self, groups: Groups) -> None:
        living = np.flatnonzero(groups.alive)
        demand, waiting, first = groups.demand[:, living], groups.waiting[living], groups.first[living]
        classes = _classes(demand)
        order = np.lexsort((first, -waiting, classes))
        starts = _starts(classes[order])
        self._members = living[order]
        self._starts = np.append(starts, len(order)).tolist()
        self.demand = np.minimum.reduceat(demand[:, order], starts, axis=1)
        self.waiting = np.maximum.reduceat(waiting[order], starts)
        self.first = np.minimum.reduceat(first[order], starts)
        self.built_for = len(living)

    def __len__(self) -> int:
        return len(self.first)

    def open(self, cell: int, groups: Groups) -> NDArray[np.int64]:
        """The living groups in a cell; its bound is tightened on the occasion."""
        members: NDArray[np.int64] = self._members[self._starts[cell] : self._starts[cell + 1]]
        members = members[groups.alive[members]]
        self.waiting[cell] = groups.waiting[members].max(initial=0.0)
        return members


def _classes(demand: NDArray[np.float64]) -> NDArray[np.int64]:
    """Number each group by the quantiles of its demand of every resource that varies."""
    varying = [row for row in demand if row.min() < row.max()]
    classes = np.zeros(demand.shape[1], dtype=np.int64)
    if not varying:
        return classes
    steps = max(2, int(GRID ** (1 / len(varying))))
    for row in varying:
        edges = np.unique(np.quantile(row, np.arange(1, steps) / steps, method="lower"))
        classes = classes * (len(edges) + 1) + np.searchsorted(edges, row)
    return classes


def _starts(classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where a cell starts: at each new class, and after every `SIZE` groups of one."""
    place = np.arange(len(classes))
    fresh = np.append(True, classes[1:] != classes[:-1])
    since = place - np.maximum.accumulate(np.where(fresh, place, 0))
    return np.flatnonzero(since % SIZE == 0)
