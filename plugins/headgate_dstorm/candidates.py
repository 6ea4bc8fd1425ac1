"""What competes for the open node: sizes, and cells of sizes that are bounded together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headgate_dstorm.cells import Cells
    from headgate_dstorm.groups import Groups

NEAR = 0.7
"""Cells within this share of the best priority are opened together: soon it would be their turn."""


class Candidates:
    """Entries in parallel arrays: entry 0 is nobody, then the cells, then sizes from `sizes` to `stop`.

    An entry out of the race has the numerator -1.

    Attributes:
        demand: float64 (r, ...), demand of each entry, no more than its groups need.
        numerator: float64, numerator of Eq. 5.5, no less than its groups have.
        size: int64, the size of each entry that is one.
        place: int64 (s + 1,), entry of each size: -1 if it may yet become one, 0 if it may not.
    """

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        count = len(groups.in_use)
        length = 2 * count + 2
        self.demand = np.zeros((len(groups.demand), length))
        self.numerator = np.full(length, -1.0)
        self.size = np.full(length, count, dtype=np.int64)
        self.place = np.zeros(count + 1, dtype=np.int64)
        self._cost, self._priority = np.zeros(length), np.zeros(length)
        self.sizes = self.stop = 1

    def reset(self, cells: Cells | None, beta: float) -> None:
        """Begin a node: no sizes yet, and every cell."""
        self.sizes = self.stop = 1 + (0 if cells is None else len(cells))
        self.place[:-1] = -self._groups.in_use.astype(np.int64)
        if cells is not None:
            self.demand[:, 1 : self.stop] = cells.demand
            self.numerator[1 : self.stop] = beta * cells.waiting

    def add(self, sizes: NDArray[np.int64], numerator: NDArray[np.float64]) -> None:
        """Enter sizes."""
        here = slice(self.stop, self.stop + len(sizes))
        self.demand[:, here] = self._groups.demand[:, sizes]
        self.numerator[here] = numerator
        self.size[here] = sizes
        self.place[sizes] = np.arange(here.start, here.stop)
        self.stop = here.stop

    def lift(self, sizes: NDArray[np.int64], numerator: NDArray[np.float64]) -> None:
        """Groups of some sizes have a new numerator."""
        np.maximum.at(self.numerator, self.place[sizes], numerator)
        self.numerator[0] = -1.0

    def refuse(self, entry: int) -> None:
        """Take a size that does not fit on this node out of the race."""
        self.numerator[entry] = -1.0
        self.place[self.size[entry]] = 0

    def revalue(self, numerator: NDArray[np.float64]) -> None:
        """Give every size in the race a new numerator, and take the cells out."""
        self.numerator[: self.sizes] = -1.0
        here = self.numerator[self.sizes : self.stop]
        np.copyto(here, numerator, where=here >= 0)

    def best(self, used: Sequence[float], capacity: Sequence[float], usage: float) -> tuple[list[int], float]:
        """The entries of highest priority (Eq. 5.5), and that priority."""
        cost, priority = self._cost[: self.stop], self._priority[: self.stop]
        self._costs(cost, priority, used, capacity, usage)
        np.divide(self.numerator[: self.stop], cost, out=priority)
        top = priority.item(priority.argmax())
        if top != top:  # 0 / 0: no traffic at no cost has no priority
            priority[np.isnan(priority)] = 0.0
            top = priority.item(priority.argmax())
        return (priority == top).nonzero()[0].tolist(), top

    def group(self, entry: int, numerator: NDArray[np.float64], priority: float) -> int | None:
        """The first group of a size with the priority that `best` found for its entry.

        None if the entry's numerator was too high: it is lowered to the highest of the groups' then.
        """
        size = self.size.item(entry)
        start, stop = self._groups.bounds[size]
        mine = numerator[start:stop]
        reached = mine / self._cost.item(entry) == priority
        at = reached.argmax()
        if reached[at]:
            return start + int(at)
        self.numerator[entry] = mine.max()
        return None

    def rivals(self) -> NDArray[np.int64]:
        """Cells whose bound, as `best` found it, comes near the best size or the best cell."""
        cells, sizes = self._priority[1 : self.sizes], self._priority[self.sizes : self.stop]
        level = sizes.max(initial=0.0) or cells.max()
        return (cells >= NEAR * level).nonzero()[0]

    def _costs(
        self,
        cost: NDArray[np.float64],
        spare: NDArray[np.float64],
        used: Sequence[float],
        capacity: Sequence[float],
        usage: float,
    ) -> None:
        """rho3 of every entry."""
        into = cost
        for row, amount, whole in zip(self.demand, used, capacity, strict=True):
            if whole > 0:
                np.add(row[: len(cost)], amount, out=into)
                np.divide(into, whole, out=into)
                if into is spare:
                    np.maximum(cost, spare, out=cost)
                into = spare
        if into is cost:
            cost.fill(usage)
        np.subtract(cost, usage, out=cost)
