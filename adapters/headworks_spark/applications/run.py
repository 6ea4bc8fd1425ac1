"""A user's PySpark application, run in this process, and the rounds beside it."""

from __future__ import annotations

import contextlib
import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headworks.errors import EngineError, OptionError
from headworks_local.java import find_java
from headworks_spark.applications.connected import SCHEME, connected, run_connected
from headworks_spark.applications.connection import Connection
from headworks_spark.applications.script import run_script
from headworks_spark.discovery import LOOK, NoBatchError
from headworks_spark.driver.gateway import current_session, own_jvm
from headworks_spark.driver.jar import scheduler_jar, spark_home
from headworks_spark.driver.launch import Launch, launching
from headworks_spark.driver.reach import driver_of
from headworks_spark.driver.session import refuse_master, refuse_running, refuse_silence
from headworks_spark.local.cluster import LocalSpark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from headworks_spark.queries import SparkQueries

LOG = logging.getLogger("headworks.spark")
LEAVE = 5.0
"""Seconds that a round may take to end after its application, and then queries; the driver's JVM ends next."""
START = 300.0
"""Seconds that an application which is opened may take until a batch of a streaming query with data has ended."""


def run_application(
    application: Sequence[str],
    address: str | None,
    launch: Sequence[str],
    rounds: Callable[[SparkQueries, threading.Event], object],
) -> int:
    """Run a Python file in this thread, as spark-submit would, and rounds on its streaming queries in another one.

    Its sessions are made when it asks for them, with the settings that it has for them. When it has ended, its driver
    ends, and a cluster that was started here.

    Args:
        application: The file, then its arguments.
        address: `spark://HOST:PORT` of a standalone cluster, or `yarn`; `sc://HOST:PORT` of a Connect server, which
            also runs the project of a pipeline, as a YAML file; None starts a cluster on this machine.
        launch: Options of spark-submit.
        rounds: Is called for each session, when a query of it has ended a batch with data, and given an event that
            is set when the application has ended. Its places stay when it returns, until the session ends.

    Returns:
        Its exit code.

    Raises:
        EngineError: The cluster is out of reach.
        OptionError: The file is missing.
    """
    if address is not None and address.startswith(SCHEME):
        _refuse_missing(application)
        with connected(address, launch) as spark:
            beside = _Beside(application[0], None, lambda: spark, "no query of it could be looked at")
            with beside.follow(rounds):
                return run_connected(application)
    with _prepared(application, address, launch) as beside:
        try:
            with beside.follow(rounds):
                return run_script(application)
        finally:
            _end(current_session())


@contextlib.contextmanager
def open_application(application: Sequence[str], address: str | None) -> Iterator[SparkQueries]:
    """Run a Python file that starts streaming queries in a thread, and yield the target for all of them.

    When the context ends, its queries, its driver, and a cluster that was started here are stopped.

    Args:
        application: The file, then its arguments.
        address: `spark://HOST:PORT` of a standalone cluster, or `yarn`; None starts one on this machine.

    Raises:
        EngineError: The cluster is out of reach, or no query ended a batch with data.
        OptionError: The file is missing.
    """
    with _prepared(application, address, ()) as beside:
        found: list[SparkQueries] = []
        begun = threading.Event()

        def take(queries: SparkQueries, _ended: threading.Event) -> None:
            found.append(queries)
            begun.set()

        def run() -> None:
            with beside.follow(take):
                run_script(application)
            begun.set()

        script = threading.Thread(target=run, name="headworks-application", daemon=True)
        script.start()
        if not begun.wait(START) or not found:
            raise EngineError(f"{application[0]} runs no streaming query that can be placed: {beside.why}")
        try:
            yield found[0]
        finally:
            _end(found[0].spark)
            script.join(LEAVE)


@contextlib.contextmanager
def _prepared(application: Sequence[str], address: str | None, words: Sequence[str]) -> Iterator[_Beside]:
    """Whatever the sessions of an application need: a cluster, the task scheduler, the end of their JVM."""
    _refuse_missing(application)
    if address is not None:
        refuse_master(address)
    home = spark_home()
    find_java(home.java)
    jar = str(scheduler_jar(home))
    refuse_running(jar)
    if address is not None:
        refuse_silence(address)
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(LocalSpark()) if address is None else None
        master = cluster.master_url if cluster is not None else str(address)
        stack.enter_context(own_jvm())
        name = ("--conf", f"spark.app.name={Path(application[0]).name}")  # as spark-submit would call it
        stack.enter_context(launching(Launch(master=master, jar=jar, words=(*name, *words))))
        yield _Beside(application[0], cluster)


def _refuse_missing(application: Sequence[str]) -> None:
    if not application or not Path(application[0]).is_file():
        missing = f"there is no file {application[0]!r}: " if application else ""
        raise OptionError(f"{missing}name the PySpark file to run, such as APPLICATION.py")


def _end(spark: Any) -> None:
    """End the queries of a session, and the session, in order if they do so in time; their JVM ends in any case."""

    def end() -> None:
        with contextlib.suppress(Exception):  # the driver may be gone
            for query in spark.streams.active:
                query.stop()
            spark.stop()

    if spark is not None:
        thread = threading.Thread(target=end, name="headworks-end", daemon=True)
        thread.start()
        thread.join(LEAVE)


class _Beside:
    """The thread beside an application, which finds its sessions, and rounds to do on each.

    Attributes:
        why: Reason why there was no round yet.
    """

    def __init__(
        self,
        file: str,
        cluster: LocalSpark | None,
        session: Callable[[], Any] = current_session,
        why: str = "it started no classic session",
    ) -> None:
        self.why = why
        self._file, self._cluster, self._session = file, cluster, session
        self._ended = threading.Event()
        self._queries: SparkQueries | None = None

    @contextlib.contextmanager
    def follow(self, rounds: Callable[[SparkQueries, threading.Event], object]) -> Iterator[None]:
        """Do rounds while the block runs."""
        thread = threading.Thread(target=self._run, args=[rounds], name="headworks-rounds", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            if self._queries is not None:
                self._queries.close()
            thread.join(LEAVE)
            if self.why:
                LOG.warning("no task of %s was placed: %s", self._file, self.why)

    def _run(self, rounds: Callable[[SparkQueries, threading.Event], object]) -> None:
        last: Any = None
        while not self._ended.wait(LOOK / 5):
            spark = self._session()
            if spark is None or spark is last:
                continue
            last = spark
            try:
                with Connection(spark, self._cluster) as connection:
                    self._queries = connection.queries()
                    self._follow(self._queries, rounds)
            except Exception as error:  # noqa: BLE001 - the application goes on
                if not self._ended.is_set() and not driver_of(spark).stopped():
                    LOG.warning("tasks are left to Spark from now on: %s", error)

    def _follow(self, queries: SparkQueries, rounds: Callable[[SparkQueries, threading.Event], object]) -> None:
        while True:
            try:
                queries.begin(LOOK)
                break
            except NoBatchError as error:
                if str(error) != self.why:
                    LOG.warning("waiting: %s", error)
                self.why = str(error)
        self.why = ""
        rounds(queries, self._ended)
        while not self._ended.wait(LOOK) and not driver_of(queries.spark).stopped():
            pass
