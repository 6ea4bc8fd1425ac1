"""Batches by which a round measures an application: pure functions of finished jobs and times."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from headworks_spark.events.history import Job

LEAST = 30.0
"""Seconds that a round waits at least for a batch: if larger, a round with a stuck query takes longer; if smaller, one
slow batch of a quick query is not waited for."""
RECENT = 10
"""Batches of which the longest is expected again: if larger, one slow batch is remembered longer."""


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
        opened: Begin of the window.
        alive: Hosts with an executor: a batch that ran elsewhere too says nothing of what runs now.
    """
    settled = [job for job in jobs if job.start.time >= since and all(end.host in alive for end in job.tasks)]
    return tuple(job for job in settled if job.end.time > opened) or tuple(settled[-1:])
