"""Micro-batches: the job of one that is planned for, and the batches by which a round measures an application."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from headworks_spark.events.history import Job
LEAST = 30.0
"""Seconds that a round waits at least for a batch: if larger, a round with a stuck query takes longer; if smaller, one
slow batch of a quick query is not waited for."""
RECENT = 10
"""Batches of which the longest is expected again."""


def last_batch(jobs: Sequence[Job], ended: Collection[int]) -> tuple[Job, ...]:
    """The jobs of the last micro-batch that has ended and ran all stages with data; of no query the last such job.

    Args:
        jobs: Finished jobs of a scope, oldest first.
        ended: Numbers of the batches that the query has reported.
    """
    batches: dict[int, list[Job]] = defaultdict(list)
    for job in jobs:
        # A job that is of no batch is one by itself, under a number that no batch has.
        batches[-1 - job.start.job if job.start.batch is None else job.start.batch].append(job)
    whole = [found for number, found in batches.items() if (number < 0 or number in ended) and any(map(_data, found))]
    return tuple(whole[-1]) if whole else ()


def main_job(batch: Sequence[Job]) -> Job:
    """The job of a batch whose tasks ran longest: the one whose placement matters most.

    Args:
        batch: Jobs of one batch, one of them with data at least.
    """
    return max(filter(_data, batch), key=lambda job: sum(task.run for task in job.tasks))


def is_adaptive(batch: Sequence[Job]) -> bool:
    """True if adaptive execution made several jobs of one query: a later one skips the stages of the earlier ones."""
    return any(
        job.start.execution is not None
        and job.start.execution == other.start.execution
        and job is not other
        and _skips(job)
        for job in batch
        for other in batch
    )


def _data(job: Job) -> bool:
    return bool(job.start.stages) and all(stage.tasks for stage in job.start.stages)


def _skips(job: Job) -> bool:
    ran = {task.stage for task in job.tasks}
    return any(stage.tasks and stage.stage not in ran for stage in job.start.stages)


def budget(trigger: float, jobs: Sequence[Job]) -> float:
    """Seconds in which the next whole batch ends: the one that runs, the wait for a trigger, and the next.

    Args:
        trigger: Seconds between two triggers of the query, 0 of one without.
        jobs: Its finished batches, oldest first.
    """
    longest = max((job.seconds for job in jobs[-RECENT:]), default=0.0)
    return max(LEAST, 2.0 * trigger, trigger + 2.0 * longest)


def measurable(jobs: Sequence[Job], *, since: float, opened: float, alive: Collection[str]) -> tuple[Job, ...]:
    """The batches that ended in a window, else the last one before, of those that ran as tasks are placed now.

    Args:
        jobs: Finished batches, oldest first.
        since: When places were last changed (seconds since the epoch): batches that began before may be half in the
            earlier ones.
        alive: Hosts with an executor: a batch that ran elsewhere too says nothing of what runs now.
    """
    settled = [job for job in jobs if job.start.time >= since and all(end.host in alive for end in job.tasks)]
    return tuple(job for job in settled if job.end.time > opened) or tuple(settled[-1:])
