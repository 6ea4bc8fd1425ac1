"""Plans against each other as a picture (inline SVG): traffic between nodes over each other figure."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from headworks.model import Status
from headworks.model.sketch import COLOURS
from headworks.report.curves import round_up, text
from headworks.report.format import percent, quantity
from headworks.report.placement import svg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headworks.api import Compared, Comparison
    from headworks.model import Scores

WIDTH, HEIGHT, LINE = 520, 250, 18
"""Size of a panel in user units of SVG, two of them side by side; height of a line of the key."""
LEFT, RIGHT, TOP, BOTTOM = 56, 24, 30, 36
"""Margins of a panel for its titles and axes."""
TICKS = 4
"""Lines of an axis above zero. With more, their numbers overlap."""

NODES = "nodes in use"
AXES: dict[str, Callable[[Scores], float | None]] = {
    NODES: lambda scores: scores.nodes_used,
    "price of the nodes per hour": lambda scores: scores.cost,
    "factor of the load that it bears": lambda scores: scores.factor,
    "throughput at most": lambda scores: scores.throughput,
    "running tasks that move": lambda scores: scores.moves,
    "seconds of a batch": lambda scores: scores.batch_seconds,
}


def trade_offs_svg(comparison: Comparison) -> str:
    """Draw the whole plans of a comparison: a panel for nodes, and one for each other figure in which they differ.

    A dot has the colour of a scheduler, and the numbers of its plans in the key.

    Returns:
        SVG, "" where no plan is whole.
    """
    rows = [row for row in comparison.plans if row.plan.status is Status.OK]
    if not rows:
        return ""
    schedulers = list(dict.fromkeys(row.scheduler for row in rows))
    colours = [COLOURS[schedulers.index(row.scheduler) % len(COLOURS)] for row in rows]
    panels = [title for title in AXES if title == NODES or len({AXES[title](row.plan.scores) for row in rows}) > 1]
    parts = [part for number, row in enumerate(rows) for part in _key(number, row.name, colours[number])]
    top = -(-len(rows) // 2) * LINE + LINE
    for at, title in enumerate(panels):
        drawn = "".join(_panel(title, rows, colours))
        parts.append(f'<g transform="translate({at % 2 * WIDTH} {top + at // 2 * HEIGHT})">{drawn}</g>')
    height = top + -(-len(panels) // 2) * HEIGHT
    return svg(2 * WIDTH, height, parts, f"traffic between nodes over {', '.join(panels)}")


def _key(number: int, name: str, colour: str) -> Iterator[str]:
    x, y = LEFT + number % 2 * WIDTH, number // 2 * LINE
    yield f'<circle cx="{x}" cy="{y + 10}" r="5" fill="{colour}"/>'
    yield text(x + 12, y + 14, f"{number + 1}  {name}", "start", "load")


def _panel(title: str, rows: Sequence[Compared], colours: Sequence[str]) -> Iterator[str]:
    dots: dict[tuple[float, float], list[int]] = {}
    for number, row in enumerate(rows):
        if (value := AXES[title](row.plan.scores)) is not None:
            dots.setdefault((value, row.plan.scores.share), []).append(number)
    right, top = (round_up(max(values)) for values in zip(*dots, strict=True))
    yield text(LEFT, 16, "traffic between nodes", "start", "name")
    yield text(WIDTH - RIGHT, HEIGHT - 4, title, "end", "name")
    for tick in range(TICKS + 1):
        x, y = _x(tick / TICKS), _y(tick / TICKS)
        yield f'<line class="tick" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#8884"/>'
        yield text(LEFT - 6, y + 4, percent(top * tick / TICKS), "end", "load")
        yield text(x, HEIGHT - BOTTOM + 15, quantity(right * tick / TICKS), "middle", "load")
    for (value, share), numbers in dots.items():
        x, y, said = _x(value / right), _y(share / top), f"{quantity(value)}, {percent(share)} between nodes"
        names = escape("; ".join([*(rows[number].name for number in numbers), said]))
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colours[numbers[0]]}"><title>{names}</title></circle>'
        yield text(x + 7, y - 5, ", ".join(f"{number + 1}" for number in numbers), "start", "load")


def _x(share: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * share


def _y(share: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)
