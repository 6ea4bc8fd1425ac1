"""Number of nodes for each topology: Tables 2 and 4 of the thesis, and a variant that keeps the minima.

Every function takes the claims by priority and id, and the number of nodes, and returns as many numbers as there are
claims; their sum is at most the number of nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks_priority.claimants import levels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks_priority.claimants import Claimant
    from headworks_priority.options import DpsOptions, Rounding, SpsOptions, SpsV2Options


def rounded(numerator: int, denominator: int, rounding: Rounding) -> int:
    """A quotient of whole numbers as a whole number, exactly; 0 where the denominator is 0.

    Args:
        numerator: Whole number, 0 or more.
        denominator: Whole number, 0 or more.
        rounding: Rounding of a half.
    """
    if not denominator:
        return 0
    whole, rest = divmod(numerator, denominator)
    up = 2 * rest > denominator or (2 * rest == denominator and (rounding == "half-up" or whole % 2 == 1))
    return whole + up


def sps(claims: Sequence[Claimant], nodes: int, options: SpsOptions) -> list[int]:
    """Table 2: each level gets its share of the nodes, each topology its share of the level's.

    With fewer nodes than all minima together, which the table leaves open, the most important have theirs.

    Args:
        claims: Claims of the topologies (sd, sm), by priority and id.
        nodes: Number of nodes of the cluster (C).
        options: Readings of Table 2.
    """
    minima = sum(claim.minimum for claim in claims)
    if nodes <= minima:  # lines 2 to 8 say it for C = the sum of all sm
        return minima_by_priority(claims, nodes)
    desired = sum(claim.desired for claim in claims)  # ST, line 10
    left = min(nodes, desired)  # X, line 11
    total = left if options.total == "min" else nodes
    shares = [0] * len(claims)
    for level in levels(claims):
        wanted = sum(claims[at].desired for at in level)  # SP, line 13
        # PF = min(X, round(C * SP / ST)), line 14
        part = min(left, rounded(total * wanted, desired, options.rounding))
        # Y = PF, line 15; the other reading goes on with X
        budget = left if options.reading == "X" else part
        for at in level:
            # cn = min(Y, round(PF * sd / SP)), line 17; Y = Y - cn, line 19
            shares[at] = min(budget, rounded(part * claims[at].desired, wanted, options.rounding))
            budget -= shares[at]
        # X = X - PF, line 21
        left = budget if options.reading == "X" else left - part
    return shares


def dps(claims: Sequence[Claimant], nodes: int, options: DpsOptions) -> list[int]:
    """Table 4: level by level, each gets what it desires as long as there is any.

    Args:
        claims: Claims of the topologies (sd, sm), by priority and id.
        nodes: Number of nodes of the cluster (C).
        options: Rounding.
    """
    left = min(nodes, sum(claim.desired for claim in claims))  # X, lines 2 and 3
    shares = [0] * len(claims)
    for level in levels(claims):
        wanted = sum(claims[at].desired for at in level)
        part = min(left, wanted)  # P, lines 5 and 6
        for at in level:
            # cn = min(X, round(P * sd / SP)), line 8; X = X - cn, line 10
            shares[at] = min(left, rounded(part * claims[at].desired, wanted, options.rounding))
            left -= shares[at]
    return shares


def sps_v2(claims: Sequence[Claimant], nodes: int, options: SpsV2Options) -> list[int]:
    """Minima first, then what is left.

    Every topology has at least its minimum when the minima fit; no node is idle while somebody desires one; a more
    important topology with the same claim never has fewer.

    Args:
        claims: Claims of the topologies (sd, sm), by priority and id.
        nodes: Number of nodes of the cluster (C).
        options: Sharing of the nodes above the minima.
    """
    floors = [claim.minimum for claim in claims]
    left = nodes - sum(floors)
    if left < 0:
        return minima_by_priority(claims, nodes)
    wanted = [max(claim.desired - claim.minimum, 0) for claim in claims]
    left = min(left, sum(wanted))
    if options.surplus == "strict":
        extra = _in_turn(wanted, left)
    else:
        total = sum(wanted)
        # largest remainder: whole parts first, then one node each to the most important, the largest fraction first
        extra = [left * want // total if total else 0 for want in wanted]
        order = sorted(range(len(claims)), key=lambda at: (claims[at].priority, -_rest(left, wanted[at], total), at))
        rest = left - sum(extra)
        for at in [at for at in order if extra[at] < wanted[at]][:rest]:
            extra[at] += 1
    return [floor + more for floor, more in zip(floors, extra, strict=True)]


def minima_by_priority(claims: Sequence[Claimant], nodes: int) -> list[int]:
    """Each topology its minimum in order of importance; nothing for those for whom it is not there in full.

    Args:
        claims: Claims of the topologies (sd, sm), by priority and id.
        nodes: Number of nodes of the cluster (C).
    """
    shares = []
    for claim in claims:
        shares.append(claim.minimum if claim.minimum <= nodes else 0)
        nodes -= shares[-1]
    return shares


def _in_turn(wanted: Sequence[int], left: int) -> list[int]:
    given = []
    for want in wanted:
        given.append(min(want, left))
        left -= given[-1]
    return given


def _rest(left: int, want: int, total: int) -> int:
    return left * want % total if total else 0
