"""Monitor of a placed application: an observation for schedulers, totals for comparing placements."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import attrs

from headworks.errors import EngineEndedError, EngineError
from headworks.model import (
    Cluster,
    FrozenMap,
    Metrics,
    NodeSample,
    Observation,
    Slot,
    Task,
    TaskSample,
    TopologySample,
)
from headworks_spark.driver.operators import by_stage
from headworks_spark.driver.reach import driver_of
from headworks_spark.driver.session import executors
from headworks_spark.driver.usage import read_usage, with_usage
from headworks_spark.events.batch import budget, measurable
from headworks_spark.events.flows import exchanges, flows, stream
from headworks_spark.events.intake import intake
from headworks_spark.events.sizes import state_of
from headworks_spark.events.speed import node_speeds
from headworks_spark.nodes import nodes, task_threads, with_threads
from headworks_spark.target import PORT, with_measured

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from headworks_spark.driver.usage import Usage
    from headworks_spark.events.event import QueryProgress, TaskEnd
    from headworks_spark.events.history import Job
    from headworks_spark.target import SparkTarget

LOOK = 1.0
"""Seconds between two looks for the end of a query or connection while a batch is waited for."""


def observe(target: SparkTarget, window: float) -> Observation:
    """Watch for `window` seconds, and longer if no batch has begun and ended since places were last changed.

    Batches that ended in the window are measured, else the last one before it. Those that began before the last change
    are left out: they may be half in an earlier placement. If there is none, the next one is waited for as long as two
    triggers, or the query's own batches, may take. Without it tasks are where the last batch ran them, and it is
    measured if that is where they are asked to run. The cluster is there in any case.

    Args:
        window: Seconds.

    Raises:
        EngineEndedError: The query has ended, or its places were given back.
        EngineError: Nothing listens to the session.
    """
    refuse_ended(target)
    opened, before = begin_window(target)
    time.sleep(window)
    return with_usage(target.spark, watched(target, opened), before, executors(target.spark))


def look(target: SparkTarget) -> Observation:
    """The nodes that are alive now, the topology, and where its last batch ran; nothing is measured or waited for.

    Raises:
        EngineEndedError: The query has ended, or its places were given back.
        EngineError: Nothing listens to the session.
    """
    refuse_ended(target)
    places = FrozenMap[str, Slot]() if target.held else _seen(target, _recorder(target).jobs(target.scope))
    return attrs.evolve(observation(target, ()), assignment=places)


def begin_window(target: SparkTarget) -> tuple[float, Mapping[str, Usage]]:
    """The time, and what executors have used so far; executors that are there belong to the application.

    Args:
        target: The application, or one of several on the same session.
    """
    opened = time.time()
    target.total.see(len(executors(target.spark)))
    return opened, read_usage(target.spark)


def watched(target: SparkTarget, opened: float, *, patience: float | None = None) -> Observation:
    """Tell what a window shows, at its end, as `observe` does; no batch is waited for of what waits by a plan.

    Args:
        opened: Time at which the window began.
        patience: Seconds to wait for a batch where none ended; by default two triggers, or the query's own batches.

    Raises:
        EngineEndedError: A batch was waited for, and the query has ended, or its places were given back.
        EngineError: Nothing listens to the session.
    """
    recorder = _recorder(target)
    if target.held:  # it wants what its last batch did, else it might fit on no node again
        known, note = _latest(target)[1], f"{target.topology.id} has no node, and waits"
        return Observation(cluster=known.cluster, topologies=known.topologies, notes=(note,))
    jobs = _measurable(target, opened, patience)
    target.brokers.look(driver_of(target.spark), target.query, target.topology, target.stages, nodes(target.spark))
    first = jobs[0].start.time if jobs else opened
    earlier = [job.end.time for job in recorder.jobs(target.scope) if job.end.time <= first]
    seen = observation(target, jobs, begin=max(earlier, default=None))
    if not jobs:
        note = f"{target.topology.id} ended no batch in {time.time() - opened:.0f} s"
        if target.is_outdated():
            note = (
                f"the last batches of {target.topology.id} ran other stages than were planned: they are left to Spark"
            )
        return attrs.evolve(_last(target, seen), notes=(note,))
    late = _late(target, jobs[-1], opened)
    return attrs.evolve(seen, notes=(*late, *target.brokers.notes, *batch_notes(target, jobs)))


def _measurable(target: SparkTarget, opened: float, patience: float | None) -> tuple[Job, ...]:
    """Batches that measure what runs now; waits for one if there is none."""
    recorder, since = _recorder(target), target.changed()
    own = budget(driver_of(target.spark).trigger(target.query).seconds, recorder.jobs(target.scope))
    deadline = time.monotonic() + (own if patience is None else min(patience, own))
    while True:
        alive = set(executors(target.spark).values())
        heard = recorder.jobs(target.scope)
        # What a batch reports of itself, as its state, comes after its jobs: until then it has not ended.
        planned = [job for job in heard if target.runs(job) and recorder.complete(job)]
        found = measurable(planned, since=since, opened=opened, alive=alive)
        left = deadline - time.monotonic()
        if found:
            # Other jobs of these batches use the same nodes.
            begin, end = found[0].start.time, found[-1].end.time
            return tuple(job for job in heard if begin <= job.start.time and job.end.time <= end)
        if left <= 0 or target.is_outdated():
            return ()
        # A query that ended meanwhile is over, and not one without data.
        refuse_ended(target)
        recorder.wait(target.scope, 1, since=time.time(), timeout=min(left, LOOK))


def _late(target: SparkTarget, job: Job, opened: float) -> Iterator[str]:
    if job.end.time <= opened:
        ago = time.time() - job.end.time
        yield f"{target.topology.id} ended no batch in this window: measured by the one that ended {ago:.0f} s ago"


def _last(target: SparkTarget, seen: Observation) -> Observation:
    """The observation with the last batch that ended, measured if all of it ran as is asked now."""
    last, measured = _latest(target)
    done = totals(target, last, target.asked())
    if not last or done.hits < done.asked:
        return attrs.evolve(seen, assignment=_seen(target, last))
    return attrs.evolve(measured, metrics=attrs.evolve(measured.metrics, nodes=seen.metrics.nodes))


def _latest(target: SparkTarget) -> tuple[tuple[Job, ...], Observation]:
    """The last batch that ended, if any did, and what it measures."""
    jobs = _recorder(target).jobs(target.scope)
    begin = max((job.end.time for job in jobs[-2:-1]), default=None)
    return jobs[-1:], observation(target, jobs[-1:], begin=begin)


def refuse_ended(target: SparkTarget) -> None:
    """Say so when there is nothing left to watch, or nobody who may place it.

    Raises:
        EngineEndedError: The query has ended, or its places were given back.
        EngineError: Nothing listens to the session.
    """
    _recorder(target)
    query = target.query
    if target.given_back:
        raise EngineEndedError(f"the tasks of {target.topology.id!r} were left to Spark")
    if query is not None and not query.isActive:
        error = query.exception()
        why = f": {error}".partition("\n")[0] if error else ""
        raise EngineEndedError(f"the query {target.topology.id!r} has ended{why}")


def batch_notes(target: SparkTarget, jobs: Sequence[Job]) -> Iterator[str]:
    """Hits and misses of each batch against what is asked now, one sentence a batch; before them, why tasks missed.

    Args:
        jobs: Its batches; none of them makes a sentence while nothing is asked.
    """
    asked = target.asked()
    if left := target.left():
        yield f"tasks not run where asked so far: {', '.join(f'{count} {reason}' for reason, count in left.items())}"
    for job in jobs if asked else ():
        done = totals(target, [job], asked)
        name = f"batch {job.start.batch}" if job.start.batch is not None else f"job {job.start.job}"
        misses = done.asked - done.hits
        yield f"{name}: {done.hits} hits, {misses} misses, {done.remote} bytes between nodes, {done.failed} failures"


def _seen(target: SparkTarget, jobs: Sequence[Job]) -> FrozenMap[str, Slot]:
    """Slots of the last job that is the planned one: a batch may have others."""
    last = [job for job in jobs if target.runs(job)][-1:]
    ran = {task: end.host for job in last for task, end in _placed(target, job)}
    found = ran | target.brokers.places(target.topology) if ran else ran
    return FrozenMap({task: Slot(node, PORT) for task, node in found.items()})


def observation(target: SparkTarget, jobs: Sequence[Job], *, begin: float | None = None) -> Observation:
    """Observation from some finished jobs of a target, with the nodes that are alive now.

    Args:
        jobs: Consecutive jobs, oldest first.
        begin: Begin of the time that they stand for (seconds since the epoch), the end of the job before; by default
            the first one's start. Rates are averages from then to the end of the last.
    """
    cluster, threads = Cluster(nodes=nodes(target.spark), shared_slots=True), task_threads(target.spark)
    speed = speeds(target, jobs, {node.id for node in cluster.nodes})
    if not jobs:
        known = tuple(NodeSample(node=node, speed=each, source="tasks") for node, each in speed.items())
        topology = with_threads(target.topology, threads)
        seen = Observation(cluster=cluster, topologies=(topology,), metrics=Metrics(nodes=known))
        return target.brokers.beside(seen)
    # Pauses between batches are part of it: a query that is idle half of the time has half of the rate and of the CPU.
    period = max(jobs[-1].end.time - (begin or jobs[0].start.time), 1e-3)
    found = tuple(exchanges(target.topology.id, target.stages, target.meant(jobs), period))
    metrics = Metrics(
        window=period,
        tasks=tuple(_task_samples(target, jobs, period, speed)),
        flows=tuple(flow for each in found for flow in flows(each)),
        streams=tuple(each for each in map(stream, found) if each is not None),
        nodes=tuple(_node_samples(jobs, period, {node.id for node in cluster.nodes}, speed)),
        topologies=(_topology_sample(target, jobs, period),),
    )
    topology = with_threads(with_measured(target.topology, metrics), threads)
    seen = Observation(cluster=cluster, topologies=(topology,), assignment=_seen(target, jobs), metrics=metrics)
    return target.brokers.beside(seen)


@attrs.frozen(kw_only=True)
class Totals:
    """Totals of some consecutive batches, to compare one placement with another.

    Attributes:
        batches: Number of batches. `seconds`: of all of them, from start to end of each job.
        rows: Rows that crossed an exchange. `remote`, `local`: their bytes between nodes and within one.
        asked: Task runs that had a wish. `hits`: those that ran where asked.
        failed: Task attempts that failed.
    """

    batches: int = 0
    seconds: float = 0.0
    rows: int = 0
    remote: int = 0
    local: int = 0
    asked: int = 0
    hits: int = 0
    failed: int = 0

    @property
    def share(self) -> float:
        """The part of all bytes that went from node to node, 0 to 1."""
        total = self.remote + self.local
        return self.remote / total if total else 0.0


def totals(target: SparkTarget, jobs: Sequence[Job], wanted: Mapping[str, Slot] | None = None) -> Totals:
    """Totals of some jobs.

    Args:
        wanted: Assignment by task id, against which hits are counted; None counts none.
    """
    ends = [end for job in jobs for end in job.tasks]
    wishes = (
        [(end.host, wanted[task].node) for job in jobs for task, end in _placed(target, job) if task in (wanted or ())]
        if wanted
        else []
    )
    return Totals(
        batches=len(jobs),
        seconds=sum(job.seconds for job in jobs),
        rows=sum(end.read for end in ends),
        remote=sum(end.remote for end in ends),
        local=sum(end.local for end in ends),
        asked=len(wishes),
        hits=sum(host == node for host, node in wishes),
        failed=sum(job.failed for job in jobs),
    )


def next_batches(target: SparkTarget, count: int, *, timeout: float = 600.0) -> tuple[Job, ...]:
    """The next batches that begin from now on, when they are done.

    Args:
        count: Number of batches.
        timeout: Seconds to wait for all of them.

    Raises:
        EngineError: They were not done in time, or events were lost meanwhile.
    """
    recorder = _recorder(target)
    dropped = recorder.dropped
    jobs: tuple[Job, ...] = recorder.wait(target.scope, count, since=time.time(), timeout=timeout)[:count]
    if len(jobs) < count or recorder.dropped > dropped:
        lost = recorder.dropped - dropped
        raise EngineError(
            f"{target.topology.id!r} finished {len(jobs)} of {count} batches in {timeout:g} s, {lost} events were "
            "lost: look whether the query is still active, or allow more time"
        )
    return jobs


def _recorder(target: SparkTarget) -> Any:
    if target.recorder is None:
        raise EngineError(f"nothing listens to {target.topology.id!r}: give SparkTarget a started EventRecorder")
    return target.recorder


def _placed(target: SparkTarget, job: Job) -> Iterator[tuple[str, TaskEnd]]:
    """The id of each task of the topology that a job ran, and how it ended."""
    for component in target.topology.components:
        for end in target.ran(job, component.id):
            if end.partition < component.parallelism:
                yield Task(target.topology.id, component.id, end.partition).id, end


def speeds(target: SparkTarget, jobs: Sequence[Job], alive: Collection[str]) -> dict[str, float]:
    """Speed of nodes, as far as batches of a target tell it: all that its recorder remembers, else some of them.

    Args:
        jobs: Finished jobs of it, oldest first, that count where it has no recorder.
        alive: Nodes that count.
    """
    remembered = jobs if target.recorder is None else target.recorder.jobs(target.scope)
    parts = [component.id for component in target.topology.components]
    return node_speeds([[target.ran(job, part) for part in parts] for job in remembered], alive)


def _task_samples(
    target: SparkTarget, jobs: Sequence[Job], period: float, speed: Mapping[str, float]
) -> Iterator[TaskSample]:
    """CPU in points; time in Python workers is wall time, times the node's speed an upper bound of its CPU."""
    ends: dict[str, list[TaskEnd]] = defaultdict(list)
    for job in jobs:
        for task, end in _placed(target, job):
            ends[task].append(end)
    state = _state(target, jobs)
    for task in sorted(ends):
        python = any(end.python is not None for end in ends[task])
        yield TaskSample(
            task=task,
            cpu=100.0 * sum(_cpu(end, speed) for end in ends[task]) / period,
            received=sum(end.read + end.taken for end in ends[task]) / period,
            emitted=sum(end.written + end.output for end in ends[task]) / period,
            source="jvm+python_wall" if python else "jvm",
            state=state.get(task.rpartition("/")[0]),
        )


