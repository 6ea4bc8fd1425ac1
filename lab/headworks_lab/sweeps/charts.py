"""A sweep as a page: one table, and for each workload and figure a chart of bars, schedulers one below the other."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from headworks.model.sketch import COLOURS
from headworks.report.html import Panel, Table, page
from headworks_lab.measure.figures import BURNED
from headworks_lab.sweeps.experiments import OWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headworks_lab.sweeps.sweep import Cell

SHOWN = ("offered", "throughput", "completed", "latency", "start", "inter_node", "nodes", "moves", "stopped")
"""Figures of a simulator with charts, in order; the table has all that it names."""
MEASURED = (
    *("offered", "throughput", "completed", "latency_p50", "latency_p95", "latency_p99", "start"),
    *("bytes_between", "inter_node", "nodes", "restarts", "degraded"),
)
"""Figures of a real engine with charts, in order."""
UNITS = {
    "throughput": "tuples/s completed",
    "offered": "tuples/s that came in",
    "completed": "part of what came in that was completed",
    "start": "s from the begin until what came in was first completed",
    "latency": "ms, source to completion",
    "latency_p50": "ms, source to completion, half of the tuples",
    "latency_p95": "ms, source to completion, 95 % of the tuples",
    "latency_p99": "ms, source to completion, 99 % of the tuples",
    "bytes_between": "bytes/s from node to node, by the counters of their interfaces",
    "inter_node": "share of tuples that crossed nodes",
    "nodes": "nodes used",
    "moves": "tasks moved",
    "restarts": "worker processes that ended in the window",
    "stopped": "s without any output",
    "degraded": "s with less than 40 % of the load completed",
    BURNED: "CPU that tasks used, in times of what the plan counted with",
}
"""Unit of each figure in `SHOWN` and `MEASURED`, and of one that has no chart."""
NEAR = 0.1
"""A figure `BURNED` that is farther from 1 is told: the plan was made for another load than the one that ran."""
APART = "apart"
"""Figure that is 1 where nodes had networks and processor time of their own: a note, and no column."""
START = "start"
"""Figure that a run lacks if what came in was never completed."""
WARM_UP = "warm_up"
"""Figure that is a note too: the seconds before the measured ones."""
SHARED = "nodes shared this machine's network and cores: bytes compare, times do not"
WIDTH, LINE, LEFT, LENGTH = 560.0, 18.0, 160.0, 320.0
"""Measures of a chart in units of SVG: the width, the height of a row, the room for names, and the longest bar."""


def sweep_page(cells: Sequence[Cell], seconds: float) -> str:
    """The page; charts show medians over seeds, whiskers their 95 % intervals.

    Args:
        cells: Rows of the table.
        seconds: Seconds of each experiment.
    """
    runs = sum(cell.runs for cell in cells)
    real = sorted({cell.engine for cell in cells if is_real(cell)})
    kind = f"experiments on real clusters ({', '.join(real)})" if real else "simulated experiments"
    intro = [
        f"{runs:,} {kind} of {seconds:g} s{left_out(cells)}.",
        "Bars are medians over seeds, whiskers 95 % intervals of the median.",
        *([SHARED] if shared(cells) else []),
        *filter(None, [misjudged(cells)]),
    ]
    return page("Headworks: a sweep", intro, [table(cells), *_panels(cells)])


def is_real(cell: Cell) -> bool:
    """True if a row is of a real engine, which says whether its nodes were apart."""
    return APART in cell.means


def shared(cells: Sequence[Cell]) -> bool:
    """True if any row is of a real engine whose nodes were not apart."""
    return any(cell.means.get(APART, 1.0) < 1 for cell in cells)


def misjudged(cells: Sequence[Cell]) -> str:
    """A sentence where tasks used other CPU than plans counted with; "" where they agree within a tenth."""
    times = [cell.intervals[BURNED].median for cell in cells if BURNED in cell.intervals]
    off = [each for each in times if abs(each - 1) > NEAR]
    if not off:
        return ""
    between = f"{min(off):.2f} to {max(off):.2f}" if len(off) > 1 else f"{off[0]:.2f}"
    return f"In {len(off)} of {len(times)} rows tasks used {between} times the CPU that the plan counted with (burned)."


def left_out(cells: Sequence[Cell]) -> str:
    """Words that say which warm-up was left out, beginning with a comma; "" if none was."""
    lengths = sorted({cell.means.get(WARM_UP, 0.0) for cell in cells} - {0.0})
    return f", after a warm-up of {' or '.join(f'{each:g}' for each in lengths)} s" if lengths else ""


def shown(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Names of the figures that are shown first, in order."""
    names = MEASURED if any(map(is_real, cells)) else SHOWN
    return tuple(name for name in names if any(name in cell.means for cell in cells))


def table(cells: Sequence[Cell]) -> Table:
    """Table of the medians of every figure, with the units below it."""
    names = _names(cells)
    rows = tuple((*place(cell), cell.runs, cell.failed, *(middle(cell, name) for name in names)) for cell in cells)
    columns = (*PLACE, "runs", "failed", *map(heading, names))
    units = "; ".join(f"{heading(name)}: {UNITS[name]}" for name in names if name in UNITS)
    return Table(columns=columns, rows=rows, notes=(units, *([SHARED] if shared(cells) else [])))


