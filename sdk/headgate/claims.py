"""Printed figures beside recomputed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from headgate.hooks import Point

if TYPE_CHECKING:
    from headgate.hooks import Claim

Standing = Literal["exact", "predicted", "calibrated", "not reproducible", "differs"]


@attrs.frozen(kw_only=True)
class Result:
    """What became of a claim.

    `status` is the claim's basis where our figure is within its tolerance; `not reproducible` where it is known not to
    be, and the note says why; `differs` where we found other than the claim expects, in either direction.
    `ours` is None where the figure cannot be computed.
    """

    id: str
    source: str
    statement: str
    printed: float | str
    ours: float | str | None
    status: Standing
    fitted: int = 0
    note: str = ""
    point: Point | None = None


def reproduce(claim: Claim) -> Result:
    """Recompute one claim."""
    ours = None if claim.verify is None else claim.verify()
    return Result(
        id=claim.id,
        source=claim.source,
        statement=claim.statement,
        printed=claim.printed,
        ours=ours,
        status=_standing(claim, ours),
        fitted=claim.fitted,
        note=claim.note,
        point=claim.point,
    )


def _standing(claim: Claim, ours: float | str | None) -> Standing:
    if ours is None:
        return "not reproducible"
    holds = _within(claim.printed, ours, claim.tolerance)
    if holds != claim.expected:
        return "differs"
    return claim.basis if holds else "not reproducible"


def _within(printed: float | str, ours: float | str, tolerance: float) -> bool:
    if isinstance(printed, str) or isinstance(ours, str):
        return printed == ours
    return abs(ours - printed) <= tolerance * abs(printed) + 1e-9
