"""Topologies that starve: since when, what it would take, and aging that bounds it; no I/O, no clock.

Times are whole milliseconds since 1970 in UTC.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@attrs.frozen(kw_only=True)
class Seen:
    """A topology as the last round saw it.

    Attributes:
        name: Name of the topology.
        nodes: Nodes on which it has tasks; it starves with fewer than `minimum`.
        minimum: Nodes that it must have, at least 1.
        starving: Time since which it starves; None if it does not.
        boosted: Time since which it comes before the others, by aging; None if it does not.
        served: Time since which it has its minimum while it comes before the others.
        remedy: What it would take that it does not starve, in words.
    """

    name: str
    nodes: int
    minimum: int = 1
    starving: int | None = None
    boosted: int | None = None
    served: int | None = None
    remedy: str = ""


@attrs.frozen(kw_only=True)
class Claim:
    """Claim of a topology on nodes: its level, the nodes that it desires, must have, and has."""

    name: str
    level: int
    desired: int
    minimum: int
    nodes: int

    @property
    def least(self) -> int:
        """Nodes below which it starves: with none it does, whatever it says."""
        return max(self.minimum, 1)

    @property
    def starves(self) -> bool:
        """Whether it has fewer nodes than it must have. An engine may keep its workers, as Storm does."""
        return self.nodes < self.least


def look(before: Seen | None, claim: Claim, *, aging: int | None, now: int, remedy: str = "") -> Seen:
    """A topology after one more round.

    With aging, a topology that starved for `aging` comes before all others, until it has had its minimum for as long.

    Args:
        before: As it was seen in the round before; None in the first one.
        claim: As it is seen now.
        aging: Milliseconds that it may starve; None bounds nothing.
        now: The time.
        remedy: What it would take.
    """
    old = before or Seen(name=claim.name, nodes=claim.nodes)
    starving = (now if old.starving is None else old.starving) if claim.starves else None
    boosted, served = old.boosted, None
    if boosted is None and aging is not None and starving is not None and now - starving >= aging:
        boosted = now
    if boosted is not None and not claim.starves:
        served = now if old.served is None else old.served
    if boosted is not None and (aging is None or (served is not None and now - served >= aging)):
        boosted = served = None
    return Seen(
        name=claim.name,
        nodes=claim.nodes,
        minimum=claim.least,
        starving=starving,
        boosted=boosted,
        served=served,
        remedy=remedy if starving is not None else "",
    )


def levels(claims: Sequence[Claim], seen: Mapping[str, Seen]) -> dict[str, int]:
    """Level of each topology, by name: those that aging prefers first, one a level, the longest preferred before.

    Args:
        claims: Claims of all topologies.
        seen: As they were seen.
    """
    first = sorted(
        (each.boosted, each.name) for claim in claims if (each := seen.get(claim.name)) and each.boosted is not None
    )
    own = {name: at for at, (_, name) in enumerate(first)}
    # A priority is no negative number, so the others make room.
    return {claim.name: own.get(claim.name, claim.level + len(first)) for claim in claims}


def remedies(claims: Sequence[Claim], nodes: int) -> dict[str, str]:
    """Changes by which a topology that starves would have its minimum, in words, where nodes go by priority (DPS)."""
    wishes = _Wishes(claims)
    return {claim.name: _remedy(claim, wishes, nodes) for claim in claims if claim.starves}


class _Wishes:
    """Nodes that topologies desire, by level: summed up once, for there may be thousands."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        found = sorted((each.level, each.desired) for each in claims)
        self._levels = [level for level, _ in found]
        self._sums = [0, *accumulate(desired for _, desired in found)]
        self._before = sorted({max(level - 1, 0) for level in self._levels})

    def up_to(self, level: int) -> int:
        """Nodes that all topologies of a level, or a more important one, desire."""
        return self._sums[bisect_right(self._levels, level)]

    def fitting(self, level: int, most: int) -> int | None:
        """The least important level before this one up to which no more nodes than `most` are desired."""
        end = bisect_left(self._before, level)
        at = bisect_right(self._before, most, hi=end, key=self.up_to)
        return self._before[at - 1] if at else None


def _remedy(claim: Claim, wishes: _Wishes, nodes: int) -> str:
    need = claim.least
    missing = wishes.up_to(claim.level) - claim.desired + need - nodes
    if missing <= 0:
        return f"nothing: {nodes} nodes are enough for it and all that are as important"
    level = wishes.fitting(claim.level, nodes - need)
    return f"{missing} more nodes" + ("" if level is None else f", or priority {level}")
