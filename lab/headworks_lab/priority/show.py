"""The result of the demo as a table, as JSON, and as a page with a picture of who held which node when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from headworks.report.html import Panel, Table, page
from headworks_lab.priority.latency import percentile
from headworks_lab.priority.picture import holding_svg
from headworks_lab.priority.steps import triggers
from headworks_lab.priority.workload import EVENTS, MEMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks_lab.priority.run import Phase, PriorityDemoResult
    from headworks_lab.priority.site.holding import Span

COLUMNS = (
    "scheduler",
    "TE p50",
    "TE p95",
    "TE last",
    "TT high p50",
    "TT high p95",
    "TT low p50",
    "TT low p95",
    "changes",
    "in / out",
)
NOTE = (
    "TE: seconds from a batch sent to the complex event; last: of the last one, when nodes have changed hands.\n"
    "TT: seconds for a tuple, in event topologies (high) and archival ones (low). changes: those of nodes, with every\n"
    "step of Figure 6 in the history. in / out: tuples that gateways sent, and those that topologies wrote down."
)


def rows(found: PriorityDemoResult) -> list[tuple[str, ...]]:
    """Cells of the table, in the order of `COLUMNS`."""
    return [_row(phase) for phase in found.phases]


def _row(phase: Phase) -> tuple[str, ...]:
    own = phase.latencies
    sent = sum(each.sent for each in phase.balances.values())
    written = sum(each.written for each in phase.balances.values())
    return (
        phase.scheduler,
        _seconds(percentile(own.complex_events, 50), 1),
        _seconds(percentile(own.complex_events, 95), 1),
        _seconds(own.complex_events[-1] if own.complex_events else None, 1),
        *(_seconds(percentile(values, share), 2) for values in (own.high, own.low) for share in (50, 95)),
        str(phase.changes),
        f"{sent:,} / {written:,}",
    )


def _seconds(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def data(found: PriorityDemoResult) -> dict[str, Any]:
    """The numbers, ready for JSON."""
    return {
        "workload": attrs.asdict(found.workload),
        "seconds": found.seconds,
        "phases": [_data(phase) for phase in found.phases],
    }


def _data(phase: Phase) -> dict[str, Any]:
    own = phase.latencies
    return {
        "scheduler": phase.scheduler,
        "seconds": phase.end - phase.begin,
        "complex_events": list(own.complex_events),
        "high": list(own.high),
        "low": list(own.low),
        "balances": {name: attrs.asdict(each) for name, each in sorted(phase.balances.items())},
        "changes": phase.changes,
        "steps": list(phase.steps),
        "history": [dict(each) for each in phase.history],
        "held": held(phase.spans, phase.begin),
    }


def held(spans: Sequence[Span], begin: float) -> list[dict[str, Any]]:
    """Spans of holding in seconds from the begin, ready for JSON.

    Args:
        spans: Who held which node when.
        begin: Seconds since 1970.
    """
    return [
        {"node": each.host, "topologies": list(each.topologies), "from": each.begin - begin, "to": each.end - begin}
        for each in spans
    ]


def html(found: PriorityDemoResult) -> str:
    """A page with the table and a picture of each scheduler."""
    workload = found.workload
    intro = (
        (
            "Use case 1 of Chakraborty's thesis on priority-based scheduling, a quarter of its size: gateways sent "
            "batches of readings to a real broker of Kafka; on a real cluster of Storm two topologies inferred events "
            "from them, and two archived them; a priority manager heard of triggers while all of that ran."
        ),
        (
            f"Each of four gateways sent {workload.batches} batches of {workload.length} readings, one every "
            f"{workload.gap:g} s; {len(workload.eventful)} of them, one after the other, made raw events in both topics"
            f" at once. A reading takes {workload.service:g} s of its node's only core in an event topology, half of"
            " that in an archival one; tasks on a node take turns. All nodes are processes on one machine, so a turn"
            " is time that passes. On Storm a topology that is to starve keeps its workers."
        ),
    )
    table = Table(columns=COLUMNS, rows=tuple(rows(found)), caption=NOTE)
    return page("Headworks: priorities that change while topologies run", intro, [table, *map(_panel, found.phases)])


def _panel(phase: Phase) -> Panel:
    names, marks = [each.name for each in MEMBERS], triggers(phase.history, EVENTS[0])
    picture = holding_svg(names, phase.spans, phase.begin, phase.end, marks)
    told = f"{phase.changes} changes of nodes. Dashed lines: triggers that began (on) and ended (off)."
    return Panel(title=phase.scheduler, svg=picture, caption=told)
