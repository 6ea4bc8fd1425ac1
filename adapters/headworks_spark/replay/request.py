"""A request from a log: the cluster, what a query's tasks used, and what its stages exchanged."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from headworks.model import (
    Cluster,
    FrozenMap,
    Limits,
    Metrics,
    Node,
    Observation,
    Request,
    Resources,
    Slot,
    StreamSample,
    Task,
    TaskSample,
    TopologySample,
)
from headworks.model.scaling import declared_from_measured
from headworks_spark.nodes import with_threads
from headworks_spark.target import PORT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headworks_spark.events.event import TaskEnd
    from headworks_spark.events.eventlog import ExecutorLife
    from headworks_spark.events.history import Job
    from headworks_spark.replay.queries import LoggedQuery


def alive(executors: Iterable[ExecutorLife], job: Job) -> tuple[ExecutorLife, ...]:
    """The executors for tasks of a job: those at its end with a profile that it ran on, else those that it ran on."""
    end, ran = job.end.time, {task.executor for task in job.tasks}
    used = [each for each in executors if each.executor in ran]
    profiles = {each.profile for each in used}
    there = [each for each in executors if each.started <= end and (each.ended is None or each.ended >= end)]
    return tuple(each for each in there if each.profile in profiles) or tuple(used)


def request_of(query: LoggedQuery, executors: Iterable[ExecutorLife]) -> Request:
    """The question where the tasks of a query should run, on the nodes that its last batch had.

    A node offers the cores on which its executors run tasks. CPU is the mean over the time of all batches, pauses
    included, and stands as declared and as measured. A log has
    no sizes of single shuffle blocks, so that each exchange is one evenly spread stream; and no memory.
    """
    last = query.batches[-1]
    period = max(last.end.time - query.batches[0].start.time, 1e-3)
    metrics = Metrics(
        window=period,
        tasks=tuple(_tasks(query, period)),
        topologies=(TopologySample(topology=query.shape.topology.id, interval=period / len(query.batches)),),
        streams=tuple(_streams(query, period)),
    )
    placed = {
        Task(query.shape.topology.id, stage, end.partition).id: Slot(end.host, PORT)
        for stage, ordinal in query.shape.stages.items()
        for end in last.stage(ordinal)
    }
    there = alive(executors, last)
    seen = Observation(
        cluster=Cluster(nodes=_nodes(there), shared_slots=True),
        topologies=(with_threads(query.shape.topology, max(each.cpus for each in there)),),
        assignment=FrozenMap(placed),
        metrics=metrics,
    )
    return declared_from_measured(Request.of(seen, limits=Limits()))


def _nodes(executors: Iterable[ExecutorLife]) -> tuple[Node, ...]:
    cores: dict[str, int] = defaultdict(int)
    for each in executors:
        cores[each.host] += each.slots * each.cpus
    return tuple(Node(id=host, capacity=Resources(cpu=100.0 * cores[host]), slots=(PORT,)) for host in sorted(cores))


def _tasks(query: LoggedQuery, period: float) -> Iterator[TaskSample]:
    for stage in query.shape.stages:
        ends: dict[int, list[TaskEnd]] = defaultdict(list)
        for batch in query.tasks(stage):
            for end in batch:
                ends[end.partition].append(end)
        for partition, runs in sorted(ends.items()):
            yield TaskSample(
                task=Task(query.shape.topology.id, stage, partition).id,
                cpu=100.0 * sum(end.cpu + (end.python or 0.0) for end in runs) / period,
                received=sum(end.read + end.taken for end in runs) / period,
                emitted=sum(end.written + end.output for end in runs) / period,
                source="event log",
            )


def _streams(query: LoggedQuery, period: float) -> Iterator[StreamSample]:
    topology = query.shape.topology
    for stream in topology.streams:
        ends = [end for batch in query.tasks(stream.source) for end in batch]
        yield StreamSample(
            topology=topology.id,
            source=stream.source,
            target=stream.target,
            tuples=sum(end.written for end in ends) / period,
            bytes=sum(end.written_bytes for end in ends) / period,
        )
