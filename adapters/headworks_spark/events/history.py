"""From single events to whole jobs: what ran, where, and what it read."""

from __future__ import annotations

from collections import deque

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks_spark.events.event import (
    Event,
    ExecutorAdded,
    ExecutorRemoved,
    JobEnd,
    JobStart,
    QueryEnded,
    QueryProgress,
    StageCompleted,
    TaskEnd,
)

KEPT = 256
"""Finished jobs, and batches, that are remembered."""
TASKS = 100_000
"""Ends of tasks that are remembered, those of the latest jobs: if larger, each takes 0.5 KB more of the driver; if
smaller, a window of wide batches is averaged over fewer of them."""
CELLS = 4_000_000
"""Blocks of shuffles that are remembered, those of the latest jobs: if larger, each takes 4 bytes more; if smaller,
flows are means of fewer batches."""
WHOLE = 8
"""Jobs that are remembered however many tasks they have."""


@attrs.frozen(kw_only=True, eq=False)
class Shuffle:
    """The exchange from stage `source` to `target`: float32 (maps, reduces), bytes, as the tracker rounds them."""

    source: int
    target: int
    sizes: NDArray[np.float32]


@attrs.frozen(kw_only=True, eq=False)
class Job:
    """A finished job: one micro-batch, or one action.

    `tasks` holds the successful attempt of every task, by stage and partition; `failed` counts the others. `shuffles`
    is empty where sizes could not be read, or are remembered no more.
    """

    start: JobStart
    end: JobEnd
    tasks: tuple[TaskEnd, ...]
    failed: int
    shuffles: tuple[Shuffle, ...] = ()

    @property
    def seconds(self) -> float:
        """Duration, from the submission of the job to its end."""
        return self.end.time - self.start.time

    def stage(self, ordinal: int, signature: str | None = None) -> tuple[TaskEnd, ...]:
        """The tasks of one stage, by partition; none if Spark skipped it, or it is another one.

        Args:
            ordinal: Rank of the stage among the stages of the job.
            signature: What `JobStart.signature` said of the stage that is meant; None takes any of this rank.
        """
        stages = self.start.in_order()
        wanted = stages[ordinal].stage if ordinal < len(stages) else None
        if signature is not None and self.start.signature(ordinal) != signature:
            return ()
        return tuple(task for task in self.tasks if task.stage == wanted)


@attrs.define
class _Running:
    start: JobStart
    tasks: dict[tuple[int, int], TaskEnd] = attrs.Factory(dict)
    failed: int = 0
    shuffles: list[Shuffle] = attrs.Factory(list)


class History:
    """Finished jobs and live executors, as far as the events so far tell."""

    def __init__(self, kept: int = KEPT) -> None:
        """Begin with nothing; `kept` jobs and batches are remembered."""
        self.jobs: deque[Job] = deque(maxlen=kept)
        """Finished jobs, the latest last, as many as `TASKS` and `kept` allow."""
        self.executors: dict[str, ExecutorAdded] = {}
        """Live executors by id."""
        self.progress: deque[QueryProgress] = deque(maxlen=kept)
        """Micro-batches as their queries reported them, the latest last."""
        self.reported: dict[str, int] = {}
        """The newest micro-batch that each query reported, by its id; of the latest thousand queries."""
        self.ended: dict[str, QueryEnded] = {}
        """Queries that have ended, by the id of their run; the latest hundred."""
        self.nodes: dict[str, str] = {}
        """Nodes of the hosts that are none themselves, as pods are."""
        self._running: dict[int, _Running] = {}
        self._job_of: dict[int, int] = {}

    def add(self, event: Event) -> None:
        """Take in the next event."""
        match event:
            case TaskEnd():
                self._end_task(event)
            case JobStart():
                self._running[event.job] = _Running(event)
                self._job_of.update(dict.fromkeys((each.stage for each in event.stages), event.job))
            case JobEnd():
                self._end_job(event)
            case ExecutorAdded():
                self.executors[event.executor] = event
                if event.address:
                    self.nodes[event.address] = event.host
            case ExecutorRemoved():
                self.executors.pop(event.executor, None)
            case QueryProgress():
                self.progress.append(event)
                self.reported.pop(event.query, None)
                self.reported = dict([*self.reported.items(), (event.query, event.batch)][-1000:])
            case QueryEnded():
                self.ended = dict([*self.ended.items(), (event.run, event)][-100:])

    def complete(self, job: Job) -> bool:
        """True if the micro-batch of a finished job is over: its query reports it after the last of its jobs.

        Args:
            job: The job; one that is of no query is over by itself.
        """
        query, batch = job.start.query, job.start.batch
        return query is None or batch is None or self.reported.get(query, -1) >= batch

    def shuffles_written(self, event: StageCompleted) -> tuple[tuple[int, int, dict[int, int]], ...]:
        """Shuffles that a stage which just ended wrote: (reading stage, number of its tasks, partition by map id)."""
        running = self._of(event.stage)
        if running is None or event.reason:
            return ()
        # The map output tracker knows map tasks by the id of the attempt, not by their partition.
        maps = {task.task: task.partition for task in running.tasks.values() if task.stage == event.stage}
        readers = [each for each in running.start.stages if event.stage in each.parents]
        return tuple((each.stage, each.tasks, maps) for each in readers if maps)

    def add_shuffle(self, shuffle: Shuffle) -> None:
        """Attach what the map output tracker said to the running job."""
        running = self._of(shuffle.source)
        if running is not None:
            running.shuffles.append(shuffle)

    def _of(self, stage: int) -> _Running | None:
        return self._running.get(self._job_of.get(stage, -1))

    def _end_task(self, event: TaskEnd) -> None:
        running = self._of(event.stage)
        if running is None:
            return
        if event.host in self.nodes:
            event = attrs.evolve(event, host=self.nodes[event.host])
        # Of several attempts at a partition the last success counts: it is its output that the next stage reads.
        if event.failed:
            running.failed += 1
        else:
            running.tasks[event.stage, event.partition] = event

    def _end_job(self, event: JobEnd) -> None:
        running = self._running.pop(event.job, None)
        if running is None:
            return
        for each in running.start.stages:
            self._job_of.pop(each.stage, None)
        tasks = tuple(running.tasks[key] for key in sorted(running.tasks))
        # A stage that was tried again wrote its shuffle again: the later sizes replace the earlier ones.
        shuffles = tuple({(each.source, each.target): each for each in running.shuffles}.values())
        self.jobs.append(Job(start=running.start, end=event, tasks=tasks, failed=running.failed, shuffles=shuffles))
        self._forget()

    def _forget(self) -> None:
        """Keep the latest jobs with `TASKS` ends of tasks, and the shuffles of the latest with `CELLS` blocks."""
        tasks = cells = 0
        for number, job in enumerate(reversed(tuple(self.jobs))):
            tasks += len(job.tasks)
            if tasks > TASKS and number >= WHOLE:
                for _ in range(len(self.jobs) - number):
                    self.jobs.popleft()
                return
            cells += sum(each.sizes.size for each in job.shuffles)
            if job.shuffles and cells > CELLS:
                self.jobs[-1 - number] = attrs.evolve(job, shuffles=())
