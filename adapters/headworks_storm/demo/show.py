"""The result of the demo as a table, as JSON, and as a page with a picture of each placement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headworks.control.journal import compare_assignments
from headworks.model import Request
from headworks.problem import Problem
from headworks.report.curves import Curve, CurvePanel, curves_svg
from headworks.report.format import percent
from headworks.report.html import Panel, Table, page
from headworks.report.placement import placement_svg
from headworks_storm.demo.experiment import by_host
from headworks_storm.workers.completion import service
from headworks_storm.workers.throughput import REDUCED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks_storm.demo.experiment import Measured
    from headworks_storm.demo.run import StormDemoResult, TriedPlacement

COLUMNS = (
    "placement",
    "planned",
    "measured",
    "KB/s",
    "tuples/s",
    "nodes",
    "moved",
    "restarts",
    "slow s",
    "as asked",
)
TIMES = ("placement", "done/s", "ms", "bears/s")
"""Columns of the second table, where nodes are apart: tuples of spouts completed in a second, their mean latency, and
how many are completed in a second where spouts emit as fast as they may."""
BEARS = "the same load, then the load that each bears"
"""Title of the second table."""
NOTE = (
    "planned, measured: share of bytes that go from node to node. KB/s, tuples/s: those, and all. restarts: workers\n"
    f"that the change ended. slow s: seconds with less than {REDUCED:.0%} of the throughput before.\n"
)
SHARED = "All nodes share the cores of this machine: bytes and tuples compare, times on real machines differ."
APART = (
    "done/s, ms: tuples of spouts completed, and their mean latency, on nodes with a network of their own.\n"
    "bears/s: completed where spouts emit as fast as they may."
)


def note(found: StormDemoResult) -> str:
    """Sentences below the table."""
    return NOTE + (APART if found.apart else SHARED)


def rows(found: StormDemoResult) -> list[tuple[str, ...]]:
    """Cells of the table, in the order of `COLUMNS`."""
    return [_row(phase) for phase in found.phases]


def times(found: StormDemoResult) -> list[tuple[str, ...]]:
    """Cells of the second table, in the order of `TIMES`; no row where times do not compare."""
    return [_times(phase) for phase in found.phases] if found.apart else []


def _times(phase: TriedPlacement) -> tuple[str, ...]:
    latency = _latency(phase.measured)
    bears = "-" if phase.bears is None else f"{phase.bears:,.0f}"
    return phase.label, f"{phase.measured.throughput:,.0f}", "-" if latency is None else f"{latency:,.1f}", bears


def _latency(measured: Measured) -> float | None:
    """Mean latency in ms of all tuples that were completed; None of none."""
    return service(measured.seen).get("latency")


def _row(phase: TriedPlacement) -> tuple[str, ...]:
    measured, change = phase.measured, phase.change
    figures = (
        f"{measured.bytes_between / 1e3:,.1f} / {measured.bytes / 1e3:,.1f}",
        f"{measured.tuples_between:,.0f} / {measured.tuples:,.0f}",
        str(measured.nodes),
    )
    if change is None:
        return (phase.label, "-", percent(measured.share), *figures, "-", "-", "-", "-")
    check = compare_assignments(change.plan.assignment, measured.seen.assignment)
    cost = (str(change.plan.scores.moves), str(change.restarted), str(change.reduced), f"{check.hits} / {check.asked}")
    return (phase.label, percent(change.plan.scores.share), percent(measured.share), *figures, *cost)


def data(found: StormDemoResult) -> dict[str, Any]:
    """The numbers, ready for JSON."""
    return {
        "storm": found.storm,
        "load": found.load,
        "apart": found.apart,
        "ready_seconds": found.ready,
        "seconds": found.seconds,
        "memory_mb": found.memory_mb,
        "phases": [_data(phase) for phase in found.phases],
    }


def _data(phase: TriedPlacement) -> dict[str, Any]:
    measured, change = phase.measured, phase.change
    _, placed = by_host(Request.of(measured.seen), measured.seen.assignment)
    plain: dict[str, Any] = {
        "placement": phase.label,
        "measured_share": measured.share,
        "bytes_between_nodes": measured.bytes_between,
        "bytes": measured.bytes,
        "tuples_between_nodes": measured.tuples_between,
        "tuples": measured.tuples,
        "throughput": measured.throughput,
        "begin_seconds": phase.begin,
        "curve": list(phase.rates),
        "latency_ms": _latency(measured),
        "bears": phase.bears,
        "cpu_points": measured.cpu,
        "nodes_used": measured.nodes,
        "workers": measured.workers,
        "assignment": {task: str(slot) for task, slot in sorted(placed.items())},
    }
    if change is None:
        return plain
    check = compare_assignments(change.plan.assignment, measured.seen.assignment)
    return {
        **plain,
        "planned_share": change.plan.scores.share,
        "fullest_node": change.plan.scores.fullest_node,
        "plan_seconds": change.seconds,
        "moved": change.plan.scores.moves,
        "workers_restarted": change.restarted,
        "seconds_reduced": change.reduced,
        "usual_tuples_per_second": change.usual,
        "tuples_in_each_second": list(change.rates),
        "warnings": list(change.warnings),
        "steps": [step.message for step in change.receipt.steps],
        "hits": check.hits,
        "asked": check.asked,
    }


def html(found: StormDemoResult) -> str:
    """A page with the table and a picture of each placement as it was seen."""
    first = found.phases[0].measured
    intro = (
        (
            f"A word count over a real text ran on Apache Storm {found.storm}, unmodified, on a cluster of "
            f"{len(first.seen.cluster.nodes)} supervisors on one machine. Storm placed it first; then each scheduler "
            "was asked once, and Nimbus carried its plan out while the topology ran."
        ),
        (
            f"Schedulers planned for the rate that would keep {found.load:.0%} of the cluster's CPU busy, from costs "
            "and traffic that hooks in the workers measured while Storm's own placement ran."
        ),
    )
    tables = [Table(columns=COLUMNS, rows=tuple(rows(found)), caption=note(found))]
    tables += [Table(columns=TIMES, rows=tuple(times(found)), title=BEARS)] if found.apart else []
    curves = [_curves(found)] if any(each.rates for each in found.phases) else []
    return page("Headworks: one topology, several placements", intro, [*tables, *curves, *map(_panel, found.phases)])


def _curves(found: StormDemoResult) -> Panel:
    """Throughput over time, a curve a placement from its change on; what lies between them was not measured."""
    first = found.phases[0].begin
    begins = [phase.begin - first for phase in found.phases]
    curves = tuple(
        Curve(name=phase.label, colour=number, points=((begin, None), *_seconds(begin, phase.rates)))
        for number, (begin, phase) in enumerate(zip(begins, found.phases, strict=True))
    )
    marks = [(begin, phase.label) for begin, phase in zip(begins, found.phases, strict=True)]
    panel = CurvePanel(title="tuples that came to the last bolts, in a second", curves=curves)
    told = "Dashed lines: a plan is carried out. Between two curves a plan was made, or the topology submitted anew."
    return Panel(title="Over time", svg=curves_svg([panel], marks), caption=told)


def _seconds(begin: float, rates: Sequence[float]) -> tuple[tuple[float, float | None], ...]:
    return tuple((begin + number, rate) for number, rate in enumerate(rates, start=1))


def _panel(phase: TriedPlacement) -> Panel:
    measured = phase.measured
    request, placed = by_host(Request.of(measured.seen), measured.seen.assignment)
    told = f"{measured.bytes_between / 1e3:,.1f} of {measured.bytes / 1e3:,.1f} KB/s went from node to node. "
    if phase.change is not None:
        restarted, slow = phase.change.restarted, phase.change.reduced
        told += f"The change restarted {restarted} workers and slowed the topology for {slow} s. "
    svg = placement_svg(Problem.of(request), placed)
    return Panel(title=phase.label, svg=svg, caption=f"{told}Lines show the measured traffic.")
