"""What competes for the open node: groups, and cells of groups that are bounded together."""

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
    """Entries in parallel arrays: entry 0 is nobody, then the cells, then groups from `items` to `size`.

    An entry out of the race has the numerator -1.

    Attributes:
        demand: float64 (r, ...), demand of each entry.
        numerator: float64, numerator of Eq. 5.5.
        first: int64, lowest task of each entry, the tie rule.
        group: int64, the group of each entry, no group for a cell.
        place: int64 (G + 1,), entry of each group: -1 if it may yet become one, 0 if it may not.
    """

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        size = 2 * groups.count + 2
        self.demand = np.zeros((len(groups.demand), size))
        self.numerator = np.full(size, -1.0)
        self.first = np.zeros(size, dtype=np.int64)
        self.group = np.full(size, groups.count, dtype=np.int64)
        self.place = np.zeros(groups.count + 1, dtype=np.int64)
        self._cost, self._after = np.zeros(size), np.zeros(size)
        self.items = self.size = 1

    def reset(self, cells: Cells | None, beta: float) -> None:
        """Begin a node: no groups yet, and every cell."""
        self.items = self.size = 1 + (0 if cells is None else len(cells))
        self.place[:] = -self._groups.alive.astype(np.int64)
        if cells is not None:
            here = slice(1, self.size)
            self.demand[:, here] = cells.demand
            self.numerator[here] = beta * cells.waiting
            self.first[here] = cells.first
            self.group[here] = self._groups.count

    def add(self, groups: NDArray[np.int64], numerator: NDArray[np.float64]) -> None:
        """Enter groups."""
        here = slice(self.size, self.size + len(groups))
        self.demand[:, here] = self._groups.demand[:, groups]
        self.numerator[here] = numerator
        self.first[here] = self._groups.first[groups]
        self.group[here] = groups
        self.place[groups] = np.arange(here.start, here.stop)
        self.size = here.stop

    def refuse(self, groups: NDArray[np.int64]) -> None:
        """Note that groups do not fit on this node."""
        self.place[groups] = 0

    def keep(self, fits: NDArray[np.bool_]) -> None:
        """Take entries that do not fit out of the race."""
        out = ~fits
        self.numerator[: self.size][out] = -1.0
        self.place[self.group[: self.size][out]] = 0

    def placed(self, group: int) -> None:
        """A member of the group was placed."""
        entry = self.place[group]
        if self._groups.alive[group]:
            self.first[entry] = self._groups.first[group]
        else:
            self.numerator[entry] = -1.0
            self.place[group] = 0

    def listed(self) -> NDArray[np.int64]:
        """The group of every entry that is one."""
        return self.group[self.items : self.size]

    def revalue(self, numerator: NDArray[np.float64]) -> None:
        """Give every group in the race a new numerator, and take the cells out."""
        self.numerator[: self.items] = -1.0
        here = self.numerator[self.items : self.size]
        np.copyto(here, numerator, where=here >= 0)

    def best(self, used: Sequence[float], capacity: Sequence[float], usage: float) -> tuple[int, float]:
        """The entry of highest priority (Eq. 5.5), the one with the lowest task among equals, and its priority."""
        size = self.size
        priority = self._cost[:size]
        self._costs(priority, used, capacity, usage)
        np.divide(self.numerator[:size], priority, out=priority)
        top = priority.item(priority.argmax())
        if top != top:  # 0 / 0: no traffic at no cost has no priority
            priority[np.isnan(priority)] = 0.0
            top = priority.item(priority.argmax())
        ties = (priority == top).nonzero()[0]
        return ties.item(0 if len(ties) == 1 else self.first[ties].argmin()), top

    def rivals(self) -> NDArray[np.int64]:
        """Cells whose bound, as `best` found it, comes near the best group or the best cell."""
        cells, groups = self._cost[1 : self.items], self._cost[self.items : self.size]
        level = groups.max(initial=0.0) or cells.max()
        near: NDArray[np.int64] = (cells >= NEAR * level).nonzero()[0]
        return near

    def _costs(self, cost: NDArray[np.float64], used: Sequence[float], capacity: Sequence[float], usage: float) -> None:
        """rho3 of every entry."""
        after = self._after[: len(cost)]
        into = cost
        for row, amount, whole in zip(self.demand, used, capacity, strict=True):
            if whole > 0:
                np.add(row[: len(cost)], amount, out=into)
                np.divide(into, whole, out=into)
                if into is after:
                    np.maximum(cost, after, out=cost)
                into = after
        if into is cost:
            cost.fill(usage)
        np.subtract(cost, usage, out=cost)
