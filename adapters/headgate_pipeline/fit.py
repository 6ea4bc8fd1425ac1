"""Profiles from cells: CPU = e * rate + met, robust against windows that tell something else.

A first line goes through the middles of rate levels: the weighted median of all slopes between two of them (Theil and
Sen), so that a level's outliers have to be half of it to move its middle. Cells far from that line, by the median of
all distances from it, are left out. What is left is fitted by least squares, from exact sums over the rows.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FAR = 5.0
"""A cell is left out when it is so many times the usual distance from the first line ..."""
NEAR = 0.10
"""... and by more than this part of what the line says: levels are a few per cent wide."""
GAUSS = 1.4826
"""Standard deviation of a normal distribution over the median of its distances."""
SPREAD = 0.10
"""Rates whose standard deviation is less than this part of their mean do not tell `e` from `met`."""
SURE = 1.96
"""Standard errors to each side in which the true figure is with 95 %."""


@attrs.frozen(kw_only=True, eq=False)
class Cells:
    """Rows of the table `cells` of one group, a column each; float64 (c,), but for the levels `x`, int64 (c,)."""

    x: NDArray[np.int64]
    n: Floats
    sx: Floats
    sy: Floats
    sxx: Floats
    sxy: Floats
    syy: Floats
    received: Floats
    emitted: Floats

    def part(self, chosen: Flags) -> Cells:
        """Some of the cells."""
        return Cells(**{field.name: getattr(self, field.name)[chosen] for field in attrs.fields(Cells)})


@attrs.frozen(kw_only=True)
class Line:
    """A fitted line, in CPU points; see `headgate_pipeline.knowledge.Fit` for the rest."""

    e: float
    met: float
    alpha: float = 1.0
    samples: int = 0
    outliers: int = 0
    identified: bool = True
    e_error: float = 0.0
    met_error: float = 0.0
    r2: float = 0.0

    def cpu(self, rates: Floats | float, count: Floats | float = 1.0) -> Floats:
        """CPU points at a rate; of `count` tasks whose rates are `rates` together."""
        return np.asarray(self.e * rates + self.met * count)


def fit(cells: Cells) -> Line:
    """The line of a group of cells, of which there is at least one."""
    first = _middle_line(cells)
    kept = ~_far(cells, first)
    line = _least_squares(cells.part(kept))
    total = cells.n.sum()
    received, emitted = cells.received.sum(), cells.emitted.sum()
    return attrs.evolve(
        line,
        alpha=_plain(emitted / received) if received > 0 else 1.0,
        samples=int(total),
        outliers=int(total - cells.n[kept].sum()),
    )


def _middle_line(cells: Cells) -> Line:
    """Through the middles of rate levels."""
    levels = np.unique(cells.x)
    weight = np.array([cells.n[cells.x == level].sum() for level in levels])
    rate = np.array([cells.sx[cells.x == level].sum() for level in levels]) / weight
    cpu = np.array([_middle(cells.part(cells.x == level)) for level in levels])
    one, other = np.triu_indices(len(levels), 1)
    apart = np.abs(rate[other] - rate[one]) > SPREAD * np.maximum(rate[other], rate[one])
    one, other = one[apart], other[apart]
    if not len(one):
        return Line(e=0.0, met=_median(cpu, weight))
    slopes = (cpu[other] - cpu[one]) / (rate[other] - rate[one])
    e = max(0.0, _median(slopes, weight[one] * weight[other]))
    return Line(e=e, met=max(0.0, _median(cpu - e * rate, weight)))


def _middle(cells: Cells) -> float:
    return _median(cells.sy / cells.n, cells.n)


def _median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(upto, upto[-1] / 2)])


def _far(cells: Cells, line: Line) -> Flags:
    """Cells that are left out, by the distance (root mean square) of their rows from the line, relative to the line.

    That of a cell's mean would be less, the more rows are in the cell.
    """
    expected = np.maximum(line.cpu(cells.sx / cells.n), 1e-9)
    distance = np.sqrt(_squares(cells, line.e, line.met) / cells.n) / expected
    usual = GAUSS * _median(distance, cells.n)
    return np.asarray((distance > FAR * usual) & (distance > NEAR))


def _squares(cells: Cells, e: float, met: float) -> Floats:
    """Squared distances of the rows of each cell from a line, in sum."""
    crossed = 2 * (e * met * cells.sx - e * cells.sxy - met * cells.sy)
    return np.maximum(cells.syy + e * e * cells.sxx + met * met * cells.n + crossed, 0.0)


def _least_squares(cells: Cells) -> Line:
    """Ordinary least squares from sums; neither figure may be negative."""
    n, sx, sy, sxx, sxy, syy = (
        float(np.sort(getattr(cells, name)).sum()) for name in ("n", "sx", "sy", "sxx", "sxy", "syy")
    )
    deviation = max(sxx - sx * sx / n, 0.0)
    if sx <= 0:
        return Line(e=0.0, met=_plain(sy / n), identified=False)
    if n < 3 or np.sqrt(deviation / n) < SPREAD * sx / n:
        return Line(e=_plain(sy / sx), met=0.0, identified=False)
    e = (sxy - sx * sy / n) / deviation
    met = (sy - e * sx) / n
    if e < 0:
        e, met = 0.0, sy / n
    elif met < 0:
        e, met = sxy / sxx, 0.0
    left = max(syy - 2 * e * sxy - 2 * met * sy + e * e * sxx + 2 * e * met * sx + n * met * met, 0.0)
    whole = max(syy - sy * sy / n, 0.0)
    noise = left / (n - 2)
    return Line(
        e=_plain(e),
        met=_plain(met),
        e_error=_plain(SURE * np.sqrt(noise / deviation)),
        met_error=_plain(SURE * np.sqrt(noise * sxx / n / deviation)),
        r2=_plain(max(0.0, 1 - left / whole) if whole > 0 else 1.0),
    )


def _plain(value: float) -> float:
    """Nine digits: sums in another order end in other bits."""
    return float(f"{value:.9g}")


def cells_of(columns: dict[str, NDArray[np.generic]]) -> Cells:
    """Cells of columns as a table has them; null amounts are zero."""
    found: dict[str, Any] = {
        field.name: np.nan_to_num(np.asarray(columns[field.name], dtype=np.float64)) for field in attrs.fields(Cells)
    }
    return Cells(**{**found, "x": found["x"].astype(np.int64)})
