"""The time of a query's batches with other executors, or with tasks on other nodes."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

import attrs

from headworks.model import Task
from headworks_spark.replay.makespan import StageRun, makespan
from headworks_spark.replay.request import alive

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from headworks.model import Slot
    from headworks_spark.events.event import TaskEnd
    from headworks_spark.events.eventlog import ExecutorLife
    from headworks_spark.events.history import Job
    from headworks_spark.replay.queries import LoggedQuery

LATEST = 20
"""Batches that are computed, the latest."""


@attrs.frozen(kw_only=True)
class Estimate:
    """Seconds of a batch, the median of the latest, as computed for some executors.

    Attributes:
        executors: Their number. `slots`: tasks that all of them run at once.
        busy: Share of the time of these slots in which tasks ran.
    """

    executors: int
    slots: int
    seconds: float
    busy: float


def with_executors(query: LoggedQuery, executors: Sequence[ExecutorLife], count: int | None = None) -> Estimate:
    """Compute the batches with a number of executors, each with the slots that most of them had.

    Tasks take the seconds that they took: what more or fewer neighbours do to caches, disks and networks is not in it.

    Args:
        count: Executors; None is those that the last batch had.
    """
    there = alive(executors, query.batches[-1])
    slots = sum(each.slots for each in there) if count is None else count * usual_slots(there)
    times = [makespan(_runs(query, job), (slots,)) for job in query.batches[-LATEST:]]
    work = [sum(sum(stage.seconds) for stage in _runs(query, job)) for job in query.batches[-LATEST:]]
    seconds = median(times)
    busy = median(work) / (seconds * slots) if seconds * slots else 0.0
    return Estimate(executors=len(there) if count is None else count, slots=slots, seconds=seconds, busy=busy)


def evened(query: LoggedQuery, executors: Sequence[ExecutorLife], *, remote: bool = False) -> float:
    """Seconds of a batch as it ran with even tasks, as long as the mean of their stage; see `with_executors`.

    Args:
        remote: True to keep tasks as they are, without the time in which they waited for blocks of other nodes.
    """
    slots = sum(each.slots for each in alive(executors, query.batches[-1]))
    latest = query.batches[-LATEST:]
    if remote:
        latest = tuple(attrs.evolve(job, tasks=tuple(map(_near, job.tasks))) for job in latest)
    runs = [_runs(query, job) for job in latest]
    return median(makespan(stages if remote else tuple(map(_even, stages)), (slots,)) for stages in runs)


def _near(task: TaskEnd) -> TaskEnd:
    return attrs.evolve(task, ended=task.ended - task.waited)


def _even(stage: StageRun) -> StageRun:
    return attrs.evolve(stage, seconds=(sum(stage.seconds) / len(stage.seconds),) * len(stage.seconds))


def usual_slots(executors: Iterable[ExecutorLife]) -> int:
    """Slots of most executors, 1 where there are none."""
    counts = Counter(each.slots for each in executors)
    return max(counts, key=lambda slots: (counts[slots], slots), default=1)


def beside(query: LoggedQuery, jobs: Iterable[Job]) -> float:
    """Share of the time of a query's latest batches in which other jobs ran, as those of other queries.

    Args:
        jobs: All finished jobs.
    """
    latest, times = query.batches[-LATEST:], sorted((job.start.time, job.end.time, job.start.job) for job in jobs)
    return sum(_covered(job, times) for job in latest) / (sum(job.seconds for job in latest) or 1.0)


def _covered(job: Job, times: Iterable[tuple[float, float, int]]) -> float:
    """Seconds of a job in which one of the others ran at least."""
    covered, until = 0.0, job.start.time
    for begin, end, number in times:
        if number != job.start.job:
            covered += max(min(end, job.end.time) - max(begin, until), 0.0)
            until = max(until, end)
    return covered


def with_placement(query: LoggedQuery, executors: Sequence[ExecutorLife], assignment: Mapping[str, Slot]) -> float:
    """Seconds of a batch with every task on the node of an assignment, the median of the latest; see `with_executors`.

    Args:
        assignment: Slot by task id, of every task, on nodes of the last batch.
    """
    slots: Counter[str] = Counter()
    for each in alive(executors, query.batches[-1]):
        slots[each.host] += each.slots
    index = {host: number for number, host in enumerate(slots)}
    node_of = {task: index[slot.node] for task, slot in assignment.items()}
    times = [makespan(_runs(query, job, node_of), tuple(slots.values())) for job in query.batches[-LATEST:]]
    return median(times)


def _runs(query: LoggedQuery, job: Job, node_of: Mapping[str, int] | None = None) -> tuple[StageRun, ...]:
    order = sorted(job.start.stages, key=lambda each: each.stage)
    rank = {each.stage: number for number, each in enumerate(order)}
    component = {ordinal: name for name, ordinal in query.shape.stages.items()}
    runs = []
    for each in order:
        ordinal = job.start.ordinal(each.stage)
        tasks = job.stage(ordinal)
        ids = [Task(query.shape.topology.id, component[ordinal], task.partition).id for task in tasks]
        runs.append(
            StageRun(
                parents=tuple(rank[parent] for parent in each.parents if parent in rank),
                seconds=tuple(max(task.ended - task.started, 0.0) for task in tasks),
                nodes=() if node_of is None else tuple(node_of[task] for task in ids),
            )
        )
    return tuple(runs)