def _state(target: SparkTarget, jobs: Sequence[Job]) -> dict[str, float]:
    """MB of state of one task of each stateful component, by `topology/component`."""
    sizes = next((each.state for each in reversed(_reports(target, jobs))), ())
    plan = driver_of(target.spark).plan(target.query) if sizes and target.query is not None else None
    if plan is None:
        return {}
    found = state_of(target.topology, target.stages, by_stage(plan), sizes)
    return {f"{target.topology.id}/{part}": size for part, size in found}


def _reports(target: SparkTarget, jobs: Sequence[Job]) -> list[QueryProgress]:
    """Reports of the query on the newest of some batches, and on those before it."""
    query, last = jobs[-1].start.query, jobs[-1].start.batch
    if query is None or last is None:
        return []
    return [each for each in _recorder(target).progress(query) if each.batch <= last]


def _cpu(end: TaskEnd, speed: Mapping[str, float]) -> float:
    """CPU seconds; those in Python workers are as many as a core of the node gets done in their time."""
    return end.cpu + (end.python or 0.0) * speed.get(end.host, 1.0)


def _node_samples(
    jobs: Sequence[Job], period: float, alive: set[str], speed: Mapping[str, float]
) -> Iterator[NodeSample]:
    used = dict.fromkeys(alive, 0.0)
    for job in jobs:
        for end in job.tasks:
            if end.host in alive:
                used[end.host] += _cpu(end, speed)
    for node in sorted(used):
        yield NodeSample(node=node, cpu=100.0 * used[node] / period, source="tasks", speed=speed.get(node))


