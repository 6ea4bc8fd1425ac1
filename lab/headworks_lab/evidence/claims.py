"""Printed figures beside recomputed ones."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import attrs

from headworks.interrupts import is_signal
from headworks.plugins.guard import failure, keep_traceback
from headworks.report.format import quantity
from headworks_lab.evidence.model import Interval, Point

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from headworks_lab.evidence.model import Claim
    from headworks_lab.evidence.variants import Improved

ClaimStatus = Literal[
    "exact",
    "predicted",
    "calibrated",
    "measured",
    "follows",
    "by the variant",
    "worked by hand",
    "not reproducible",
    "differs",
]
STATUSES: tuple[ClaimStatus, ...] = get_args(ClaimStatus)
PROSE = {"follows": "follow from others", "by the variant": "by a variant"}
"""Statuses that read otherwise in a sentence."""
SELDOM = ("measured", "by the variant")
"""Statuses that have a column only where some figure has them."""
ROUNDING = 1e-9
"""Absolute distance at which two figures are one whatever the tolerance: sums end in other last bits elsewhere."""


@attrs.frozen(kw_only=True)
class Result:
    """Result of recomputing a claim.

    Attributes:
        plugin: Who claims it.
        ours: What this code finds, None where it cannot be computed; of repetitions the median.
        low: Lower end of its 95 % interval, None where there is none; `high` likewise.
        status: The claim's basis where our figure is within its tolerance; `follows` where it then follows from other
            claims; `not reproducible` where it is known not to be, and the note says why; `differs` where we found
            other than the claim expects, in either direction.
    """

    plugin: str = ""
    id: str
    source: str
    statement: str
    printed: float | str | None = None
    by_hand: float | str | None = None
    ours: float | str | None
    low: float | None = None
    high: float | None = None
    tolerance: float = 0.0
    less: bool = False
    status: ClaimStatus
    fitted: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    family: str = ""
    note: str = ""
    point: Point | None = None

    @property
    def figure(self) -> float | str | None:
        """The printed figure, or the one worked by hand."""
        return self.by_hand if self.printed is None else self.printed

    @property
    def off(self) -> float | None:
        """Relative distance of our figure from the claimed one, None where that says nothing."""
        figure, ours = self.figure, self.ours
        if not isinstance(figure, float | int) or not isinstance(ours, float | int) or not figure or self.less:
            return None
        return ours / figure - 1


def reproduce(claim: Claim, plugin: str = "") -> Result:
    """Recompute one claim; a computation that breaks is a figure that differs, and the note says how.

    Args:
        claim: The claim.
        plugin: Who claims it.
    """
    found: float | str | Interval | None = None
    ours: float | str | None = None
    note = "; ".join(filter(None, (_follows(claim), claim.variant and f"by {claim.variant}", claim.note)))
    try:
        found = None if claim.verify is None else claim.verify()
        ours = _figure(found)
        status = _status(claim, ours)
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        if is_signal(error):
            raise
        keep_traceback(plugin, claim.id, error)
        status, note = "differs", f"could not be computed: {failure(error, Path(__file__).parent)}"
    return Result(
        plugin=plugin,
        id=claim.id,
        source=claim.source,
        statement=claim.statement,
        printed=claim.printed,
        by_hand=claim.by_hand,
        ours=ours,
        low=found.low if isinstance(found, Interval) else None,
        high=found.high if isinstance(found, Interval) else None,
        tolerance=claim.tolerance,
        less=claim.less,
        status=status,
        fitted=claim.fitted,
        follows=claim.follows,
        family=claim.family,
        note=note,
        point=claim.point,
    )


def _follows(claim: Claim) -> str:
    return f"follows from {', '.join(claim.follows)}" if claim.follows else ""


def counted_once(results: Sequence[Result]) -> list[Result]:
    """The results of a plugin; where one figure of ours stands for several printed ones, the note says their spread."""
    groups: dict[object, list[Result]] = {}
    for each in results:
        groups.setdefault(_alike(each), []).append(each)
    return [_with_spread(each, groups[_alike(each)]) for each in results]


def _with_spread(result: Result, alike: Sequence[Result]) -> Result:
    printed = [each.printed for each in alike if isinstance(each.printed, float | int)]
    if len(printed) < 2 or result.status == "not reproducible":
        return result
    spread = f"one figure of ours for {len(printed)} printed ones, {amount(min(printed))} to {amount(max(printed))}"
    return attrs.evolve(result, note="; ".join(filter(None, (result.note, f"{spread}: it counts once"))))


def _alike(result: Result) -> object:
    figure = result.figure if result.status == "not reproducible" else result.ours
    return (result.family, result.status, figure) if result.family else result.id


def distinct(results: Iterable[Result]) -> list[Result]:
    """The first of each figure: claims of a family are one where ours is the same, or the printed one that we miss."""
    found: dict[object, Result] = {}
    for each in results:
        found.setdefault((each.plugin, _alike(each)), each)
    return list(found.values())


def count(results: Iterable[Result]) -> dict[ClaimStatus, int]:
    """Number of distinct figures of each status, in the order of `STATUSES`."""
    found = [result.status for result in distinct(results)]
    return {status: found.count(status) for status in STATUSES}


def fitted(results: Iterable[Result]) -> int:
    """Number of choices, of numbers or readings, behind all calibrated figures."""
    return len({(each.plugin, name) for each in results if each.status == "calibrated" for name in each.fitted})


def summary(results: Sequence[Result]) -> str:
    """The counts as one line: distinct printed figures first, what no paper prints apart."""
    counts = count(results)
    by_hand = sum(each.printed is None for each in distinct(results))
    parts = [
        f"{number} {PROSE.get(status, status)}{_numbers(fitted(results)) if status == 'calibrated' else ''}"
        for status, number in counts.items()
        if status != "worked by hand" and (number or status == "differs")
    ]
    printed = sum(counts.values()) - by_hand
    apart = f"; {by_hand} worked by hand" if by_hand else ""
    return f"{printed} printed figures in {_plural(len(results), 'claim')}: {', '.join(parts)}{apart}"


def _numbers(chosen: int) -> str:
    return f" (by {_plural(chosen, 'choice')})"


def _plural(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def number_notes(results: Sequence[Result | Improved]) -> dict[str, int]:
    """A number for each note, in order of appearance; equal notes share one."""
    notes: dict[str, int] = {}
    for result in results:
        if result.note:
            notes.setdefault(result.note, len(notes) + 1)
    return notes


def status_text(result: Result, notes: Mapping[str, int]) -> str:
    """The status of a figure, with the count of what was chosen for it and the number of its note.

    Args:
        result: The recomputed claim.
        notes: Number of each note.
    """
    status = f"calibrated ({len(result.fitted)})" if result.status == "calibrated" else result.status
    return marked(status, result.note, notes)


def marked(status: str, note: str, notes: Mapping[str, int]) -> str:
    """A status with the number of its note; one that must not be, in capitals.

    Args:
        status: The status.
        note: Its note, "" for none.
        notes: Number of each note.
    """
    text = status.upper() if status == "differs" else status
    return f"{text} [{notes[note]}]" if note else text


FIGURES = ("ours", "off", "within")
"""Headings of what `figures` gives after the claimed figure."""


def figures(result: Result) -> tuple[str, ...]:
    """The cells of the claimed figure, of ours with its interval, of how far it is off, and of the tolerance."""
    ours = "" if result.ours is None else amount(result.ours)
    if result.low is not None and result.high is not None:
        ours, low, high = (amount(each, digits=3) for each in (result.ours, result.low, result.high))
        ours = f"{ours}\n({low} to {high})"
    return amount(result.figure, less=result.less), ours, distance(result), allowed(result)


def apart(plugin: str, results: Sequence[Result]) -> Iterator[tuple[str, str, list[Result]]]:
    """Title, heading of the claimed figure and rows of each table of a plugin: printed figures, then those by hand.

    Args:
        plugin: Name of the plugin.
        results: The recomputed claims.
    """
    printed = [each for each in results if each.printed is not None]
    by_hand = [each for each in results if each.printed is None]
    if printed:
        yield plugin, "printed", printed
    if by_hand:
        yield f"{plugin}: worked by hand, no claim on a paper's results", "by hand", by_hand


def counts(found: Mapping[str, Sequence[Result]]) -> tuple[tuple[str, ...], tuple[tuple[object, ...], ...]]:
    """Columns, and a row a plugin: distinct figures, then those of each status; of some only if there are any.

    Args:
        found: Recomputed figures by plugin.
    """
    each = {plugin: count(results) for plugin, results in found.items()}
    shown = [name for name in STATUSES if name not in SELDOM or any(counted[name] for counted in each.values())]
    rows = ((name, sum(own.values()), *(own[status] for status in shown)) for name, own in each.items())
    return ("plugin", "figures", *shown), tuple(rows)


def amount(figure: float | str | None, *, less: bool = False, digits: int = 5) -> str:
    """A claimed figure or ours; `less` where the paper prints that it is less than that.

    Args:
        figure: The figure.
        less: Whether the paper prints that it is less than that.
        digits: Digits that count.
    """
    text = figure if isinstance(figure, str) else quantity(figure, digits)
    return f"< {text}" if less else text


def distance(result: Result) -> str:
    """Distance of our figure from the claimed one, as a percentage; empty if they are equal."""
    off = result.off
    return "" if off is None or abs(off) < 5e-5 else f"{off:+.1%}"


def allowed(result: Result) -> str:
    """The tolerance, as a percentage; empty where our figure has to be the claimed one, or is not computed."""
    return "" if not result.tolerance or result.ours is None else f"{100 * result.tolerance:g}%"


def _figure(found: float | str | Interval | None) -> float | str | None:
    if isinstance(found, Interval):
        return _figure(found.median)
    if isinstance(found, float) and not math.isfinite(found):
        raise ValueError(f"{found} is not a figure")
    return found


def _status(claim: Claim, ours: float | str | None) -> ClaimStatus:
    if ours is None:
        return "not reproducible"
    if claim.measured:
        return claim.basis
    holds = _holds(claim, ours)
    if holds != claim.expected:
        return "differs"
    if not holds:
        return "not reproducible"
    return "follows" if claim.follows else claim.basis


def _holds(claim: Claim, ours: float | str) -> bool:
    figure = claim.figure
    if isinstance(figure, str) or isinstance(ours, str):
        return figure == ours
    if claim.less:
        return ours < figure
    return abs(ours - figure) <= claim.tolerance * abs(figure) + ROUNDING
