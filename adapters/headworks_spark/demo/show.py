"""The demo's results: one table, the same numbers as JSON, and a page with a picture of each placement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from headworks.problem import Problem
from headworks.report.curves import Curve, CurvePanel, curves_svg
from headworks.report.format import percent
from headworks.report.html import Panel, Table, page
from headworks.report.placement import placement_svg
from headworks_spark.demo.gain import gain
from headworks_spark.demo.offline import ALONE, free_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headworks.api import Comparison
    from headworks.model import Request
    from headworks_spark.demo.phases import MeasuredBatch, MeasuredPlacement
    from headworks_spark.demo.run import SparkDemoResult
    from headworks_spark.monitor import Totals

MEASURED = ("placement", "planned", "measured", "MB between", "as asked")
"""Columns of the table of a real run: shares of the bytes, planned and measured, that go from node to node, the bytes
themselves, and how many tasks ran where the plan put them."""
OFFLINE = ("placement", "status", "rows between nodes", "nodes", "fullest node")
"""Columns of the table of the offline part."""
PACE = "rows/s"
"""The column in place of the bytes where nodes are apart: rows that crossed the exchange in a second of batches."""
SHARES = "planned, measured: share of the bytes that go from node to node."
NOTE = f"{SHARES}\nAll nodes share the cores of this machine: bytes compare, times do not."
"""What is below the table of a real run."""
NOTE_APART = f"{SHARES}\nrows/s: on nodes with a network of their own."
"""What is below it where nodes are apart."""
FIGURES: tuple[tuple[str, Callable[[MeasuredBatch], float]], ...] = (
    ("MB between nodes, in a batch", lambda batch: batch.remote / 1e6),
    ("seconds of a batch", lambda batch: batch.end - batch.begin),
)
"""What the curves show of each batch; seconds only where times compare."""


def measured_columns(found: SparkDemoResult) -> tuple[str, ...]:
    """Columns of the table of a real run: bytes give way to `PACE` where times compare."""
    return tuple(PACE if found.apart and each == "MB between" else each for each in MEASURED)


def note(found: SparkDemoResult) -> str:
    """Sentences below the table of a real run."""
    return NOTE_APART if found.apart else NOTE


def measured_rows(found: SparkDemoResult) -> list[tuple[str, ...]]:
    """Cells of the table of a real run, in the order of `measured_columns`."""
    return [
        (
            phase.label,
            percent(phase.plan.scores.share) if phase.plan else "-",
            percent(phase.measured.share),
            _pace(phase.measured) if found.apart else f"{phase.measured.remote / 1e6:.2f}",
            f"{phase.measured.hits} / {phase.measured.asked}" if phase.plan else "-",
        )
        for phase in found.phases
    ]


def _pace(measured: Totals) -> str:
    return f"{measured.rows / measured.seconds if measured.seconds else 0.0:,.0f}"


def verdict(found: SparkDemoResult) -> str:
    """Sentence that compares the stream's statistics with the batch answer."""
    if found.differences:
        return f"{len(found.differences)} airports differ from the batch answer over the same {found.days:,} days"
    return f"Every airport's statistics equal the batch answer over the same {found.days:,} days: nothing was lost."


