"""Sizes with nearly the same demand and traffic, bounded together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate_dstorm.groups import Groups

SIZE = 64
"""Sizes in a cell, at most."""

GRID = 64
"""Classes of demand, at most, over all resources."""


class Cells:
    """A partition of the sizes in use into cells, each with bounds that hold for all its groups.

    While a group waits, its `waiting` only falls: bounds stay valid, and get looser, until the cells are made
    anew. Float division and addition are monotone, so that Eq. 5.5 evaluated at a cell's bounds is never below
    the priority of a member that shares no traffic with the node, to the last bit.

    Attributes:
        demand: float64 (r, c), the least demand in each cell.
        waiting: float64 (c,), the most that a group in it waits for.
        built_for: How many sizes were in use.
    """

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        sizes = np.flatnonzero(groups.in_use)
        demand, waiting = groups.demand[:, sizes], groups.highest(groups.waiting, sizes)
        classes = _classes(demand)
        order = np.lexsort((sizes, -waiting, classes))
        starts = _starts(classes[order])
        self._members = sizes[order]
        self._starts = np.append(starts, len(order)).tolist()
        self.demand = np.minimum.reduceat(demand[:, order], starts, axis=1)
        self.waiting = np.maximum.reduceat(waiting[order], starts)
        self.built_for = len(sizes)

    def __len__(self) -> int:
        return len(self.waiting)

    def open(self, cell: int) -> NDArray[np.int64]:
        """The sizes of a cell that are in use; its bound is tightened on the occasion."""
        members = self._members[self._starts[cell] : self._starts[cell + 1]]
        members = members[self._groups.in_use[members]]
        self.waiting[cell] = self._groups.highest(self._groups.waiting, members).max(initial=0.0)
        return members


def _classes(demand: NDArray[np.float64]) -> NDArray[np.int64]:
    """Number each size by the quantiles of its demand of every resource that varies."""
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
    """Where a cell starts: at each new class, and after every `SIZE` sizes of one."""
    place = np.arange(len(classes))
    fresh = np.append(True, classes[1:] != classes[:-1])
    since = place - np.maximum.accumulate(np.where(fresh, place, 0))
    return np.flatnonzero(since % SIZE == 0)
