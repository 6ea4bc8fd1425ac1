"""Charts as pictures (inline SVG): a paper's on the left, ours on the right, on one scale."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import attrs

from headworks.model.sketch import COLOURS
from headworks.report.curves import text
from headworks.report.format import quantity
from headworks.report.placement import svg

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDTH, HEIGHT = 500, 250
"""Of one of the two halves."""
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 30, 34
TICKS = 5
KEY = 22


@attrs.frozen(kw_only=True)
class Dot:
    """A point of a chart: `series` at `x`, as printed and as recomputed (None where it is not)."""

    series: str
    x: float | str
    printed: float
    ours: float | None


@attrs.frozen(kw_only=True)
class _Frame:
    """Position of one half of a chart, and the scales of its axes."""

    left: float
    low: float
    high: float
    xs: tuple[float | str, ...]
    series: tuple[str, ...]

    @property
    def wide(self) -> float:
        return WIDTH - LEFT - RIGHT

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM)

    def x(self, value: float | str) -> float:
        """Middle of the place of a value: to scale for numbers, side by side for names."""
        start = self.left + LEFT
        if isinstance(value, str):
            return start + self.wide * (self.xs.index(value) + 0.5) / len(self.xs)
        numbers = [each for each in self.xs if not isinstance(each, str)]
        first, last = min(numbers), max(numbers)
        share = (value - first) / (last - first) if last > first else 0.5
        return start + self.wide * (0.06 + 0.88 * share)


def chart_svg(title: str, dots: Sequence[Dot]) -> str:
    """Draw a chart twice: lines where x is a number throughout, else bars.

    Args:
        title: For who cannot see it.
        dots: At least one; the order of names is that of first appearance.
    """
    xs = tuple(dict.fromkeys(dot.x for dot in dots))
    lines = not any(isinstance(x, str) for x in xs)
    if not lines:
        xs = tuple(dict.fromkeys(map(_name, xs)))
        dots = [attrs.evolve(dot, x=_name(dot.x)) for dot in dots]
    series = tuple(dict.fromkeys(dot.series for dot in dots))
    low, high = _range([value for dot in dots for value in (dot.printed, dot.ours) if value is not None])
    parts: list[str] = list(_key(series))
    top = KEY
    for side, (name, left) in enumerate((("printed", 0.0), ("ours", float(WIDTH)))):
        frame = _Frame(left=left, low=low, high=high, xs=xs, series=series)
        values = [(dot, dot.ours if side else dot.printed) for dot in dots]
        shown = [(dot, value) for dot, value in values if value is not None]
        drawn = [*_axes(frame, name), *(_lines(frame, shown) if lines else _bars(frame, shown))]
        if not shown:
            drawn.append(text(frame.left + WIDTH / 2, HEIGHT / 2, "not reproducible", "middle", "load"))
        parts.append(f'<g transform="translate(0 {top})">{"".join(drawn)}</g>')
    return svg(2 * WIDTH, HEIGHT + top, parts, title)


def _name(x: float | str) -> str:
    return x if isinstance(x, str) else quantity(x)


def _range(values: Sequence[float]) -> tuple[float, float]:
    """From 0, or below it, to a round number above all."""
    high, low = max(0.0, *values), min(0.0, *values)
    step = _step((high - low) or 1.0)
    return math.floor(low / step) * step, max(math.ceil(high / step), 1) * step


def _step(span: float) -> float:
    """A round distance between ticks."""
    rough = span / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)


def _key(series: Sequence[str]) -> Iterator[str]:
    x = float(LEFT)
    for index, name in enumerate(series):
        yield f'<rect x="{x:g}" y="4" width="12" height="12" rx="2" fill="{_colour(index)}"/>'
        yield text(x + 17, 14, name, "start", "load")
        x += 36 + 6.5 * len(name)


def _axes(frame: _Frame, name: str) -> Iterator[str]:
    start, stop = frame.left + LEFT, frame.left + WIDTH - RIGHT
    yield text(start, 16, name, "start", "name")
    step, value = _step(frame.high - frame.low), frame.low
    while value <= frame.high + step / 1000:
        y = frame.y(value)
        yield f'<line class="tick" x1="{start:g}" x2="{stop:g}" y1="{y:.1f}" y2="{y:.1f}" stroke="#8884"/>'
        yield text(start - 6, y + 4, quantity(round(value, 9)), "end", "load")
        value += step
    for x in frame.xs:
        yield text(frame.x(x), HEIGHT - BOTTOM + 18, _name(x), "middle", "load")


def _lines(frame: _Frame, shown: Sequence[tuple[Dot, float]]) -> Iterator[str]:
    for index, name in enumerate(frame.series):
        mine = sorted(
            ((dot.x, value) for dot, value in shown if dot.series == name and not isinstance(dot.x, str)),
        )
        points = [(frame.x(x), frame.y(value), value) for x, value in mine]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
        yield f'<polyline points="{path}" fill="none" stroke="{_colour(index)}" stroke-width="2"/>'
        for x, y, value in points:
            label = escape(f"{name}: {quantity(value, 4)}")
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{_colour(index)}"><title>{label}</title></circle>'
            if len(frame.series) == 1:
                yield text(x, y - 8, quantity(value, 4), "middle", "load")


def _bars(frame: _Frame, shown: Sequence[tuple[Dot, float]]) -> Iterator[str]:
    place = frame.wide / len(frame.xs)
    wide = min(place * 0.8 / len(frame.series), 46.0)
    for dot, value in shown:
        index = frame.series.index(dot.series)
        x = frame.x(dot.x) + wide * (index - len(frame.series) / 2)
        top, foot = sorted((frame.y(value), frame.y(0.0)))
        title = escape(f"{dot.series}, {dot.x}: {quantity(value, 4)}")
        yield (
            f'<rect x="{x:.1f}" y="{top:.1f}" width="{wide * 0.92:.1f}" height="{max(foot - top, 0.8):.1f}" '
            f'fill="{_colour(index)}"><title>{title}</title></rect>'
        )
        if wide > 20:
            yield text(x + wide * 0.46, top - 4, quantity(value), "middle", "load")


def _colour(index: int) -> str:
    return COLOURS[index % len(COLOURS)]