PLACE = ("workload", "nodes", "network", "scheduler")
"""Columns by which a row is told from others."""


def heading(name: str) -> str:
    """Head of the column of a figure, which differs from those of `PLACE`.

    Args:
        name: Name of the figure.
    """
    return f"{name} used" if name in PLACE else name.replace("_", " ")


def alike(rows: Sequence[Sequence[object]]) -> tuple[int, ...]:
    """Indices of the columns whose cells are the same in all rows; none if there is one row only.

    Args:
        rows: Cells of each row.
    """
    if len(rows) < 2:
        return ()
    return tuple(index for index, values in enumerate(zip(*rows, strict=True)) if len(set(values)) == 1)


def place(cell: Cell) -> tuple[str, str, str, str]:
    """Texts of the columns `PLACE`."""
    return cell.workload, nodes_text(cell.nodes), network_text(cell.network), cell.scheduler


def nodes_text(nodes: int) -> str:
    """Text of a number of nodes; "own" for those of the workload itself."""
    return "own" if nodes == OWN else str(nodes)


def network_text(network: float) -> str:
    """Text of the rate of a network; "own" for those of the workload itself."""
    return "own" if network == OWN else f"{network / 1e6:g} Mbit/s"


def middle(cell: Cell, name: str, digits: Callable[[float], str] | None = None) -> str:
    """A median in few digits, and its 95 % interval where it has one.

    Args:
        cell: A row.
        name: Name of a figure.
        digits: Text of an amount; by default with four digits or more.

    Returns:
        "" if the row lacks the figure; of a start that no run saw the end of, "never".
    """
    found, text = cell.intervals.get(name), digits or _digits
    if found is None:
        return "never" if name == START and cell.runs else ""
    median = text(found.median)
    if found.low is None or found.high is None or text(found.low) == median == text(found.high):
        return median
    return f"{median} [{text(found.low)}, {text(found.high)}]"


def _digits(value: float) -> str:
    """An amount without an exponent for large ones."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def brief(value: float) -> str:
    """An amount in at most five characters or so, such as 1,001, 18.4 and 287k.

    Args:
        value: The amount.
    """
    if abs(value) >= 10_000:
        return f"{value / 1e6:.3g}M" if abs(value) >= 999_500 else f"{value / 1000:.0f}k"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _names(cells: Sequence[Cell]) -> list[str]:
    there, first = {name for cell in cells for name in cell.means}, shown(cells)
    return [*first, *sorted(there - {*first, APART, WARM_UP})]


def _panels(cells: Sequence[Cell]) -> Iterator[Panel]:
    for workload in dict.fromkeys(cell.workload for cell in cells):
        own = [cell for cell in cells if cell.workload == workload]
        for name in shown(own):
            yield Panel(title=f"{workload}: {name}", svg=bars(own, name), caption=UNITS[name])


def bars(cells: Sequence[Cell], name: str) -> str:
    """SVG chart of one figure: below each number of nodes and network a bar for each scheduler, with its name.

    Args:
        cells: Rows of one workload.
        name: Name of the figure.
    """
    schedulers = list(dict.fromkeys(cell.scheduler for cell in cells))
    groups = list(dict.fromkeys((cell.nodes, cell.network) for cell in cells))
    # The scale holds the highest whisker; 1 where all bars are zero, so that nothing is divided by it.
    known = [cell.intervals[name] for cell in cells if name in cell.intervals]
    top = max((each.median if each.high is None else each.high for each in known), default=0.0) or 1.0
    parts, y = list[str](), 0.0
    for nodes, network in groups:
        label = f"{nodes_text(nodes)} nodes" if network == OWN else network_text(network)
        parts.append(_text(0, y + LINE - 5, label))
        y += LINE
        for cell in (each for each in cells if (each.nodes, each.network) == (nodes, network)):
            colour = COLOURS[schedulers.index(cell.scheduler) % len(COLOURS)]
            parts += _bar(cell, name, y, top, colour)
            y += LINE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {y:g}" width="{WIDTH:g}" role="img" '
        f'aria-label="{escape(name)}">{"".join(parts)}</svg>'
    )


def _bar(cell: Cell, name: str, y: float, top: float, colour: str) -> Iterator[str]:
    """A row: the scheduler, and the bar with its whisker, unless it lacks the figure; at its end the median."""
    yield _text(12, y + LINE - 5, cell.scheduler)
    found = cell.intervals.get(name)
    if found is None:
        return
    long, centre = LENGTH * found.median / top, y + LINE / 2
    title = escape(f"{cell.scheduler}: {middle(cell, name)}")
    yield (
        f'<g><title>{title}</title><rect x="{LEFT:g}" y="{y + 1:g}" width="{long:g}" height="{LINE - 3:g}" '
        f'fill="{colour}"/></g>'
    )
    end = LEFT + long
    if found.low is not None and found.high is not None and found.low < found.high:
        low, end = (LEFT + LENGTH * max(each, 0.0) / top for each in (found.low, found.high))
        yield f'<line x1="{low:g}" y1="{centre:g}" x2="{end:g}" y2="{centre:g}" stroke="currentColor"/>'
    yield _text(max(end, LEFT + long) + 6, y + LINE - 5, _digits(found.median))


def _text(x: float, y: float, text: str) -> str:
    return f'<text class="load" x="{x:g}" y="{y:g}">{escape(text)}</text>'
