"""Curves over time as pictures (inline SVG): one panel a figure, one curve a scheduler, on one axis of time."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import attrs

from headworks.model.sketch import COLOURS
from headworks.report.format import quantity
from headworks.report.placement import svg

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WIDTH, HEIGHT = 560, 170
"""Size of a panel in user units of SVG; a page scales them."""
LEFT, RIGHT, TOP, BOTTOM, KEY = 64, 26, 24, 26, 24
"""Margins of a panel for its axis, title and times; height of the key above all of them."""
TICKS = 4
"""Lines of a panel above zero. With more, their numbers overlap."""


@attrs.frozen(kw_only=True)
class Curve:
    """A curve: values by seconds; None breaks the line. A dashed curve is for reference.

    A value holds from the point before it until its own, unless the curve is `sloped`: then it is that of the moment.
    """

    name: str
    points: tuple[tuple[float, float | None], ...]
    colour: int = 0
    dashed: bool = False
    sloped: bool = False


@attrs.frozen(kw_only=True)
class CurvePanel:
    """The curves of one figure, with its title."""

    title: str
    curves: tuple[Curve, ...]


def curves_svg(panels: Sequence[CurvePanel], marks: Sequence[tuple[float, str]] = ()) -> str:
    """Draw panels under each other.

    Args:
        panels: At least one; its curves begin at their first point.
        marks: Seconds at which something happened, and the text of each.
    """
    end = max((time for panel in panels for curve in panel.curves for time, _ in curve.points), default=0.0) or 1.0
    names = dict.fromkeys((curve.name, curve.colour) for curve in panels[0].curves if not curve.dashed)
    parts = list(_key(list(names)))
    for number, panel in enumerate(panels):
        drawn = "".join(_panel(panel, end, marks, last=number + 1 == len(panels)))
        parts.append(f'<g transform="translate(0 {KEY + number * HEIGHT})">{drawn}</g>')
    return svg(WIDTH, KEY + len(panels) * HEIGHT + 8, parts, ", ".join(panel.title for panel in panels) + " over time")


def _key(names: Sequence[tuple[str, int]]) -> Iterator[str]:
    x = float(LEFT)
    for name, colour in names:
        yield f'<rect x="{x:g}" y="4" width="12" height="12" rx="2" fill="{COLOURS[colour % len(COLOURS)]}"/>'
        yield text(x + 17, 14, name, "start", "load")
        x += 40 + 7 * len(name)


def _panel(panel: CurvePanel, end: float, marks: Sequence[tuple[float, str]], *, last: bool) -> Iterator[str]:
    values = [value for curve in panel.curves for _, value in curve.points if value is not None]
    top = round_up(max(values, default=0.0))
    yield text(LEFT, 14, panel.title, "start", "name")
    for tick in range(TICKS + 1):
        y = _y(top * tick / TICKS, top)
        yield f'<line class="tick" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#8884"/>'
        yield text(LEFT - 6, y + 4, quantity(top * tick / TICKS), "end", "load")
    for time, what in marks:
        x = _x(time, end)
        yield (
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#888" stroke-dasharray="2 3">'
            f"<title>{escape(what)}</title></line>"
        )
    for curve in panel.curves:
        yield from _line(curve, end, top)
    if last:
        step = round_up(end / 6)
        for tick in range(int(end / step + 1e-9) + 1):
            yield text(_x(step * tick, end), HEIGHT - BOTTOM + 16, f"{step * tick:,.4g} s", "middle", "load")


def _line(curve: Curve, end: float, top: float) -> Iterator[str]:
    colour = "#888888" if curve.dashed else COLOURS[curve.colour % len(COLOURS)]
    look = f'fill="none" stroke="{colour}" stroke-width="{1.2 if curve.dashed else 1.8}"'
    look += ' stroke-dasharray="6 4"' if curve.dashed else ""
    run: list[str] = []
    before = 0.0
    for time, value in (*curve.points, (end, None)):
        if value is None:
            if run:
                yield f'<polyline points="{" ".join(run)}" {look}><title>{escape(curve.name)}</title></polyline>'
            run = []
        else:
            y = _y(value, top)
            # A mean holds since the point before: a step, whose first corner is there.
            run += [] if curve.sloped else [f"{_x(before, end):.1f},{y:.1f}"]
            run.append(f"{_x(time, end):.1f},{y:.1f}")
        before = time


def _x(time: float, end: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * min(time / end, 1.0)


def _y(value: float, top: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)


def round_up(value: float) -> float:
    """The next round number, such that quarters of it are short too; a value that is one but for rounding stays."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * factor for factor in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10) if power * factor >= value * 0.999)


def text(x: float, y: float, words: str, anchor: str, look: str) -> str:
    """Words in a picture; `look` is a class of the page's style."""
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
