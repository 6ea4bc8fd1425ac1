"""Where a profile stopped to hold: hours whose CPU a profile of the hours before does not predict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headgate_pipeline.fit import Cells, Line, fit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOLERANCE = 0.15
"""CPU this part more or less than predicted is another profile ..."""
HOURS = 2
"""... if so many hours in a row say so, in the same direction."""
ENOUGH = 30
"""Windows that an hour needs to say anything."""


@attrs.frozen(kw_only=True)
class Change:
    """From this hour on, CPU was `ratio` times what was predicted."""

    hour: str
    ratio: float


def history(hours: Mapping[str, Cells]) -> tuple[Line, str, tuple[Change, ...]]:
    """The profile that holds now, the first hour that it rests on, and the changes before.

    Args:
        hours: Cells of one group by hour; at least one hour.
    """
    names = sorted(hours)
    start = 0
    changes: list[Change] = []
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
        doubts = [*doubts, at] if not doubts or (found > 1) == (ratio(hours[names[doubts[-1]]], line) > 1) else [at]
        if len(doubts) == HOURS:
            start = doubts[0]
            changes.append(Change(hour=names[start], ratio=float(f"{found:.6g}")))
            line, doubts = fit(joined([hours[each] for each in names[start : at + 1]])), []
    line = fit(joined([hours[each] for each in names[start:]]))
    return line, names[start], tuple(changes)


def ratio(cells: Cells, line: Line) -> float:
    """CPU over what a line predicts: the median of cells by their rows."""
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
