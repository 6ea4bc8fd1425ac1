"""Rows of a table by the values of some columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping


@attrs.frozen(kw_only=True, eq=False)
class Groups:
    """Rows with the same values in some columns, in order of the values.

    Attributes:
        order: int64 (n,), indices of rows, group after group.
        starts: int64 (k,), where each group begins in `order`.
        codes: int64 (k,) for each column, which of its values each group has.
        values: For each column its values, in order; null is "".
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    codes: tuple[NDArray[np.int64], ...]
    values: tuple[list[str], ...]

    @classmethod
    def of(cls, columns: Mapping[str, Any], *names: str) -> Groups:
        """Groups of rows.

        Args:
            columns: Array of numpy or pyarrow by column; {} is not a row.
            names: Columns whose values a group has in common.
        """
        if not columns:
            none = np.empty(0, dtype=np.int64)
            return cls(order=none, starts=none, codes=(none,) * len(names), values=([],) * len(names))
        codes, values = zip(*(_coded(columns[name]) for name in names), strict=True)
        order = np.lexsort(codes[::-1])
        begins = np.ones(len(order), dtype=bool)
        begins[1:] = np.any([code[order][1:] != code[order][:-1] for code in codes], axis=0)
        starts = np.flatnonzero(begins)
        return cls(order=order, starts=starts, codes=tuple(code[order][starts] for code in codes), values=values)

    def keys(self) -> tuple[NDArray[np.object_], ...]:
        """The value of each group, object (k,) for each column."""
        columns = zip(self.values, self.codes, strict=True)
        return tuple(np.array(values, dtype=object)[codes] for values, codes in columns)

    def sums(self, amounts: Any) -> NDArray[np.float64]:
        """The sum of each group, float64 (k,), the same for rows in whatever order; nan where nothing was measured.

        Args:
            amounts: (n,), an amount for each row, nan where it was not measured.
        """
        if not len(self.order):
            return np.empty(0, dtype=np.float64)
        sizes = np.diff(self.starts, append=len(self.order))
        rows = amounts[self.order].astype(np.float64)
        rows = rows[np.lexsort((rows, np.repeat(np.arange(len(sizes)), sizes)))]
        known = ~np.isnan(rows)
        totals = np.add.reduceat(np.where(known, rows, 0.0), self.starts)
        return np.where(np.logical_or.reduceat(known, self.starts), totals, np.nan)


def split(columns: Mapping[str, Any], *names: str) -> dict[tuple[str, ...], Any]:
    """Indices of the rows of each combination of values, in order of the values."""
    groups = Groups.of(columns, *names)
    if not len(groups.starts):
        return {}
    return dict(zip(zip(*groups.keys(), strict=True), np.split(groups.order, groups.starts[1:]), strict=True))


def _coded(column: Any) -> tuple[NDArray[np.int64], list[str]]:
    """Values as numbers in their order; null is ""."""
    # pyarrow is optional and costs 0.2 s; `headworks pipeline show` imports this module, and reads no table.
    from pyarrow import ChunkedArray, array, compute

    plain = column.combine_chunks() if isinstance(column, ChunkedArray) else array(column, "string", from_pandas=True)
    coded = compute.fill_null(plain, "").dictionary_encode()
    values = coded.dictionary.to_pylist()
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.array(sorted(range(len(values)), key=values.__getitem__), dtype=np.int64)] = np.arange(len(values))
    return ranks[coded.indices.to_numpy()], sorted(values)
