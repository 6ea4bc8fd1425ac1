"""The topology of a query that nobody described: one component a stage, one task a partition."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError, EngineWaitsError
from headworks.model import Component, FrozenMap, Kind, Stream, Topology
from headworks_spark.driver.operators import STATEFUL
from headworks_spark.events.batch import is_adaptive, last_batch, main_job
from headworks_spark.target import UNMEASURED

if TYPE_CHECKING:
    from headworks_spark.events.event import JobStart
    from headworks_spark.events.history import Job
    from headworks_spark.events.recorder import EventRecorder

TIMEOUT = 300.0
"""Seconds that a query may take at least for its first batch."""

LOOK = 1.0
"""Seconds between two looks for a batch."""

COMMON = frozenset({"", "Exchange", "Filter", "Project", "WholeStageCodegen"})
"""Operators that tell nothing of a stage, as most stages have them."""


class NoBatchError(EngineWaitsError):
    """No batch with data has ended yet."""


def patience(trigger: float) -> float:
    """Seconds to wait for the first batch of a query with this many between two triggers."""
    return max(TIMEOUT, 3.0 * trigger)


@attrs.frozen(kw_only=True)
class Discovered:
    """A topology, the stage ordinal of each of its components, and the signature of each of these stages.

    `notes` say what of it is not placed.
    """

    topology: Topology
    stages: FrozenMap[str, int]
    signatures: FrozenMap[int, str] = FrozenMap()
    notes: tuple[str, ...] = ()


def discover(recorder: EventRecorder, scope: str, name: str, *, timeout: float = TIMEOUT) -> Discovered:
    """Wait for a batch of a scope and take its shape; a batch without data has empty stages and does not count.

    Args:
        recorder: A started recorder.
        scope: Id of a streaming query, or whatever else its jobs run under.
        name: Id that the topology gets.
        timeout: Seconds to wait.

    Raises:
        NoBatchError: No batch with data ended in time.
        EngineError: The query has no stage that can be placed, or runs with adaptive execution.
    """
    deadline = time.monotonic() + timeout
    while not (batch := _ended(recorder, scope)):
        if (left := deadline - time.monotonic()) <= 0:
            without = len(recorder.jobs(scope))
            raise NoBatchError(f"{name!r} has ended no batch with data ({without} without): look whether data arrives")
        recorder.wait(scope, 1, since=time.time(), timeout=min(left, LOOK))
    if is_adaptive(batch):
        raise EngineError(
            f"{name!r} runs with adaptive execution, which makes each exchange a job of its own: set "
            "spark.sql.adaptive.enabled to false before it starts"
        )
    job = main_job(batch)
    found = shape(job.start, name)
    kinds = {tuple(each.start.signature(place) for place in range(len(each.start.stages))) for each in batch}
    if len(kinds) > 1:
        note = (
            f"a batch of {name!r} has jobs of {len(kinds)} kinds: the one whose tasks ran longest is placed "
            f"({sum(stage.tasks for stage in job.start.stages)} tasks in {len(job.start.stages)} stages), the others "
            "are left to Spark"
        )
        found = attrs.evolve(found, notes=(note,))
    return found


def _ended(recorder: EventRecorder, scope: str) -> tuple[Job, ...]:
    """The jobs of the last batch that has ended with data."""
    jobs = recorder.jobs(scope)
    queries = {job.start.query for job in jobs if job.start.query}
    return last_batch(jobs, {each.batch for query in queries for each in recorder.progress(query)})


def shape(job: JobStart, name: str) -> Discovered:
    """The topology of a job: its stages are components, called by rank and operator, and its shuffles streams.

    Args:
        job: Start of a job whose stages all have tasks.
        name: Name of the query, or of the job group.
    """
    ids = {each.stage: _name(job.ordinal(each.stage), each.operators) for each in job.stages}
    stages = FrozenMap({ids[each.stage]: job.ordinal(each.stage) for each in job.stages})
    components = tuple(
        Component(
            id=ids[each.stage],
            # A stage that reads no shuffle reads a source.
            kind=Kind.BOLT if each.parents else Kind.SPOUT,
            parallelism=each.tasks,
            demand=UNMEASURED,
        )
        for each in job.in_order()
    )
    streams = tuple(
        Stream(source=ids[parent], target=ids[each.stage], grouping="fields")
        for each in job.stages
        for parent in each.parents
        if parent in ids  # Spark skips a stage whose shuffle is there from an earlier job
    )
    topology = Topology(id=topology_id(name), components=components, streams=streams, sequential=True)
    signatures = FrozenMap({ordinal: job.signature(ordinal) for ordinal in stages.values()})
    return Discovered(topology=topology, stages=stages, signatures=signatures)


def topology_id(name: str) -> str:
    """Id of the topology of a query, or of a job group: its name, without what no id can have."""
    return "".join(each if each.isprintable() and each != "/" else "-" for each in name)


def _name(ordinal: int, operators: str) -> str:
    """Id of the component of a stage, such as `stage-1-StateStoreSave`: its rank, and the operator that tells most.

    Args:
        operators: Their names, by commas. The last that keeps state counts, else the last that is rare.
    """
    names = [each for each in operators.split(",") if each not in COMMON]
    telling = [each for each in names if f"{each}Exec" in STATEFUL] or names
    # A scan's name ends in its table, or in a whole statement of SQL: two words tell what it is.
    words = re.findall(r"\w+", telling[-1])[:2] if telling else []
    return "-".join(("stage", str(ordinal), *words))
