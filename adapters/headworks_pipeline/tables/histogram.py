"""Logarithmic histograms: amounts by level, so that the counts of different hours add up to percentiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

STEPS = 32
"""Levels to an octave of CPU, memory and queues: each is 2.2 % wide, its middle within 1.1 % of every amount in it."""
RATE_STEPS = 4
"""Levels to an octave of rates, between which CPU is fitted."""
NOTHING = -100_000
"""The level of zero, which has no logarithm; below the level of every double."""


def middle(levels: ArrayLike) -> NDArray[np.float64]:
    """The amount in the middle of a level of `STEPS`, 0.0 for `NOTHING`."""
    numbers = np.asarray(levels, dtype=np.float64)
    return np.where(numbers == NOTHING, 0.0, np.exp2(np.maximum(numbers, -1000.0 * STEPS) / STEPS))


def quantile(levels: ArrayLike, counts: ArrayLike, share: float) -> float:
    """The amount that a share of all counted ones do not exceed, within half a level.

    Args:
        levels: Levels of `STEPS` to an octave, int (k,), in any order, repeated or not.
        counts: Number of amounts at each, (k,), not all zero.
        share: 0 to 1.
    """
    order = np.argsort(np.asarray(levels), kind="stable")
    upto = np.cumsum(np.asarray(counts)[order])
    # 0.07 * 100 is 7.000000000000001, which must not ask for the eighth amount.
    at = int(np.searchsorted(upto, share * upto[-1] - 1e-9))
    return float(middle(np.asarray(levels)[order][min(at, len(upto) - 1)]))
