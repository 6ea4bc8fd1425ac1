"""The page of experiments: a table, and curves over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.report import html as report
from headworks.report.curves import Curve, CurvePanel, curves_svg
from headworks_sim.experiments.summary import without

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headworks_sim.experiments.summary import CurvePoint, Summary
    from headworks_sim.fluid.trace import Trace

MARKS = 40
"""Most events that are drawn; of a trace with more, none is."""
TOLD = 12
"""Events that the caption names."""

FIGURES: tuple[tuple[str, Callable[[CurvePoint], float | None]], ...] = (
    ("completed, tuples/s", lambda point: point.throughput),
    ("latency, s", lambda point: None if point.latency is None else point.latency / 1000),
    ("between nodes, % of tuples", lambda point: 100 * point.inter_node if point.throughput else None),
    ("waiting at the source, tuples", lambda point: point.backlog),
    ("nodes that host a task", lambda point: point.nodes),
)
INTRO = (
    "Steady states are computed in closed form from declared rates and costs; how long moves and restarts take was"
    " fitted to one published experiment. This is a simulation: it says how plans compare under these assumptions, not"
    " what a cluster will do."
)


def simulation_page(
    request: str,
    found: Sequence[Summary],
    trace: Trace | None,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> str:
    """Make one page for experiments on one request; events of the trace are dashed lines.

    Args:
        request: Name of the request, for the title.
        found: One summary a scheduler, of equal duration.
        trace: The events of all of them, None for none.
        columns: Heads of the table.
        rows: Cells of the table, one row a summary.

    Returns:
        HTML that needs no other file.
    """
    table = report.Table(columns=tuple(columns), rows=tuple(tuple(row) for row in rows))
    length = max(summary.duration for summary in found)
    first, *more = (curves_svg([_panel(title, value, found)], _marks(trace)) for title, value in FIGURES)
    picture = report.Panel(title="Over time", svg=first, more=tuple(more), caption=_caption(trace))
    intro = [f"{request}, {length:,.0f} simulated seconds{without(found)}.", INTRO]
    return report.page("Headworks: schedulers in simulated time", intro, [table, picture])


def curves(found: Sequence[Summary], trace: Trace | None) -> str:
    """The figures of experiments of equal duration over time, as SVG; events of the trace are dashed lines."""
    return curves_svg([_panel(title, value, found) for title, value in FIGURES], _marks(trace))


def _marks(trace: Trace | None) -> list[tuple[float, str]]:
    events = trace.events if trace and len(trace.events) <= MARKS else ()
    return [(each.time, " ".join(map(str, (each.kind, each.subject, each.value or "")))) for each in events]


def _panel(title: str, value: Callable[[CurvePoint], float | None], found: Sequence[Summary]) -> CurvePanel:
    curves = [
        Curve(
            name=summary.scheduler,
            colour=number,
            points=tuple((each.time, value(each)) for each in summary.curve),
            sloped=title.startswith("waiting"),
        )
        for number, summary in enumerate(found)
    ]
    if title.startswith("completed"):
        offered = tuple((point.time, point.offered) for point in found[0].curve)
        curves.append(Curve(name="offered", points=offered, dashed=True))
    return CurvePanel(title=title, curves=tuple(curves))


def _caption(trace: Trace | None) -> str:
    if trace is None or not trace.events:
        return "The dashed curve is the offered load."
    told = "; ".join(
        f"{each.time:,.0f} s: {each.kind} {each.subject}" + ("" if each.value is None else f" {each.value:g}")
        for each in sorted(trace.events, key=lambda each: each.time)[:TOLD]
    )
    more = len(trace.events) - TOLD
    return f"The dashed curve is the offered load. {told}" + (f"; and {more} more events" if more > 0 else "") + "."
