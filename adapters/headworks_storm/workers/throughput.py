"""Throughput of a topology, second by second, from the reports of its workers."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from headworks_storm.workers.topologies import ends

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from headworks_storm.nimbus.snapshot import Scheduled
    from headworks_storm.workers.reports import Report, TaskRow

RECEIVED: Callable[[TaskRow], int] = attrgetter("received")
"""Tuples that a task received in a window."""
REDUCED = 0.8
"""Throughput below this share of the usual counts as reduced."""


def sinks(scheduled: Scheduled) -> frozenset[int]:
    """Storm's numbers of the tasks whose bolts send to no other bolt of the topology's own."""
    _, last = ends(scheduled)
    return _numbers(scheduled, last)


def spout_tasks(scheduled: Scheduled) -> frozenset[int]:
    """Storm's numbers of the tasks of a topology's spouts."""
    first, _ = ends(scheduled)
    return _numbers(scheduled, first)


def _numbers(scheduled: Scheduled, tasks: Iterable[str]) -> frozenset[int]:
    pairs = (scheduled.executors[task] for task in tasks)
    return frozenset(number for start, end in pairs for number in range(start, end + 1))


def series(
    reports: Iterable[Report],
    tasks: Collection[int],
    begin: float,
    end: float,
    count: Callable[[TaskRow], int] = RECEIVED,
) -> tuple[float, ...]:
    """Tuples of tasks, those that they received by default, in each whole second from `begin` on, seconds since 1970.

    A report's tuples are spread evenly over its window.

    Args:
        begin: Start of the first second.
        end: What follows is left out.
        count: Reads the tuples that count off a task's row.
    """
    bins = [0.0] * max(0, int(end - begin))
    for report in reports:
        counted = sum(count(row) for row in report.tasks if row.task in tasks)
        start, stop = report.received - report.window - begin, report.received - begin
        for second in range(max(0, int(start)), min(len(bins), int(stop) + 1)):
            overlap = min(stop, second + 1) - max(start, second)
            bins[second] += counted * max(0.0, overlap) / report.window
    return tuple(bins)


def reduced(seconds: Sequence[float], usual: float) -> int:
    """Seconds with less than `REDUCED` of the usual throughput.

    Args:
        seconds: Tuples in each second.
        usual: Tuples in a second before.
    """
    return sum(each < REDUCED * usual for each in seconds)
