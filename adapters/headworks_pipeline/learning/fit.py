"""Robust regression of profiles from cells: CPU = e * rate + met.

A first line goes through the middles of rate levels: the weighted median of all slopes between two of them (the
Theil-Sen estimator), so that a level's outliers have to be half of it to move its middle. Cells far from that line, by
the median of all distances from it, are left out. The rest is fitted by least squares, from exact sums over the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FAR = 5.0
"""Times the usual distance from the first line beyond which a cell is an outlier: if larger, garbage collections bend
the profile; if smaller, the tail of ordinary noise is cut off, and errors are told too small."""
NEAR = 0.10
"""Part of the prediction within which no cell is an outlier: levels are a few per cent wide. If smaller, cells of
samples without noise are left out for the width of their level; if larger, small outliers stay."""
GAUSS = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation, 1 / 0.6745; it makes `FAR` a number
of standard deviations."""
SPREAD = 0.10
"""Least standard deviation of rates, as a part of their mean, that tells `e` from `met`: if larger, steady applications
get no `met`; if smaller, `e` and `met` are those of the noise."""
SURE = 1.96
"""Standard errors on each side of a figure that hold the true one with 95 %; if larger, with more."""


@attrs.frozen(kw_only=True, eq=False)
class Cells:
    """Rows of the table `cells` of one group, a column each; float64 (c,), but for the levels, int64 (c,).

    Attributes:
        x, y: Levels of the rate and of CPU.
        n: Rows of the cell.
        sx, sy, sxx, sxy, syy: Sums over the rows of rate, CPU, and their products.
        received, emitted: Sums of tuples per second, of the rows that have both.
    """

    x: NDArray[np.int64]
    y: NDArray[np.int64]
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
        return Cells(**{field.name: getattr(self, field.name)[chosen] for field in FIELDS})


FIELDS = attrs.fields(Cells)
AMOUNTS = tuple(field.name for field in FIELDS if field.name not in {"x", "y"})
"""Columns of cells that add up."""
WIDE = 2**32
"""More than there are levels of CPU."""


@attrs.frozen(kw_only=True)
class Line:
    """A fitted profile, in CPU points; see `headworks.model.knowledge.ProfileFit` for the rest."""

    e: float
    met: float
    alpha: float | None = None
    samples: int = 0
    outliers: int = 0
    identified: bool = True
    e_error: float = 0.0
    met_error: float = 0.0
    r2: float = 0.0

    def cpu(self, rates: Floats | float, count: Floats | float = 1.0) -> Floats:
        """CPU points that the line predicts.

        Args:
            rates: Tuples per second, of one task or of several together.
            count: Number of tasks: each has its `met`.
        """
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
        alpha=_plain(emitted / received) if received > 0 else None,
        samples=int(total),
        outliers=int(total - cells.n[kept].sum()),
    )


def _middle_line(cells: Cells) -> Line:
    """First line, by Theil and Sen, through the middles of rate levels."""
    levels, at = np.unique(cells.x, return_inverse=True)
    weight = _sums(at, cells.n)
    rate = _sums(at, cells.sx) / weight
    cpu = _medians(cells.sy / cells.n, cells.n, at)
    one, other = np.triu_indices(len(levels), 1)
    # Two levels close to each other give any slope: noise over almost nothing.
    apart = np.abs(rate[other] - rate[one]) > SPREAD * np.maximum(rate[other], rate[one])
    one, other = one[apart], other[apart]
    if not len(one):
        return Line(e=0.0, met=_median(cpu, weight))
    # e = weighted median of (cpu_j - cpu_i) / (rate_j - rate_i), met = weighted median of cpu_i - e * rate_i.
    slopes = (cpu[other] - cpu[one]) / (rate[other] - rate[one])
    e = max(0.0, _median(slopes, weight[one] * weight[other]))
    return Line(e=e, met=max(0.0, _median(cpu - e * rate, weight)))


def _median(values: Floats, weights: Floats) -> float:
    return float(_medians(values, weights, np.zeros(len(values), dtype=np.int64))[0])


def _medians(values: Floats, weights: Floats, group: NDArray[np.int64]) -> Floats:
    """Weighted median of the values of each group; groups are numbered from 0, none is empty."""
    order = np.lexsort((values, group))
    upto = np.cumsum(weights[order])
    ends = upto[np.cumsum(np.bincount(group)) - 1]
    begins = np.concatenate(([0.0], ends[:-1]))
    return np.asarray(values[order][np.searchsorted(upto, (begins + ends) / 2)])


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
    # sum (y - e x - met)^2, expanded into the sums of the cell; rounding may leave it just below zero.
    crossed = 2 * (e * met * cells.sx - e * cells.sxy - met * cells.sy)
    return np.maximum(cells.syy + e * e * cells.sxx + met * met * cells.n + crossed, 0.0)


def _least_squares(cells: Cells) -> Line:
    """Ordinary least squares from sums; neither figure may be negative."""
    n, sx, sy, sxx, sxy, syy = (
        float(np.sort(getattr(cells, name)).sum()) for name in ("n", "sx", "sy", "sxx", "sxy", "syy")
    )
    # Sorted before they are added: hours in another order give the same bits. deviation = sum (x - mean x)^2.
    deviation = max(sxx - sx * sx / n, 0.0)
    if sx <= 0:
        return Line(e=0.0, met=_plain(sy / n), identified=False)
    if n < 3 or np.sqrt(deviation / n) < SPREAD * sx / n:
        return Line(e=_plain(sy / sx), met=0.0, identified=False)
    # Normal equations: e = S_xy / S_xx about the means, met = mean y - e * mean x.
    e = (sxy - sx * sy / n) / deviation
    met = (sy - e * sx) / n
    # At a bound the best line is the one of the other figure alone: a constant, or a line through the origin.
    if e < 0:
        e, met = 0.0, sy / n
    elif met < 0:
        e, met = sxy / sxx, 0.0
    left = max(syy - 2 * e * sxy - 2 * met * sy + e * e * sxx + 2 * e * met * sx + n * met * met, 0.0)
    whole = max(syy - sy * sy / n, 0.0)
    # Residual variance with n - 2 degrees of freedom; errors of slope and intercept as in any textbook.
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


def joined(parts: Sequence[Cells]) -> Cells:
    """The cells of several hours, in order of their levels: those of the same levels are one, added up in order."""
    columns = {field.name: np.concatenate([getattr(each, field.name) for each in parts]) for field in FIELDS}
    _, first, at = np.unique(columns["x"] * WIDE + columns["y"], return_index=True, return_inverse=True)
    amounts = {name: _sums(at, columns[name]) for name in AMOUNTS}
    return Cells(x=columns["x"][first], y=columns["y"][first], **amounts)


def _sums(group: NDArray[np.int64], amounts: Floats) -> Floats:
    """Sum of each group, from the first amount to the last: hours added one by one give the bits of all at once."""
    return np.asarray(np.bincount(group, amounts), dtype=np.float64)
