"""Drift of profiles: change points, from which CPU is not what a profile of the hours before predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks_pipeline.learning.fit import Cells, Line, fit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOLERANCE = 0.15
"""Part by which CPU may differ from the prediction: if larger, a slow drift bends the profile instead of being told; if
smaller, noise is told as drift."""
HOURS = 2
"""Hours in a row, in the same direction, that make a change point: if larger, it is told later; if smaller, one odd
hour throws a good profile away."""
ENOUGH = 30
"""Windows that an hour needs to be compared: if larger, quiet applications are never judged; if smaller, noise
decides."""


@attrs.frozen(kw_only=True)
class ChangePoint:
    """The hour from which on CPU was `ratio` times the prediction."""

    hour: str
    ratio: float


def history(hours: Mapping[str, Cells]) -> tuple[Line, str, tuple[ChangePoint, ...]]:
    """Segment the hours of one group by their change points.

    Args:
        hours: Cells of one group by hour; at least one hour.

    Returns:
        The profile that holds now, the first hour that it rests on, and the change points, oldest first.
    """
    names = sorted(hours)
    start = 0
    changes: list[ChangePoint] = []
    doubts: list[int] = []
    line: Line | None = None
    for at, name in enumerate(names):
        if line is None or hours[name].n.sum() < ENOUGH:
            line = fit(joined([hours[each] for each in names[start : at + 1]]))
            continue
        found = ratio(hours[name], line)
        if abs(found - 1) <= TOLERANCE:
            doubts = []
            line = fit(joined([hours[each] for each in names[start : at + 1]]))
            continue
        # Doubts add up only in one direction: an hour above and one below are noise. The profile is not fitted to them.
        doubts = [*doubts, at] if not doubts or (found > 1) == (ratio(hours[names[doubts[-1]]], line) > 1) else [at]
        if len(doubts) == HOURS:
            # The change began with the first doubtful hour; what was before it counts no more.
            start = doubts[0]
            changes.append(ChangePoint(hour=names[start], ratio=float(f"{found:.6g}")))
            line, doubts = fit(joined([hours[each] for each in names[start : at + 1]])), []
    line = fit(joined([hours[each] for each in names[start:]]))
    return line, names[start], tuple(changes)


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


def joined(parts: Sequence[Cells]) -> Cells:
    """The cells of several hours."""
    return Cells(
        **{field.name: np.concatenate([getattr(each, field.name) for each in parts]) for field in attrs.fields(Cells)}
    )
