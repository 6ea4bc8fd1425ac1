"""Ways put together, one of each component, by looking at every combination that the prices leave."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headgate_exact.ways import SLACK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headgate_exact.solver import Budget
    from headgate_exact.ways import Ways

SUMS = 1_000_000
"""Combinations of half of the components that are made, at most."""
LOOKS = 50_000_000
"""Pairs of them that are looked at, at most."""
SUMMED, LOOKED = 1e-7, 1e-8
"""Deterministic seconds that one of either costs."""


@attrs.frozen(eq=False, kw_only=True)
class Sums:
    """Combinations of the ways of some components.

    Attributes:
        load: float64 (s, m), percent of each machine.
        of: int64 (s, c), the way of each of c components.
    """

    load: NDArray[np.float64]
    of: NDArray[np.int64]


def combined(
    ways: Sequence[Ways], factor: float, free: NDArray[np.float64], price: NDArray[np.float64], budget: Budget
) -> tuple[bool, NDArray[np.int64] | None]:
    """Whether every combination could be looked at, and the counts of one that sustains the factor, None if none does.

    Components are halved, and the combinations of either half are made. What a pair of them may cost above the least is
    known from the prices, so that only a range of loads of one machine is looked at for each.

    Args:
        ways: Of each component, those that `surviving` left.
        factor: What the stated rates are multiplied by.
        free: Percent of each machine, shape (m,).
        price: What a percent of each is worth, shape (m,).
        budget: What the work is counted against.
    """
    halves = _halves([len(each.counts) for each in ways])
    spare = float(price @ free) - sum(float((each.load(factor) @ price).min()) for each in ways)
    sums = []
    for half in halves:
        made = _sums([ways[row].load(factor) for row in half], free, price, spare, budget)
        if made is None:
            return False, None
        sums.append(made)
    few = int(len(sums[1].load) < len(sums[0].load))
    told, pair = _pair(sums[few], sums[1 - few], free, price, budget)
    if pair is None:
        return told, None
    taken = (*sums[few].of[pair[0]].tolist(), *sums[1 - few].of[pair[1]].tolist())
    way = dict(zip((*halves[few], *halves[1 - few]), taken, strict=True))
    return True, np.array([each.counts[way[row]] for row, each in enumerate(ways)], dtype=np.int64)


def _halves(sizes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Components in two sets with about as many combinations each."""
    halves: tuple[list[int], list[int]] = ([], [])
    for row in sorted(range(len(sizes)), key=lambda row: -sizes[row]):
        min(halves, key=lambda half: math.prod(sizes[each] for each in half)).append(row)
    return halves


def _sums(
    loads: Sequence[NDArray[np.float64]],
    free: NDArray[np.float64],
    price: NDArray[np.float64],
    spare: float,
    budget: Budget,
) -> Sums | None:
    """The combinations that are not too dear and overload nothing; None if there are too many."""
    found, of, least = np.zeros((1, len(free))), np.zeros((1, 0), dtype=np.int64), 0.0
    for load in loads:
        if len(found) * len(load) > SUMS:
            return None
        budget.take(len(found) * len(load) * SUMMED)
        least += float((load @ price).min())
        both = (found[:, None] + load).reshape(-1, len(free))
        kept = np.flatnonzero((both @ price <= least + spare + SLACK) & (both <= free * (1 + SLACK)).all(axis=1))
        one, other = np.divmod(kept, len(load))
        found, of = both[kept], np.hstack([of[one], other[:, None]])
    return Sums(load=found, of=of)


def _pair(
    few: Sums, many: Sums, free: NDArray[np.float64], price: NDArray[np.float64], budget: Budget
) -> tuple[bool, tuple[int, int] | None]:
    """The first two combinations that fit together."""
    if not len(few.load) or not len(many.load):
        return True, None
    node = int((price * free).argmax())
    order = np.argsort(many.load[:, node], kind="stable")
    load = many.load[order]
    room = free * (1 + SLACK / 100) - few.load
    dearest = room @ price - (load @ price).min() + SLACK
    first = np.searchsorted(load[:, node], room[:, node] - dearest / price[node])
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
