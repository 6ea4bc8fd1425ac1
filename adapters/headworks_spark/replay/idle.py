"""Hours of executors in a log, and the part of them in which they ran no task."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headworks_spark.events.eventlog import ExecutorLife, Replay


def executor_hours(log: Replay) -> float:
    """Hours of all executors, until each went or the last job that is remembered ended."""
    last = _last(log)
    return sum(max(_end(each, last) - each.started, 0.0) for each in log.executors) / 3600.0


def idle_share(log: Replay) -> float:
    """Share of the executors' time in which they ran no task, since the first job that is remembered began."""
    first, last = min(job.start.time for job in log.history.jobs), _last(log)
    runs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for job in log.history.jobs:
        for end in job.tasks:
            runs[end.executor].append((end.started, end.ended))
    there = sum(max(_end(each, last) - max(each.started, first), 0.0) for each in log.executors)
    busy = sum(map(_covered, runs.values()))
    return max(1.0 - busy / there, 0.0) if there else 0.0


def _last(log: Replay) -> float:
    return max(job.end.time for job in log.history.jobs)


def _end(executor: ExecutorLife, last: float) -> float:
    return last if executor.ended is None else executor.ended


def _covered(times: Iterable[tuple[float, float]]) -> float:
    """Seconds in which at least one of some tasks ran."""
    covered = until = 0.0
    for begin, end in sorted(times):
        covered += max(end - max(begin, until), 0.0)
        until = max(until, end)
    return covered
