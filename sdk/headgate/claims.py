"""Printed figures beside recomputed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from headgate.hooks import Claim


@attrs.frozen(kw_only=True)
class Result:
    """What became of a claim.

    `status` is `reproduced` (within the claim's tolerance), `known` (it does not, and the note says why) or
    `differs`: found other than the claim expects, in either direction.
    """

    id: str
    source: str
    statement: str
    printed: float | str
    ours: float | str
    status: Literal["reproduced", "known", "differs"]
    note: str = ""


def reproduce(claim: Claim) -> Result:
    """Recompute one claim."""
    ours = claim.verify()
    holds = _within(claim.printed, ours, claim.tolerance)
    if holds != claim.expected:
        status: Literal["reproduced", "known", "differs"] = "differs"
    else:
        status = "reproduced" if holds else "known"
    return Result(
        id=claim.id,
        source=claim.source,
        statement=claim.statement,
        printed=claim.printed,
        ours=ours,
        status=status,
        note=claim.note,
    )


def _within(printed: float | str, ours: float | str, tolerance: float) -> bool:
    if isinstance(printed, str) or isinstance(ours, str):
        return printed == ours
    return abs(ours - printed) <= tolerance * abs(printed) + 1e-9
