"""The result of use case 2 as a table, as JSON, and as a page with a picture of who held which node when."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

import attrs

from headworks.report.html import Panel, Table, page
from headworks_lab.priority.feeds.feeds import CASE, FIRST, SECOND
from headworks_lab.priority.latency import percentile
from headworks_lab.priority.picture import holding_svg
from headworks_lab.priority.show import held
from headworks_lab.priority.steps import moments, triggers

if TYPE_CHECKING:
    from headworks_lab.priority.feeds.run import FeedDemoResult, FeedPhase

COLUMNS = (
    "scheduler",
    f"TT {FIRST} mean",
    f"TT {FIRST} p95",
    f"TT {SECOND} mean",
    f"TT {SECOND} p95",
    "O mean",
    "changes",
    "in / out",
)
NOTE = (
    "TT: seconds of a tuple from sent to its result in Kafka. O: seconds of a change of nodes, from the trigger to\n"
    "spouts that emit again. changes: those of nodes, with every step of Figure 6 in the history. in / out: tuples\n"
    "that producers sent, and those that topologies worked on."
)


def rows(found: FeedDemoResult) -> list[tuple[str, ...]]:
    """Cells of the table, in the order of `COLUMNS`."""
    return [_row(phase) for phase in found.phases]


def _row(phase: FeedPhase) -> tuple[str, ...]:
    times = [phase.latencies[name] for name in (FIRST, SECOND)]
    sent = sum(each.sent for each in phase.balances.values())
    written = sum(each.written for each in phase.balances.values())
    return (
        phase.scheduler,
        *(f"{value:.2f}" for each in times for value in (fmean(each), percentile(each, 95) or 0.0)),
        f"{fmean(phase.overheads):.1f}" if phase.overheads else "0",
        str(phase.changes),
        f"{sent:,} / {written:,}",
    )


def data(found: FeedDemoResult) -> dict[str, Any]:
    """The numbers, ready for JSON."""
    return {
        "workload": attrs.asdict(found.workload),
        "seconds": found.seconds,
        "phases": [_data(phase) for phase in found.phases],
    }


def _data(phase: FeedPhase) -> dict[str, Any]:
    return {
        "scheduler": phase.scheduler,
        "seconds": phase.end - phase.begin,
        "latencies": {name: list(each) for name, each in sorted(phase.latencies.items())},
        "overheads": list(phase.overheads),
        "balances": {name: attrs.asdict(each) for name, each in sorted(phase.balances.items())},
        "changes": phase.changes,
        "steps": [word for _, word in moments(phase.history)],
        "history": [dict(each) for each in phase.history],
        "held": held(phase.spans, phase.begin),
    }


def html(found: FeedDemoResult) -> str:
    """A page with the table and a picture of each scheduler."""
    workload = found.workload
    intro = (
        (
            "Use case 2 of Chakraborty's thesis on priority-based scheduling, a quarter of its size: producers sent "
            "tuples to a real broker of Kafka without a pause; on a real cluster of Storm two topologies worked on "
            "them and wrote results to Kafka; the first told a priority manager while many tuples came to its topic."
        ),
        (
            f"{workload.tuples} tuples came to the first topic, {workload.proportion:.0%} of them at {workload.rate:g} "
            f"a second and the others, before and after, at half of that. A tuple takes {workload.service:g} s of its "
            f"node's only core in {FIRST}, half of that in {SECOND}; tasks on a node take turns. All nodes are "
            "processes on one machine, so a turn is time that passes."
        ),
    )
    table = Table(columns=COLUMNS, rows=tuple(rows(found)), caption=NOTE)
    return page("Headworks: priorities that follow the rate of a feed", intro, [table, *map(_panel, found.phases)])


def _panel(phase: FeedPhase) -> Panel:
    names, marks = [each.name for each in CASE.members], triggers(phase.history, FIRST)
    picture = holding_svg(names, phase.spans, phase.begin, phase.end, marks)
    told = f"{phase.changes} changes of nodes. Dashed lines: triggers that began (on) and ended (off)."
    return Panel(title=phase.scheduler, svg=picture, caption=told)
