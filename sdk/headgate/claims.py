"""Printed figures beside recomputed ones."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, get_args

import attrs

from headgate.evidence_spec import Point
from headgate.figures import quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from headgate.evidence_spec import Claim
    from headgate.improvements import Improved

Standing = Literal["exact", "predicted", "calibrated", "not reproducible", "differs"]
STANDINGS: tuple[Standing, ...] = get_args(Standing)


@attrs.frozen(kw_only=True)
class Result:
    """What became of a claim.

    `status` is the claim's basis where our figure is within its tolerance; `not reproducible` where it is known not to
    be, and the note says why; `differs` where we found other than the claim expects, in either direction.
    `ours` is None where the figure cannot be computed. `plugin` is who claims it.
    """

    plugin: str = ""
    id: str
    source: str
    statement: str
    printed: float | str
    ours: float | str | None
    status: Standing
    fitted: int = 0
    note: str = ""
    point: Point | None = None

    @property
    def off(self) -> float | None:
        """Relative distance of our figure from the printed one, None where they are not both numbers."""
        if isinstance(self.printed, str) or isinstance(self.ours, str) or self.ours is None or not self.printed:
            return None
        return self.ours / self.printed - 1


def reproduce(claim: Claim, plugin: str = "") -> Result:
    """Recompute one claim; a computation that breaks is a figure that differs, and the note says how."""
    ours: float | str | None = None
    note = claim.note
    try:
        ours = None if claim.verify is None else claim.verify()
        status = _standing(claim, ours)
    except Exception as error:  # noqa: BLE001 - a plugin's computation may raise anything
        status, note = "differs", f"could not be computed: {type(error).__name__}: {error}"
    return Result(
        plugin=plugin,
        id=claim.id,
        source=claim.source,
        statement=claim.statement,
        printed=claim.printed,
        ours=ours,
        status=status,
        fitted=claim.fitted,
        note=note,
        point=claim.point,
    )


def count(results: Iterable[Result]) -> dict[Standing, int]:
    """How many figures stand how, in the order of `STANDINGS`."""
    found = Counter(result.status for result in results)
    return {status: found[status] for status in STANDINGS}


def summary(results: Iterable[Result]) -> str:
    """The counts as one line."""
    counts = count(results)
    parts = [f"{number} {status}" for status, number in counts.items() if number or status == "differs"]
    return f"{sum(counts.values())} figures: {', '.join(parts)}"


def number_notes(results: Sequence[Result | Improved]) -> dict[str, int]:
    """A number for each note, in order of appearance; equal notes share one."""
    notes: dict[str, int] = {}
    for result in results:
        if result.note:
            notes.setdefault(result.note, len(notes) + 1)
    return notes


def standing(result: Result, notes: Mapping[str, int]) -> str:
    """How a figure stands, with the number of its note."""
    status = f"calibrated ({result.fitted})" if result.status == "calibrated" else result.status
    return marked(status, result.note, notes)


def marked(status: str, note: str, notes: Mapping[str, int]) -> str:
    """A status with the number of its note; one that must not be, in capitals."""
    text = status.upper() if status == "differs" else status
    return f"{text} [{notes[note]}]" if note else text


def amount(figure: float | str | None) -> str:
    """A printed figure or ours."""
    return figure if isinstance(figure, str) else quantity(figure, 5)


def distance(result: Result) -> str:
    """How far ours is from the printed figure, as a percentage; empty if not at all."""
    off = result.off
    return "" if off is None or abs(off) < 5e-5 else f"{off:+.1%}"


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
