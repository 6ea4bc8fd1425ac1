"""Drift of profiles: change points, from which CPU is not what the profile of the hours before predicts.

`follow` is one step of a fold over hours: what is known after an hour depends on what was known before it, and on it.
"""

from __future__ import annotations

import attrs
import numpy as np

from headworks_pipeline.learning.fit import Cells, Line, fit, joined

TOLERANCE = 0.15
"""Part by which CPU may differ from the prediction: if larger, a slow drift bends the profile instead of being told; if
smaller, noise is told as drift."""
HOURS = 2
"""Hours in a row, in the same direction, that make a change point: if larger, it is told later; if smaller, one odd
hour throws a good profile away."""
ENOUGH = 30
"""Windows that an hour needs to be compared: if larger, quiet applications are never judged; if smaller, noise
decides."""
GROWN = 8
"""The line that hours are compared with is fitted again when the hours are more by one of so many: if larger, learning
costs more; if smaller, hours are compared with an old line."""


@attrs.frozen(kw_only=True)
class ChangePoint:
    """The hour from which on CPU was `ratio` times the prediction."""

    hour: str
    ratio: float


@attrs.frozen(kw_only=True, eq=False)
class Part:
    """Hours of one block, added up.

    Attributes:
        block: Number of the block.
        since: First of the hours.
        hours: Number of hours.
        cells: Their cells.
    """

    block: int
    since: str
    hours: int = 1
    cells: Cells


@attrs.frozen(kw_only=True, eq=False)
class Track:
    """Knowledge of one group, measured in one way, after some hours.

    Attributes:
        parts: Hours that the profile rests on, a part for each block, oldest first.
        line: The line that the next hour is compared with.
        fitted: Hours that it was fitted to.
        fresh: Hours that came to them since.
        doubt: Hours that contradict it, and those after them that say nothing; None if there are none.
        doubts: Number of those that contradict.
        above: Whether they took more CPU than predicted.
        changes: Change points, oldest first.
    """

    parts: tuple[Part, ...]
    line: Line
    fitted: int = 1
    fresh: int = 0
    doubt: Part | None = None
    doubts: int = 0
    above: bool = False
    changes: tuple[ChangePoint, ...] = ()

    @property
    def all(self) -> tuple[Part, ...]:
        """All hours since the last change point, in doubt or not."""
        return self.parts if self.doubt is None else (*self.parts, self.doubt)


def follow(track: Track | None, hour: Part) -> Track:
    """Knowledge after one more hour.

    Args:
        track: Knowledge before it; None before the first hour.
        hour: The hour.
    """
    if track is None:
        return Track(parts=(hour,), line=fit(hour.cells))
    if hour.cells.n.sum() < ENOUGH:
        if track.doubt is not None:
            return attrs.evolve(track, doubt=_sum(track.doubt, hour))
        return _add(track, hour)
    found = ratio(hour.cells, track.line)
    if abs(found - 1) <= TOLERANCE:
        return _add(_settled(track), hour)
    # Doubts add up only in one direction: an hour above and one below are noise. The profile is not fitted to them.
    if track.doubt is None or (found > 1) != track.above:
        return attrs.evolve(_settled(track), doubt=hour, doubts=1, above=found > 1)
    doubt, doubts = _sum(track.doubt, hour), track.doubts + 1
    if doubts < HOURS:
        return attrs.evolve(track, doubt=doubt, doubts=doubts)
    # The change began with the first doubtful hour; what was before it counts no more.
    change = ChangePoint(hour=doubt.since, ratio=float(f"{found:.6g}"))
    return Track(parts=(doubt,), line=fit(doubt.cells), fitted=doubt.hours, changes=(*track.changes, change))


def within(track: Track, block: int, hour: str) -> Track | None:
    """What is left of a track when older hours count no more; None if nothing is.

    Args:
        track: The track.
        block: First block that counts.
        hour: First hour that counts.
    """
    parts = tuple(each for each in track.all if each.block >= block)
    if not parts:
        return None
    changes = tuple(each for each in track.changes if each.hour >= hour)
    if track.doubt is None or len(parts) > 1:
        return attrs.evolve(track, parts=parts if track.doubt is None else parts[:-1], changes=changes)
    return Track(parts=parts, line=fit(parts[0].cells), fitted=parts[0].hours, changes=changes)


def profile(track: Track) -> tuple[Line, str]:
    """The profile that holds now, and the first hour that it rests on."""
    return fit(joined([each.cells for each in track.all])), track.all[0].since


def ratio(cells: Cells, line: Line) -> float:
    """CPU over the prediction: the median of cells, weighted by their rows.

    Args:
        cells: Cells of an hour.
        line: The profile of the hours before.
    """
    expected = np.maximum(line.cpu(cells.sx / cells.n), 1e-9)
    each = cells.sy / cells.n / expected
    order = np.argsort(each, kind="stable")
    upto = np.cumsum(cells.n[order])
    return float(each[order][np.searchsorted(upto, upto[-1] / 2)])


def _settled(track: Track) -> Track:
    """Doubts that nothing confirmed count like all other hours."""
    return track if track.doubt is None else _add(attrs.evolve(track, doubt=None, doubts=0), track.doubt)


def _add(track: Track, part: Part) -> Track:
    """Hours that the profile rests on, and a line that is fitted again if they are many."""
    last = track.parts[-1]
    parts = (*track.parts[:-1], _sum(last, part)) if last.block >= part.block else (*track.parts, part)
    fresh = track.fresh + part.hours
    if GROWN * fresh < track.fitted:
        return attrs.evolve(track, parts=parts, fresh=fresh)
    line = fit(joined([each.cells for each in parts]))
    return attrs.evolve(track, parts=parts, line=line, fitted=sum(each.hours for each in parts), fresh=0)


def _sum(part: Part, more: Part) -> Part:
    cells = joined([part.cells, more.cells])
    return Part(block=max(part.block, more.block), since=part.since, hours=part.hours + more.hours, cells=cells)
