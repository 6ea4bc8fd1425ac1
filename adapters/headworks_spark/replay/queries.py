"""Figures of each query in a log: how long its batches take, and why."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING

import attrs

from headworks_spark.discovery import Discovered, shape
from headworks_spark.events.history import Job

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks_spark.events.event import TaskEnd
    from headworks_spark.events.eventlog import Replay

NEAR = frozenset({"PROCESS_LOCAL", "NODE_LOCAL"})
"""Levels of locality at which a task runs on the node of its data or its state."""


@attrs.frozen(kw_only=True)
class StageFigures:
    """One stage of a query, over its batches.

    Attributes:
        tasks: Number of its tasks.
        seconds: Median seconds of a task.
        skew: Seconds of the slowest task over those of the median one, each the median of its batches; 1 is even.
        near: Share of its task runs on the node of their data or state.
        remote: Share of the shuffle bytes that it read from other nodes; None if it read none.
        written: Bytes that it wrote for other stages, a batch.
    """

    stage: str
    tasks: int
    seconds: float
    skew: float
    near: float
    remote: float | None
    written: float


@attrs.frozen(kw_only=True, eq=False)
class LoggedQuery:
    """Jobs of one scope that have the same stages: the batches of a query, or repetitions of an action.

    Attributes:
        scope: Id of the query or the job group; "" for jobs without one.
        name: Name of the query, its scope where it has none.
        batches: The jobs, oldest first; each has tasks in all stages.
        failed: Task attempts that failed.
    """

    scope: str
    name: str
    shape: Discovered
    batches: tuple[Job, ...]
    failed: int

    @property
    def seconds(self) -> float:
        """Median seconds of a batch, from the submission of its job to its end."""
        return median(job.seconds for job in self.batches)

    @property
    def busy(self) -> float:
        """Seconds of all task runs."""
        return sum(_seconds(task) for job in self.batches for task in job.tasks)

    def tasks(self, stage: str) -> list[tuple[TaskEnd, ...]]:
        """The tasks of one stage in each batch."""
        return [job.stage(self.shape.stages[stage]) for job in self.batches]

    def stages(self) -> tuple[StageFigures, ...]:
        """Figures of every stage, parents before children."""
        return tuple(self._stage(part.id, part.parallelism) for part in self.shape.topology.components)

    def _stage(self, stage: str, width: int) -> StageFigures:
        runs = self.tasks(stage)
        ends = [task for batch in runs for task in batch]
        by_partition: dict[int, list[float]] = defaultdict(list)
        for task in ends:
            by_partition[task.partition].append(_seconds(task))
        typical = [median(each) for each in by_partition.values()]
        local, remote = sum(task.local for task in ends), sum(task.remote for task in ends)
        return StageFigures(
            stage=stage,
            tasks=width,
            seconds=median(typical),
            skew=max(typical) / (median(typical) or 1.0),
            near=sum(task.locality in NEAR for task in ends) / len(ends),
            remote=remote / (local + remote) if local + remote else None,
            written=sum(task.written_bytes for task in ends) / len(runs),
        )


def logged_queries(log: Replay) -> tuple[LoggedQuery, ...]:
    """The queries of a log, those with most task time first.

    Jobs of one scope with other stages are another query; jobs that failed, and batches without data, count for none.
    """
    names = {each.query: each.name for each in log.history.progress}
    groups: dict[tuple[str, Discovered], list[Job]] = defaultdict(list)
    for job in log.history.jobs:
        if job.end.succeeded and job.start.stages and all(each.tasks for each in job.start.stages):
            scope = job.start.scope or ""
            groups[scope, shape(job.start, names.get(scope) or scope or "application")].append(job)
    found = [_query(scope, names.get(scope) or scope, like, jobs) for (scope, like), jobs in groups.items()]
    return tuple(sorted((each for each in found if each.batches), key=lambda each: -each.busy))


def _query(scope: str, name: str, like: Discovered, jobs: Sequence[Job]) -> LoggedQuery:
    whole = tuple(job for job in jobs if _ran(job))
    return LoggedQuery(scope=scope, name=name or "-", shape=like, batches=whole, failed=sum(job.failed for job in jobs))


def _ran(job: Job) -> bool:
    """Check whether every task of every stage ended well: no stage was skipped, and no line is missing."""
    ended: dict[int, set[int]] = defaultdict(set)
    for task in job.tasks:
        ended[task.stage].add(task.partition)
    return all(ended[each.stage] == set(range(each.tasks)) for each in job.start.stages)


def _seconds(task: TaskEnd) -> float:
    """Seconds for which a task held its core."""
    return max(task.ended - task.started, 0.0)
