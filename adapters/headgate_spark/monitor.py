"""Monitor of a placed application: an observation for schedulers, totals for comparing placements."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import attrs

from headgate.errors import EngineEndedError, EngineError
from headgate.model import (
    Cluster,
    Flow,
    FrozenMap,
    Metrics,
    Node,
    NodeSample,
    Observation,
    Resources,
    Slot,
    Task,
    TaskSample,
    TopologySample,
)
from headgate_spark.driver.gateway import scala_context
from headgate_spark.driver.session import executors, host_of
from headgate_spark.driver.usage import node_usage, read_usage
from headgate_spark.events.intake import intake
from headgate_spark.events.shuffle import shuffle_traffic
from headgate_spark.target import PORT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headgate_spark.events.event import TaskEnd
    from headgate_spark.events.history import Job
    from headgate_spark.target import SparkTarget

BUDGET = 30.0
"""Seconds beyond the window that `observe` may wait for one complete micro-batch: if larger, a round with a stuck query
takes longer; if smaller, a query with long batches is not measured."""

MACHINE = "MACHINE_TYPE"
"""Attribute of an executor, from `SPARK_EXECUTOR_ATTRIBUTE_MACHINE_TYPE` in the environment of its Worker."""


def observe(target: SparkTarget, window: float) -> Observation:
    """Watch for `window` seconds, and longer until one batch has begun and ended, at most `BUDGET` seconds longer.

    Batches that were running already are left out: they may be half in an earlier placement. Without a batch in that
    time tasks are where the last one ran them. It is measured if that is where they are asked to run: else a query that
    falls behind, whose batches grow, would be measured no more. The cluster is there in any case.

    Args:
        target: The application.
        window: Seconds.

    Raises:
        EngineEndedError: The query has ended.
        EngineError: Nothing listens to the session.
    """
    since = time.time()
    recorder = _recorder(target)
    _refuse_ended(target)
    before = read_usage()
    time.sleep(window)
    jobs = recorder.wait(target.scope, 1, since=since, timeout=BUDGET)
    # A query that ended meanwhile is over, and not one without data.
    if not jobs:
        _refuse_ended(target)
    earlier = [job.end.time for job in recorder.jobs(target.scope) if job.end.time <= since]
    seen = observation(target, jobs, begin=max(earlier, default=None))
    if used := node_usage(before, read_usage(), executors(target.spark)):
        seen = attrs.evolve(seen, metrics=attrs.evolve(seen.metrics, nodes=used))
    if jobs:
        return attrs.evolve(seen, notes=tuple(batch_notes(target, jobs)))
    note = f"{target.topology.id} ended no batch in {window + BUDGET:g} s"
    return attrs.evolve(_last(target, seen), notes=(note,))


def _last(target: SparkTarget, seen: Observation) -> Observation:
    """The observation with the last batch that ended, measured if all of it ran as is asked now."""
    earlier, last = _recorder(target).jobs(target.scope)[-2:-1], _recorder(target).jobs(target.scope)[-1:]
    done = totals(target, last, target.asked())
    if not last or done.hits < done.asked:
        return attrs.evolve(seen, assignment=_seen(target, last))
    measured = observation(target, last, begin=max((job.end.time for job in earlier), default=None))
    return attrs.evolve(measured, metrics=attrs.evolve(measured.metrics, nodes=seen.metrics.nodes))


def _refuse_ended(target: SparkTarget) -> None:
    """Say so when there is nothing left to watch."""
    query = target.query
    if query is not None and not query.isActive:
        error = query.exception()
        why = f": {error}".partition("\n")[0] if error else ""
        raise EngineEndedError(f"the query {target.topology.id!r} has ended{why}")


def batch_notes(target: SparkTarget, jobs: Sequence[Job]) -> Iterator[str]:
    """Hits and misses of each batch against what is asked now, one sentence a batch.

    Args:
        target: The application.
        jobs: Its batches; none of them makes a sentence while nothing is asked.
    """
    asked = target.asked()
    for job in jobs if asked else ():
        done = totals(target, [job], asked)
        name = f"batch {job.start.batch}" if job.start.batch is not None else f"job {job.start.job}"
        misses = done.asked - done.hits
        yield f"{name}: {done.hits} hits, {misses} misses, {done.remote} bytes between nodes, {done.failed} failures"


def _seen(target: SparkTarget, jobs: Sequence[Job]) -> FrozenMap[str, Slot]:
    return FrozenMap({task: Slot(end.host, PORT) for job in jobs[-1:] for task, end in _placed(target, job)})


def observation(target: SparkTarget, jobs: Sequence[Job], *, begin: float | None = None) -> Observation:
    """Observation from some finished jobs of a target, with the nodes that are alive now.

    Args:
        target: The application.
        jobs: Consecutive jobs, oldest first.
        begin: Begin of the time that they stand for (seconds since the epoch), the end of the job before; by default
            the first one's start. Rates are averages from then to the end of the last.
    """
    cluster = Cluster(nodes=nodes(target.spark))
    if not jobs:
        return Observation(cluster=cluster, topologies=(target.topology,))
    # Pauses between batches are part of it: a query that is idle half of the time has half of the rate and of the CPU.
    period = max(jobs[-1].end.time - (begin or jobs[0].start.time), 1e-3)
    metrics = Metrics(
        window=period,
        tasks=tuple(_task_samples(target, jobs, period)),
        flows=tuple(_flows(target, jobs, period)),
        nodes=tuple(_node_samples(jobs, period, {node.id for node in cluster.nodes})),
        topologies=(_topology_sample(target, jobs, period),),
    )
    return Observation(cluster=cluster, topologies=(target.topology,), assignment=_seen(target, jobs), metrics=metrics)


def nodes(spark: Any) -> tuple[Node, ...]:
    """The hosts that have a live executor, with the cores (100 points each) and memory of their executors.

    The type of a machine is the executor attribute `MACHINE`, which Spark makes of a variable in its environment.
    """
    scala = scala_context(spark.sparkContext)
    found = scala.statusStore().executorList(True)
    cores: dict[str, int] = defaultdict(int)
    count: dict[str, int] = defaultdict(int)
    machine: dict[str, str] = {}
    for executor in (found.apply(index) for index in range(found.size())):
        if executor.id() != "driver":
            host = host_of(executor.hostPort())
            cores[host] += executor.totalCores()
            count[host] += 1
            if (name := executor.attributes().get(MACHINE)).isDefined():
                machine[host] = name.get()
    memory = float(scala.executorMemory())
    return tuple(
        Node(
            id=host,
            capacity=Resources(cpu=100.0 * cores[host], memory=memory * count[host]),
            slots=(PORT,),
            machine_type=machine.get(host),
        )
        for host in sorted(cores)
    )


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
        target: The application.
        jobs: Jobs of its scope.
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


def next_batches(target: SparkTarget, count: int, *, timeout: float = 120.0) -> tuple[Job, ...]:
    """The next batches that begin from now on, when they are done.

    Args:
        target: The application.
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
        if component.id not in target.stages:
            continue
        for end in job.stage(target.stages[component.id]):
            if end.partition < component.parallelism:
                yield Task(target.topology.id, component.id, end.partition).id, end


