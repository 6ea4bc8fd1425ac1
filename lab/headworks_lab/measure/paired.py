"""Two series of one figure, paired by seed: how much the second is of the first, and how sure that is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs

from headworks_lab.evidence.model import Interval
from headworks_lab.measure.interval import interval

if TYPE_CHECKING:
    from collections.abc import Mapping


@attrs.frozen(kw_only=True)
class Effect:
    """The effect of the second of two on a figure, over the seeds that both have.

    Attributes:
        pairs: Number of seeds.
        difference: Median of second minus first of each pair, with its 95 % interval.
        times: Median of second over first of each pair, with its 95 % interval; None if a first is not above 0.
        more: Pairs in which the second is more.
        less: Pairs in which it is less.
        chance: Chance of a split so uneven or more if both were equal (two-sided sign test; ties are left out).
    """

    pairs: int
    difference: Interval
    times: Interval | None
    more: int
    less: int
    chance: float


def effect(first: Mapping[int, float], second: Mapping[int, float]) -> Effect | None:
    """Compare two series; None if no seed is in both.

    Args:
        first: The figure of each seed.
        second: The same of the other.
    """
    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        return None
    changes = [second[seed] - first[seed] for seed in seeds]
    more, less = sum(each > 0 for each in changes), sum(each < 0 for each in changes)
    comparable = all(first[seed] > 0 for seed in seeds)
    return Effect(
        pairs=len(seeds),
        difference=interval(changes, amounts=False),
        times=interval([second[seed] / first[seed] for seed in seeds]) if comparable else None,
        more=more,
        less=less,
        chance=_sign_test(more, less),
    )


def _sign_test(more: int, less: int) -> float:
    """Chance that so many throws of a coin or more show the same side."""
    count, fewer = more + less, min(more, less)
    uneven = sum(math.comb(count, each) for each in range(fewer + 1))
    return min(1.0, 2.0 * uneven / float(2**count))
