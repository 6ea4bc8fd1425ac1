"""A sweep as a page: one table, and for each workload and figure a chart of bars, schedulers side by side."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from headgate.report.html import Panel, Table, page
from headgate.report.placement import COLOURS, short
from headgate_pipeline.sweeps.experiments import OWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headgate_pipeline.sweeps.sweep import Cell

SHOWN = ("throughput", "latency", "inter_node", "nodes", "moves", "stopped")
"""Figures with charts, in order; the table has all that the simulator names."""
UNITS = {
    "throughput": "tuples/s completed",
    "latency": "ms, source to completion",
    "inter_node": "share of tuples that crossed nodes",
    "nodes": "nodes used",
    "moves": "tasks moved",
    "stopped": "s without any output",
}
"""Unit of each figure in `SHOWN`."""
WIDTH, HEIGHT, LEFT, TOP, GAP = 520.0, 180.0, 60.0, 24.0, 14.0
"""Measures of a chart in units of SVG: the whole width, the height of the bars, the room for the axis, and for a title,
and the space between groups of bars."""


def sweep_page(cells: Sequence[Cell], seconds: float) -> str:
    """The page; charts show means over seeds, whiskers a standard deviation to each side.

    Args:
        cells: Rows of the table.
        seconds: Simulated seconds of each experiment.
    """
    runs = sum(cell.runs for cell in cells)
    intro = [
        f"{runs:,} simulated experiments of {seconds:g} s. Bars are means over seeds, whiskers standard deviations."
    ]
    return page("Headgate: a sweep", intro, [table(cells), *_panels(cells)])


def table(cells: Sequence[Cell]) -> Table:
    """Table of the means of every figure, with the units below it."""
    names = _names(cells)
    rows = tuple(
        (cell.workload, nodes_text(cell.nodes), cell.scheduler, cell.runs, cell.failed, *(mean(cell, n) for n in names))
        for cell in cells
    )
    columns = ("workload", "nodes", "scheduler", "runs", "failed", *names)
    units = "; ".join(f"{name}: {UNITS[name]}" for name in names if name in UNITS)
    return Table(columns=columns, rows=rows, notes=(units,))


def nodes_text(nodes: int) -> str:
    """Text of a number of nodes; "own" for those of the workload itself."""
    return "own" if nodes == OWN else str(nodes)


def mean(cell: Cell, name: str) -> str:
    """A mean in few digits, without an exponent for large ones.

    Args:
        cell: A row.
        name: Name of a figure.

    Returns:
        "" if the row lacks the figure.
    """
    value = cell.means.get(name)
    return "" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _names(cells: Sequence[Cell]) -> list[str]:
    there = {name for cell in cells for name in cell.means}
    return [name for name in SHOWN if name in there] + sorted(there - set(SHOWN))


def _panels(cells: Sequence[Cell]) -> Iterator[Panel]:
    for workload in dict.fromkeys(cell.workload for cell in cells):
        own = [cell for cell in cells if cell.workload == workload]
        for name in (each for each in SHOWN if any(each in cell.means for cell in own)):
            yield Panel(title=f"{workload}: {name}", svg=bars(own, name), caption=UNITS[name])


def bars(cells: Sequence[Cell], name: str) -> str:
    """SVG chart of one figure: a group of bars for each number of nodes, a colour for each scheduler.

    Args:
        cells: Rows of one workload.
        name: Name of the figure.
    """
    schedulers = list(dict.fromkeys(cell.scheduler for cell in cells))
    groups = list(dict.fromkeys(cell.nodes for cell in cells))
    # The scale holds the highest whisker; 1 where all bars are zero, so that nothing is divided by it.
    top = max((cell.means.get(name, 0.0) + cell.deviations.get(name, 0.0) for cell in cells), default=0.0) or 1.0
    group = (WIDTH - LEFT) / max(len(groups), 1)
    wide = min(40.0, (group - GAP) / max(len(schedulers), 1))
    parts = list(_axis(top))
    for cell in cells:
        if name in cell.means:
            x = LEFT + groups.index(cell.nodes) * group + schedulers.index(cell.scheduler) * wide
            parts += _bar(cell, name, x, wide, top, COLOURS[schedulers.index(cell.scheduler) % len(COLOURS)])
    for index, nodes in enumerate(groups):
        parts.append(_text(LEFT + index * group, TOP + HEIGHT + 16, f"{nodes_text(nodes)} nodes"))
    for index, scheduler in enumerate(schedulers):
        y = TOP + HEIGHT + 30 + 16 * index
        parts.append(f'<rect x="{LEFT}" y="{y}" width="11" height="11" fill="{COLOURS[index % len(COLOURS)]}"/>')
        parts.append(_text(LEFT + 17, y + 10, scheduler))
    height = TOP + HEIGHT + 40 + 16 * len(schedulers)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:g}" width="{WIDTH:g}" role="img" '
        f'aria-label="{escape(name)}">{"".join(parts)}</svg>'
    )


def _axis(top: float) -> Iterator[str]:
    for share in (0.0, 0.5, 1.0):
        y = TOP + HEIGHT * (1 - share)
        yield f'<line class="free" x1="{LEFT}" y1="{y:g}" x2="{WIDTH}" y2="{y:g}" stroke="#8884"/>'
        amount = top * share
        yield _text(4, y + 4, f"{amount:.3g}" if top < 1000 else short(amount).strip())


def _bar(cell: Cell, name: str, x: float, wide: float, top: float, colour: str) -> Iterator[str]:
    amount, deviation = cell.means[name], cell.deviations.get(name, 0.0)
    high = HEIGHT * amount / top
    title = escape(f"{cell.scheduler}: {amount:.4g} ± {deviation:.2g}")
    yield (
        f'<g><title>{title}</title><rect x="{x:g}" y="{TOP + HEIGHT - high:g}" width="{wide - 2:g}" '
        f'height="{high:g}" fill="{colour}"/></g>'
    )
    if deviation:
        low, up = (TOP + HEIGHT * (1 - max(amount + sign * deviation, 0.0) / top) for sign in (-1, 1))
        middle = x + wide / 2 - 1
        yield f'<line x1="{middle:g}" y1="{low:g}" x2="{middle:g}" y2="{up:g}" stroke="currentColor"/>'


def _text(x: float, y: float, text: str) -> str:
    return f'<text class="load" x="{x:g}" y="{y:g}">{escape(text)}</text>'