def _topology_sample(target: SparkTarget, jobs: Sequence[Job], period: float) -> TopologySample:
    """Rows that arrive and those of them that are completed (`intake`); latency is the mean time of a batch.

    Jobs that are no batches of a query have nothing outside: they complete what they take.
    """
    durations = _durations(target.spark, jobs)
    found = intake(_reports(target, jobs))
    streams = target.topology.streams
    sources = {each.source for each in streams} - {each.target for each in streams}
    taken = _rows(target, jobs, sources, "written") / period
    offered, throughput = found or (taken, taken)
    return TopologySample(
        topology=target.topology.id,
        offered=offered,
        throughput=throughput,
        latency=1000.0 * sum(durations) / len(durations),
        source="spark: micro-batches" if found else "spark: rows of jobs",
        interval=period / len(jobs),
    )


def _rows(target: SparkTarget, jobs: Sequence[Job], components: set[str], figure: str) -> int:
    return sum(getattr(end, figure) for job in jobs for each in components for end in target.ran(job, each))


def _durations(spark: Any, jobs: Sequence[Job]) -> list[float]:
    """Seconds of each batch: what the query reports, planning and commit included, else what the job took."""
    reported = {
        (str(query.id), progress["batchId"]): progress["durationMs"].get("triggerExecution", 0) / 1e3
        for query in spark.streams.active
        for progress in query.recentProgress
    }
    return [reported.get((job.start.query or "", job.start.batch), job.seconds) for job in jobs]
