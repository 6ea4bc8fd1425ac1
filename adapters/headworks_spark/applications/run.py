"""A user's PySpark application, run in this process on a session whose tasks can be placed."""

from __future__ import annotations

import contextlib
import runpy
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headworks.errors import EngineError
from headworks_local.process import output_to
from headworks_spark.discovery import NoBatchError, discover, patience
from headworks_spark.driver.advice import refuse_mode
from headworks_spark.driver.gateway import own_jvm, stop_if_alive, trigger_of
from headworks_spark.driver.session import executors, session
from headworks_spark.events.recorder import EventRecorder
from headworks_spark.local.cluster import LocalSpark
from headworks_spark.placement.lease import Lease
from headworks_spark.placement.table import PlacementTable
from headworks_spark.queries import SparkQueries
from headworks_spark.target import ExecutorTotal, SparkTarget

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

PATIENCE = 300.0
"""Seconds that an application may take to start its streaming query."""


@contextlib.contextmanager
def open_application(application: Sequence[str], address: str | None) -> Iterator[SparkQueries]:
    """Run a Python file that starts streaming queries, and yield the target for all of them.

    The file gets the session that is prepared here from `SparkSession.builder.getOrCreate()`. When the context
    ends, its queries, the session with its JVM, and a cluster that was started here are stopped.

    Args:
        application: The file, then its arguments.
        address: `spark://HOST:PORT` of a standalone cluster, or `yarn`; None starts one on this machine.

    Raises:
        EngineError: The file is missing, fails, or starts no streaming query; or the cluster is out of reach.
    """
    if not application or not Path(application[0]).is_file():
        named = application[0] if application else "nothing"
        raise EngineError(f"a PySpark file is needed that starts a streaming query; {named} is none")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headworks-run-")))
        cluster = stack.enter_context(LocalSpark()) if address is None else None
        address = cluster.master_url if cluster is not None else str(address)
        stack.enter_context(own_jvm())
        # Spark's start writes to the terminal's stdout, which belongs to the rounds and to JSON.
        with output_to(folder / "driver.log"):
            spark = session(address, Path(application[0]).stem)
        stack.callback(stop_if_alive, spark.stop)
        recorder = EventRecorder(spark).start()
        stack.callback(stop_if_alive, recorder.stop)
        # Callbacks run backwards: queries end before the recorder, the session, and the cluster.
        stack.callback(stop_if_alive, partial(_stop, spark))
        first = _start(application, spark)
        refuse_mode(first)
        queries = _queries(spark, recorder, cluster)
        stack.callback(stop_if_alive, queries.close)
        _begin(queries, address, patience(trigger_of(first).seconds))
        yield queries


def _queries(spark: SparkSession, recorder: EventRecorder, cluster: LocalSpark | None) -> SparkQueries:
    table, total = PlacementTable.of(spark), ExecutorTotal()

    def join(query: StreamingQuery, name: str, lease: Lease) -> SparkTarget:
        refuse_mode(query)
        found = discover(recorder, str(query.id), name, timeout=0.0)
        return SparkTarget(
            spark=spark,
            topology=found.topology,
            scope=str(query.id),
            stages=found.stages,
            signatures=found.signatures,
            notes=found.notes,
            placement=lease,
            recorder=recorder,
            query=query,
            cluster=cluster,
            total=total,
        )

    return SparkQueries(spark, lambda query: Lease(table, str(query.runId)), join)


def _begin(queries: SparkQueries, address: str, timeout: float) -> None:
    try:
        queries.begin(timeout)
    except NoBatchError as error:
        if executors(queries.spark):
            raise
        raise EngineError(
            f"{address} started no executor in {timeout:g} s: look at its page whether cores "
            "and memory are free; an application that does not set spark.cores.max takes all of them"
        ) from error


def _stop(spark: SparkSession) -> None:
    for query in spark.streams.active:
        query.stop()


def _start(application: Sequence[str], spark: SparkSession) -> StreamingQuery:
    """Run the file in a thread of its own, as it usually ends by waiting, until a query is active."""
    # Its `getOrCreate()` finds the session made above, which is the active one of this process.
    script = _Script(application)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        active = spark.streams.active
        if active:
            return active[0]
        if script.done:
            break
        time.sleep(0.2)
    why = f": {script.error}" if script.error else ""
    raise EngineError(f"{application[0]} started no streaming query on SparkSession.builder.getOrCreate(){why}")


class _Script:
    """A Python file in a daemon thread, with its own `sys.argv`."""

    def __init__(self, application: Sequence[str]) -> None:
        self.error: BaseException | None = None
        self._application = list(application)
        self._thread = threading.Thread(target=self._run, name="headworks-application", daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        return not self._thread.is_alive()

    def _run(self) -> None:
        saved: Any = sys.argv
        sys.argv = self._application
        try:
            runpy.run_path(self._application[0], run_name="__main__")
        except BaseException as error:  # noqa: BLE001 - the user's file may end in any way
            self.error = error
        finally:
            sys.argv = saved
