"""The topology of a query that nobody described: one component a stage, one task a partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headgate.errors import EngineError
from headgate.model import Component, FrozenMap, Kind, Resources, Stream, Topology

if TYPE_CHECKING:
    from headgate_spark.events import JobStart
    from headgate_spark.recorder import EventRecorder

TIMEOUT = 120.0
"""Seconds that a query may take for its first batch."""
DEMAND = Resources(cpu=10.0)
"""What a task is taken to need before it was measured: Storm's default for an executor."""


@attrs.frozen(kw_only=True)
class Discovered:
    """A topology, and the stage ordinal of each of its components."""

    topology: Topology
    stages: FrozenMap[str, int]


def discover(recorder: EventRecorder, scope: str, name: str, *, timeout: float = TIMEOUT) -> Discovered:
    """Wait for a batch of a scope and take its shape.

    Args:
        recorder: A started recorder.
        scope: Id of a streaming query, or whatever else its jobs run under.
        name: Id that the topology gets.
        timeout: Seconds to wait.

    Raises:
        EngineError: No batch ended in time.
    """
    jobs = recorder.wait(scope, 1, since=0.0, timeout=timeout)
    if not jobs:
        raise EngineError(f"{name!r} finished no batch in {timeout:g} s: look whether data arrives, or allow more time")
    return shape(jobs[-1].start, name)


def shape(job: JobStart, name: str) -> Discovered:
    """Name the stages of a job `stage-0`, `stage-1` ... in the order in which they are placed."""
    stages = FrozenMap({f"stage-{job.ordinal(each.stage)}": job.ordinal(each.stage) for each in job.stages})
    ids = {each.stage: f"stage-{job.ordinal(each.stage)}" for each in job.stages}
    components = tuple(
        Component(
            id=ids[each.stage],
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
        if parent in ids
    )
    return Discovered(topology=Topology(id=name, components=components, streams=streams), stages=stages)
