"""Combination of columns, one of each component, by meeting in the middle."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks_exact.columns import SLACK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks_exact.columns import Columns
    from headworks_exact.solver import Budget

SUMS = 1_000_000
"""Combinations of half of the components, at most."""
LOOKS = 50_000_000
"""Pairs of them that are compared, at most."""
SUMMED, LOOKED = 1e-7, 1e-8
"""Deterministic seconds that one of either costs."""


@attrs.frozen(eq=False, kw_only=True)
class HalfSums:
    """Combinations of the columns of half of the components.

    Attributes:
        load: float64 (s, m), percent of each machine.
        of: int64 (s, c), the column of each of c components.
    """

    load: NDArray[np.float64]
    of: NDArray[np.int64]


def combine(
    columns: Sequence[Columns], factor: float, free: NDArray[np.float64], duals: NDArray[np.float64], budget: Budget
) -> tuple[bool, NDArray[np.int64] | None]:
    """Search every combination of columns for one that sustains the factor.

    Components are halved, and the combinations of either half are listed. The duals bound the cost of a pair above the
    least, so that only a range of loads of one machine is compared for each.

    Args:
        columns: Of each component, those that `by_reduced_cost` left.
        factor: What the stated rates are multiplied by.
        free: Percent of each machine, shape (m,).
        duals: Dual price of a percent of each, shape (m,).
        budget: What the work is counted against.

    Returns:
        Whether the search was complete, and the counts found, shape (K, m), None if there are none.
    """
    halves = _halves([len(each.counts) for each in columns])
    gap = float(duals @ free) - sum(float((each.load(factor) @ duals).min()) for each in columns)
    sums = []
    for half in halves:
        made = _half_sums([columns[row].load(factor) for row in half], free, duals, gap, budget)
        if made is None:
            return False, None
        sums.append(made)
    few = int(len(sums[1].load) < len(sums[0].load))
    complete, pair = _match(sums[few], sums[1 - few], free, duals, budget)
    if pair is None:
        return complete, None
    taken = (*sums[few].of[pair[0]].tolist(), *sums[1 - few].of[pair[1]].tolist())
    way = dict(zip((*halves[few], *halves[1 - few]), taken, strict=True))
    return True, np.array([each.counts[way[row]] for row, each in enumerate(columns)], dtype=np.int64)


def _halves(sizes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Components in two sets with about as many combinations each."""
    halves: tuple[list[int], list[int]] = ([], [])
    for row in sorted(range(len(sizes)), key=lambda row: -sizes[row]):
        min(halves, key=lambda half: math.prod(sizes[each] for each in half)).append(row)
    return halves


def _half_sums(
    loads: Sequence[NDArray[np.float64]],
    free: NDArray[np.float64],
    duals: NDArray[np.float64],
    gap: float,
    budget: Budget,
) -> HalfSums | None:
    """Combinations of one half whose reduced cost is within the gap and that overload nothing; None if too many."""
    found, of, least = np.zeros((1, len(free))), np.zeros((1, 0), dtype=np.int64), 0.0
    for load in loads:
        if len(found) * len(load) > SUMS:
            return None
        budget.take(len(found) * len(load) * SUMMED)
        least += float((load @ duals).min())
        both = (found[:, None] + load).reshape(-1, len(free))
        kept = np.flatnonzero((both @ duals <= least + gap + SLACK) & (both <= free * (1 + SLACK)).all(axis=1))
        one, other = np.divmod(kept, len(load))
        found, of = both[kept], np.hstack([of[one], other[:, None]])
    return HalfSums(load=found, of=of)


def _match(
    few: HalfSums, many: HalfSums, free: NDArray[np.float64], duals: NDArray[np.float64], budget: Budget
) -> tuple[bool, tuple[int, int] | None]:
    """Find the first combination of either half that fit together."""
    if not len(few.load) or not len(many.load):
        return True, None
    node = int((duals * free).argmax())
    order = np.argsort(many.load[:, node], kind="stable")
    load = many.load[order]
    room = free * (1 + SLACK / 100) - few.load
    dearest = room @ duals - (load @ duals).min() + SLACK
    # On the machine worth most: load <= room, and >= what keeps the whole cost within the gap; sorted, that is a range.
    first = np.searchsorted(load[:, node], room[:, node] - dearest / duals[node])
    last = np.searchsorted(load[:, node], room[:, node], side="right")
    looks = int((last - first).clip(0).sum())
    if looks > LOOKS:
        return False, None
    budget.take(looks * LOOKED)
    for number in np.flatnonzero(last > first).tolist():
        start, stop = int(first[number]), int(last[number])
        fits = np.flatnonzero((load[start:stop] <= room[number]).all(axis=1))
        if len(fits):
            return True, (number, int(order[start + int(fits[0])]))
    return True, None
