"""A picture of who held which node when, with the batches and the triggers above it (inline SVG)."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from headworks.model.sketch import COLOURS
from headworks.report.curves import text
from headworks.report.placement import svg

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headworks_lab.priority.site.holding import Span

WIDTH, LEFT, RIGHT = 1000, 90, 10
KEY, TOP, ROW, GAP, BOTTOM = 24, 44, 30, 6, 26
TICKS = 8
"""Marks of seconds on the axis, at most."""


def holding_svg(
    names: Sequence[str], spans: Sequence[Span], begin: float, end: float, marks: Sequence[tuple[float, str]]
) -> str:
    """Draw spans: a row for each node, a colour for each topology; those that share a node have a part of its row each.

    Args:
        names: The topologies.
        spans: Who held which node.
        begin: The left edge, seconds since 1970.
        end: The right edge.
        marks: Moments with a word each, such as triggers.
    """
    hosts = sorted({each.host for each in spans})
    scale = (WIDTH - LEFT - RIGHT) / max(end - begin, 1.0)

    def x(moment: float) -> float:
        return LEFT + (moment - begin) * scale

    height = TOP + len(hosts) * (ROW + GAP) + BOTTOM
    parts = [*_key(names), *_axis(begin, end, x(end), height)]
    for index, host in enumerate(hosts):
        top = TOP + index * (ROW + GAP)
        parts.append(text(LEFT - 8, top + ROW / 2 + 4, host, "end", "load"))
        for span in spans:
            if span.host == host:
                parts += _bars(names, span, x(span.begin), x(span.end), top)
    parts += _marks([(x(at), word) for at, word in marks], height - BOTTOM)  # they cross the bars
    return svg(WIDTH, height, parts, "who held which node when")


def _bars(names: Sequence[str], span: Span, left: float, right: float, top: float) -> Iterator[str]:
    high = ROW / len(span.topologies)
    for index, name in enumerate(span.topologies):
        colour = COLOURS[names.index(name) % len(COLOURS)]
        title = escape(f"{name} on {span.host} for {span.end - span.begin:.0f} s")
        yield (
            f'<rect x="{left:.1f}" y="{top + index * high:.1f}" width="{max(right - left, 1.0):.1f}" '
            f'height="{high - 1:.1f}" fill="{colour}"><title>{title}</title></rect>'
        )


def _key(names: Sequence[str]) -> Iterator[str]:
    x = float(LEFT)
    for index, name in enumerate(names):
        yield f'<rect x="{x:g}" y="4" width="12" height="12" rx="2" fill="{COLOURS[index]}"/>'
        yield text(x + 17, 14, name, "start", "load")
        x += 120


def _marks(marks: Sequence[tuple[float, str]], foot: float) -> Iterator[str]:
    for x, word in marks:
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{foot:.1f}" stroke="#222" stroke-dasharray="3 3"/>'
        yield text(x, TOP - 10, word, "middle", "load")


def _axis(begin: float, end: float, right: float, height: float) -> Iterator[str]:
    step = next(each for each in (10, 20, 30, 60, 120, 300, 600, 3600) if (end - begin) / each <= TICKS)
    for seconds in range(0, int(end - begin) + 1, step):
        x = LEFT + (right - LEFT) * seconds / (end - begin)
        yield text(x, height - 8, f"{seconds} s", "middle", "load")