def measured_data(found: SparkDemoResult) -> dict[str, Any]:
    """The numbers of a real run, ready for JSON."""
    won = gain(found)
    return {
        "spark": found.spark,
        "load": found.load,
        "apart": found.apart,
        "days": found.days,
        "differences": list(found.differences),
        "seconds": found.seconds,
        "gain": attrs.asdict(won) if won else None,
        "phases": [
            {
                "placement": phase.label,
                "planned_share": phase.plan.scores.share if phase.plan else None,
                "measured_share": phase.measured.share,
                "bytes_between_nodes": phase.measured.remote,
                "bytes": phase.measured.remote + phase.measured.local,
                "rows": phase.measured.rows,
                "batches": phase.measured.batches,
                "batch_seconds": phase.measured.seconds,
                "each_batch": [
                    {"begin": each.begin, "end": each.end, "rows": each.rows, "bytes_between_nodes": each.remote}
                    for each in phase.batches
                ],
                "nodes_used": phase.nodes_used,
                "fullest_node": phase.plan.scores.fullest_node if phase.plan else None,
                "planned_batch_seconds": phase.batch_seconds,
                "moved": phase.plan.scores.moves if phase.plan else None,
                "plan_seconds": phase.seconds if phase.plan else None,
                "hits": phase.measured.hits,
                "asked": phase.measured.asked,
                "failed_tasks": phase.measured.failed,
                "assignment": {task: str(slot) for task, slot in sorted(phase.placed.items())},
            }
            for phase in found.phases
        ],
    }


def measured_page(found: SparkDemoResult) -> str:
    """A page with the table and a picture of each placement as it was seen."""
    rows = found.phases[0].measured.rows
    intro = (
        (
            "A streaming query over the flights that left New York in 2013 ran on Spark "
            f"{found.spark}: 12 feeds by carrier, re-keyed by destination, statistics kept per airport. "
            f"Each placement processed the same {rows:,} flights while the query kept running."
        ),
        (
            f"Schedulers planned for the rate that would keep {found.load:.0%} of the cluster's CPU busy, from "
            "costs and traffic measured while Spark placed the query alone."
        ),
        verdict(found),
        *((str(won),) if (won := gain(found)) else ()),
    )
    phases = found.phases
    table = Table(columns=measured_columns(found), rows=tuple(measured_rows(found)), caption=note(found))
    panels = [
        Panel(
            title=phase.label,
            svg=placement_svg(Problem.of(phase.asked or found.question), phase.placed),
            caption=_caption(phase),
        )
        for phase in phases
    ]
    curves = [_curves(found)] if any(phase.batches for phase in phases) else []
    return page("Headworks: one query, several placements", intro, [table, *curves, *panels])


def _curves(found: SparkDemoResult) -> Panel:
    """Batches over time, a step each and a curve a placement; what lies between two was not measured."""
    phases = found.phases
    first = min(batch.begin for phase in phases for batch in phase.batches)
    marks = [(phase.batches[0].begin - first, phase.label) for phase in phases if phase.batches]
    panels = [
        CurvePanel(
            title=title,
            curves=tuple(
                Curve(name=phase.label, colour=number, points=_steps(phase.batches, first, value))
                for number, phase in enumerate(phases)
            ),
        )
        for title, value in (FIGURES if found.apart else FIGURES[:1])
    ]
    told = "A step is a batch. Dashed lines: the first batch of the next placement, while the same query went on."
    return Panel(title="Over time", svg=curves_svg(panels, marks), caption=told)


def _steps(
    batches: Sequence[MeasuredBatch], first: float, value: Callable[[MeasuredBatch], float]
) -> tuple[tuple[float, float | None], ...]:
    begins = [(batches[0].begin - first, None)] if batches else []
    return (*begins, *((batch.end - first, value(batch)) for batch in batches))


def _caption(phase: MeasuredPlacement) -> str:
    moved = f"{phase.measured.remote / 1e6:.2f} MB of {(phase.measured.remote + phase.measured.local) / 1e6:.2f} MB"
    return f"{moved} went from node to node while a year of rows was processed. Lines show the planned traffic."


def offline_rows(comparison: Comparison, request: Request) -> list[tuple[str, ...]]:
    """Cells of the table of the offline part, in the order of `OFFLINE`; the first row is Spark's own scheduler."""
    plans = [(row.scheduler, row.plan.label, row.plan.scores) for row in comparison.plans]
    return [
        (name, label, percent(scores.share), str(scores.nodes_used), percent(scores.fullest_node))
        for name, label, scores in [(ALONE, "-", free_scores(request)), *plans]
    ]
