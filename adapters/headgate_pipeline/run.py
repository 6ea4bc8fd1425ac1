"""One pass of the pipeline: tables brought up to date, knowledge and a request written from them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from headgate.documents import write
from headgate.errors import DocumentError
from headgate.model import Observation, Request
from headgate.model.validate import check_places
from headgate.samples.store import read_states
from headgate_pipeline.intake.files import inspect, listing
from headgate_pipeline.learning.learn import HISTORY, RECENT, Period, learn, table
from headgate_pipeline.learning.requests import request_of
from headgate_pipeline.tables.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from headgate.model.knowledge import Knowledge
    from headgate_pipeline.tables.job import Update

SHORT = 2_000_000
"""Rows of a job that ends before the JVM's better compiler has paid: if larger, long jobs run on simple code; if
smaller, short ones wait for the compiler."""
KNOWLEDGE, REQUEST = "knowledge.json", "request.json"
"""Names of the documents in the folder of results."""


@attrs.frozen(kw_only=True)
class PipelineJob:
    """Input, output and extent of a pass of the pipeline.

    Attributes:
        samples: Folder that monitors write.
        output: Folder of results.
        history: Hours that profiles and demand rest on; `recent`: those that traffic and health are averages of.
        chunk: Rows to clean at a time; None for as many as usual.
    """

    samples: Path
    output: Path
    history: int = HISTORY
    recent: int = RECENT
    chunk: int | None = None


def is_short(job: PipelineJob) -> bool:
    """True if all files together have at most `SHORT` rows: a job of seconds.

    Raises:
        DocumentError: There is no such folder of samples.
    """
    _check(job)
    rows = 0
    for hour, stamps in listing(job.samples).items():
        for stamp in stamps:
            # Footers are read one by one, and no more of them than the answer needs.
            rows += inspect(hour, stamp).rows
            if rows > SHORT:
                return False
    return True


def run(
    spark: SparkSession, job: PipelineJob, tell: Callable[[str], None] = lambda _: None
) -> tuple[Update, Knowledge]:
    """Bring tables and documents up to date with the samples.

    Args:
        spark: Session.
        job: Input, output and extent.
        tell: Called with a sentence after each chunk.

    Raises:
        DocumentError: There is no such folder of samples, or a document cannot be written.
        EngineError: Another run writes to the same folder.
    """
    # PySpark is optional: `publish`, and `headgate pipeline show`, do without it.
    from headgate_pipeline.tables.job import CHUNK, update

    _check(job)
    store = Store(folder=job.output)
    with store.locked():
        done = update(spark, job.samples, store, chunk=job.chunk or CHUNK, tell=tell)
        return done, publish(job, store)


def _check(job: PipelineJob) -> None:
    if not job.samples.is_dir():
        raise DocumentError("", f"{job.samples} is no folder of samples: `headgate run --samples` writes one")


def publish(job: PipelineJob, store: Store) -> Knowledge:
    """Write `knowledge.json`, and `request.json` where a state of the engine was recorded. No Spark is needed.

    Args:
        job: Input, output and extent.
        store: Tables that are up to date.
    """
    manifest = store.manifest()
    period = Period.of(manifest, history_hours=job.history, recent_hours=job.recent)
    states = read_states(job.samples)
    state = states[-1][1] if states else Observation()
    knowledge = learn(store, manifest, period, state.cluster)
    write(job.output / KNOWLEDGE, knowledge)
    if states:
        write(job.output / REQUEST, _request(state, knowledge, store, period))
    return knowledge


def _request(state: Observation, knowledge: Knowledge, store: Store, period: Period) -> Request:
    manifest = store.manifest()
    request = request_of(
        state,
        knowledge,
        table(store, manifest, "sums", period.recent),
        table(store, manifest, "windows", period.recent),
    )
    try:
        check_places(request)
    except DocumentError:  # a task of the newest state stands on a node that has died
        slots = {(node.id, port) for node in request.cluster.nodes for port in node.slots}
        alive = {task: slot for task, slot in request.assignment.items() if (slot.node, slot.port) in slots}
        request = attrs.evolve(request, assignment=type(request.assignment)(alive))
    return request
