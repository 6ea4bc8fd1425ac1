"""Medians of few repetitions, and the 95 % intervals in which they lie."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

from headworks_lab.evidence.model import Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

OUTSIDE = 0.025
"""Chance that the true median is below the interval, and that it is above."""
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}
"""Quantile of Student's distribution at 97.5 % by degrees of freedom; with six values or more none is needed."""


def interval(values: Sequence[float], *, amounts: bool = True) -> Interval:
    """The median of independent repetitions, and its 95 % interval.

    Of six values or more the interval is between two of them, whatever their distribution: so many are below the median
    as heads in so many throws. Of fewer no two are far enough apart, and it is Student's, around the mean,
    without what is below 0 where no value is and values are amounts.

    Args:
        values: One of each repetition.
        amounts: Whether a value below 0 makes no sense; it does of a difference.

    Raises:
        ValueError: There is none.
    """
    if not values:
        raise ValueError("there is no median of nothing")
    ordered, count = sorted(values), len(values)
    middle = statistics.median(ordered)
    if count == 1:
        return Interval(middle)
    if rank := _rank(count):
        return Interval(middle, ordered[rank - 1], ordered[count - rank])
    wide = STUDENT[count - 1] * statistics.stdev(ordered) / math.sqrt(count)
    low, high = statistics.fmean(ordered) - wide, statistics.fmean(ordered) + wide
    least = 0.0 if amounts and ordered[0] >= 0 else -math.inf
    return Interval(middle, max(min(low, middle), least), max(high, middle))


def _rank(count: int) -> int:
    """The largest k for which the k-th smallest value is hardly ever above the median; 0 if there is none."""
    rank, below = 0, 0.0
    while (below := below + math.comb(count, rank) / 2**count) <= OUTSIDE:
        rank += 1
    return rank
