"""How much a placement gains over Spark's own in a run of the demo: a factor, its interval, and a sentence."""

from __future__ import annotations

import functools
import math
import statistics
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headworks_spark.demo.phases import MeasuredBatch
    from headworks_spark.demo.run import SparkDemoResult

OUTSIDE = 0.025
"""Chance that the true factor is below the interval, and that it is above."""


@attrs.frozen(kw_only=True)
class Gain:
    """How many times as much of a figure a placement has as Spark's own.

    Attributes:
        placement: Its label. `figure`: name of the figure, as a sentence has it.
        more: Whether more of it is better.
        times: Median of the ratios of each batch under the one to each under the other (Hodges and Lehmann, 1963).
        low, high: The 95 % interval of this factor; no distribution of batches is assumed.
        batches: Number of batches of the placement that has fewer.
    """

    placement: str
    figure: str
    more: bool
    times: float
    low: float
    high: float
    batches: int

    def __str__(self) -> str:
        """The factor, its interval, and whether it is a win, in a sentence."""
        won, lost = (self.low > 1, self.high < 1) if self.more else (self.high < 1, self.low > 1)
        verdict = "" if won else "a loss, " if lost else "no win, "
        sure = f"{self.low:.2f} to {self.high:.2f} with 95 % confidence"
        times = f"{verdict}{self.times:.2f} times the {self.figure} of Spark's own placement ({sure})"
        return f"{self.placement}: {times}, same query, no restart."


def gain(found: SparkDemoResult) -> Gain | None:
    """Gain of the last placement, None if there is none or too few batches.

    Which placement is compared does not depend on what was measured. Figures are rows a second where nodes are apart,
    else bytes between nodes a row.
    """
    alone, *others = found.phases
    if not others:
        return None
    last = others[-1]
    figure, more, value = _figure(apart=found.apart)
    ratio = ratio_of([value(each) for each in last.batches], [value(each) for each in alone.batches])
    if ratio is None:
        return None
    times, low, high = ratio
    count = min(len(last.batches), len(alone.batches))
    return Gain(placement=last.label, figure=figure, more=more, times=times, low=low, high=high, batches=count)


def _figure(*, apart: bool) -> tuple[str, bool, Callable[[MeasuredBatch], float]]:
    if apart:
        return "rows a second", True, lambda batch: batch.rows / (batch.end - batch.begin)
    return "bytes between nodes", False, lambda batch: batch.remote / max(batch.rows, 1)


def ratio_of(second: Sequence[float], first: Sequence[float]) -> tuple[float, float, float] | None:
    """How many times `first` the values of `second` are, with the 95 % interval of two independent samples.

    The interval is between two of all ratios, by the distribution of Mann and Whitney's U.

    Returns:
        Factor, low and high; None if values are too few, or one of `first` is not above 0.
    """
    rank = _rank(len(second), len(first))
    if not rank or min(first) <= 0:
        return None
    ratios = sorted(one / other for one in second for other in first)
    return statistics.median(ratios), ratios[rank - 1], ratios[-rank]


def _rank(one: int, other: int) -> int:
    """The largest k for which the k-th smallest ratio is hardly ever above the true factor; 0 if there is none."""
    rank, below, all_ways = 0, 0, math.comb(one + other, one)
    while (below := below + _ways(one, other, rank)) <= OUTSIDE * all_ways:
        rank += 1
    return rank


@functools.cache
def _ways(one: int, other: int, pairs: int) -> int:
    """Orders of two samples in which so many pairs have the value of the first one below the other's."""
    if pairs < 0 or not (one and other):
        return int(pairs == 0)
    return _ways(one - 1, other, pairs - other) + _ways(one, other - 1, pairs)
