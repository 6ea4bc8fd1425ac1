"""The topology of a query that nobody described: one component a stage, one task a partition."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from headgate.errors import EngineError
from headgate.model import Component, FrozenMap, Kind, Resources, Stream, Topology

if TYPE_CHECKING:
    from headgate_spark.events.event import JobStart
    from headgate_spark.events.recorder import EventRecorder

TIMEOUT = 120.0
"""Seconds that a query may take for its first batch: if larger, a source without data is told later; if smaller, a slow
first batch (Python workers start in it) is given up."""
DEMAND = Resources(cpu=10.0)
"""Demand of a task that was not measured yet, in points: Storm's default for an executor. If larger, fewer tasks fit on
a node until the first window has been measured."""


@attrs.frozen(kw_only=True)
class Discovered:
    """A topology, and the stage ordinal of each of its components."""

    topology: Topology
    stages: FrozenMap[str, int]


def discover(
    recorder: EventRecorder, scope: str, name: str, *, timeout: float = TIMEOUT, stateful_only: bool = False
) -> Discovered:
    """Wait for a batch of a scope and take its shape; a batch without data has empty stages and does not count.

    Args:
        recorder: A started recorder.
        scope: Id of a streaming query, or whatever else its jobs run under.
        name: Id that the topology gets.
        timeout: Seconds to wait.
        stateful_only: Take the first stage that reads a shuffle alone: what level soft can place.

    Raises:
        EngineError: No batch with data ended in time.
    """
    deadline = time.monotonic() + timeout
    seen = 0
    while (left := deadline - time.monotonic()) > 0:
        jobs = recorder.wait(scope, seen + 1, since=0.0, timeout=left)
        whole = [job.start for job in jobs if all(stage.tasks for stage in job.start.stages)]
        if whole:
            found = shape(whole[-1], name)
            return _stateful(found) if stateful_only else found
        seen = len(jobs)
    raise EngineError(
        f"{name!r} finished {seen} batches in {timeout:g} s, none of them with data: look whether data arrives"
    )


def _stateful(found: Discovered) -> Discovered:
    # State lies behind a shuffle, and level soft places the first stateful operator alone.
    readers = {stream.target for stream in found.topology.streams}
    if not readers:
        raise EngineError(f"{found.topology.id!r} has no stage that reads a shuffle, and level soft can place no other")
    first = min(readers, key=lambda each: found.stages[each])
    kept = tuple(each for each in found.topology.components if each.id == first)
    topology = Topology(id=found.topology.id, components=kept)
    return Discovered(topology=topology, stages=FrozenMap({first: found.stages[first]}))


def shape(job: JobStart, name: str) -> Discovered:
    """The topology of a job: its stages are components `stage-0`, `stage-1` ... by ordinal, its shuffles streams.

    Args:
        job: Start of a job whose stages all have tasks.
        name: Id of the topology.
    """
    stages = FrozenMap({f"stage-{job.ordinal(each.stage)}": job.ordinal(each.stage) for each in job.stages})
    ids = {each.stage: f"stage-{job.ordinal(each.stage)}" for each in job.stages}
    components = tuple(
        Component(
            id=ids[each.stage],
            # A stage that reads no shuffle reads a source.
            kind=Kind.BOLT if each.parents else Kind.SPOUT,
            parallelism=each.tasks,
            demand=DEMAND,
        )
        for each in sorted(job.stages, key=lambda each: each.stage)
    )
    streams = tuple(
        Stream(source=ids[parent], target=ids[each.stage], grouping="fields")
        for each in job.stages
        for parent in each.parents
        if parent in ids  # Spark skips a stage whose shuffle is there from an earlier job
    )
    return Discovered(topology=Topology(id=name, components=components, streams=streams), stages=stages)