def _task_samples(target: SparkTarget, jobs: Sequence[Job], period: float) -> Iterator[TaskSample]:
    """CPU in points; time in Python workers is wall time, so an upper bound of its CPU."""
    ends: dict[str, list[TaskEnd]] = defaultdict(list)
    for job in jobs:
        for task, end in _placed(target, job):
            ends[task].append(end)
    for task in sorted(ends):
        python = any(end.python is not None for end in ends[task])
        yield TaskSample(
            task=task,
            cpu=100.0 * sum(_cpu(end) for end in ends[task]) / period,
            received=sum(end.read + end.taken for end in ends[task]) / period,
            emitted=sum(end.written + end.output for end in ends[task]) / period,
            source="jvm+python_wall" if python else "jvm",
        )


def _cpu(end: TaskEnd) -> float:
    return end.cpu + (end.python or 0.0)


def _node_samples(jobs: Sequence[Job], period: float, alive: set[str]) -> Iterator[NodeSample]:
    used = dict.fromkeys(alive, 0.0)
    for job in jobs:
        for end in job.tasks:
            if end.host in alive:
                used[end.host] += _cpu(end)
    for node in sorted(used):
        yield NodeSample(node=node, cpu=100.0 * used[node] / period, source="tasks")


def _flows(target: SparkTarget, jobs: Sequence[Job], period: float) -> Iterator[Flow]:
    """The mean of the batches whose shuffles could be read, as often as there were batches."""
    read = [job for job in jobs if job.shuffles]
    component = {ordinal: name for name, ordinal in target.stages.items()}
    sums: dict[tuple[str, str], Any] = {}
    for job in read:
        for each in shuffle_traffic(job):
            if each.source in component and each.target in component:
                pair = component[each.source], component[each.target]
                rows, size = sums.get(pair, (0.0, 0.0))
                sums[pair] = rows + each.rows, size + each.bytes
    for (source, sink), matrices in sorted(sums.items()):
        rows, size = (matrix * len(jobs) / len(read) / period for matrix in matrices)
        # Batches whose shuffles could not be read are taken to be like the others: sums are scaled up to all jobs.
        for i, j in zip(*size.nonzero(), strict=True):
            yield Flow(
                source=Task(target.topology.id, source, int(i)).id,
                target=Task(target.topology.id, sink, int(j)).id,
                tuples=float(rows[i, j]),
                bytes=float(size[i, j]),
            )


def _topology_sample(target: SparkTarget, jobs: Sequence[Job], period: float) -> TopologySample:
    """Rows that arrive and those of them that are completed (`intake`); latency is the mean time of a batch.

    Jobs that are no batches of a query have nothing outside: they complete what they take.
    """
    durations = _durations(target.spark, jobs)
    query, last = jobs[-1].start.query, jobs[-1].start.batch
    heard = _recorder(target).progress(query) if query and last is not None else ()
    found = intake([each for each in heard if last is not None and each.batch <= last])
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
    )


def _rows(target: SparkTarget, jobs: Sequence[Job], components: set[str], figure: str) -> int:
    stages = [target.stages[each] for each in components if each in target.stages]
    return sum(getattr(end, figure) for job in jobs for stage in stages for end in job.stage(stage))


def _durations(spark: Any, jobs: Sequence[Job]) -> list[float]:
    """Seconds of each batch: what the query reports, planning and commit included, else what the job took."""
    reported = {
        (str(query.id), progress["batchId"]): progress["durationMs"].get("triggerExecution", 0) / 1e3
        for query in spark.streams.active
        for progress in query.recentProgress
    }
    return [reported.get((job.start.query or "", job.start.batch), job.seconds) for job in jobs]
