"""A profile by the rules of the documentation, row by row: what the fit makes of sums has to be the same."""

from __future__ import annotations

import numpy as np

from pipeline_samples import levels


def plain_fit(rate, cpu):
    """Slope, intercept, and how many rows are left out."""
    rows = list(zip(levels(rate, 4), levels(cpu, 32), rate, cpu, strict=True))
    cells = {cell: np.array([row[2:] for row in rows if row[:2] == cell]) for cell in {row[:2] for row in rows}}
    e, met = first_line(cells)
    line = {cell: e * own[:, 0].mean() + met for cell, own in cells.items()}
    far = {cell: np.sqrt(np.mean((own[:, 1] - e * own[:, 0] - met) ** 2)) / line[cell] for cell, own in cells.items()}
    usual = 1.4826 * middle((far[cell], len(own)) for cell, own in cells.items())
    kept = np.array([far[row[:2]] <= max(5 * usual, 0.1) for row in rows])
    slope, intercept = np.polyfit(rate[kept], cpu[kept], 1)
    return slope, intercept, int((~kept).sum())


def first_line(cells):
    """Through the weighted medians of rate levels, by the weighted median of slopes between those 10 % apart."""
    points = []
    for level in {cell[0] for cell in cells}:
        own = [rows for cell, rows in cells.items() if cell[0] == level]
        every = np.concatenate(own)
        points.append((every[:, 0].mean(), middle((rows[:, 1].mean(), len(rows)) for rows in own), len(every)))
    points.sort()
    slopes = [
        ((y2 - y1) / (x2 - x1), n1 * n2)
        for i, (x1, y1, n1) in enumerate(points)
        for x2, y2, n2 in points[i + 1 :]
        if x2 - x1 > 0.1 * x2
    ]
    e = middle(slopes)
    return e, middle((y - e * x, n) for x, y, n in points)


def middle(weighted):
    """The first value up to which half of the weight is."""
    values = sorted(weighted)
    half = sum(weight for _, weight in values) / 2
    for value, weight in values:
        half -= weight
        if half <= 0:
            return value
    raise AssertionError("there are no values")
