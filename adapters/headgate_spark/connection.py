"""Connection to a session of an existing application, by one line in it: `headgate_spark.connect(spark)`."""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from headgate.control.loop import Loop
from headgate.plugins.host import PluginHost
from headgate_spark.discovery import discover
from headgate_spark.driver.gateway import scala_context
from headgate_spark.driver.session import HARD, SOFT, level_of
from headgate_spark.events.recorder import EventRecorder
from headgate_spark.placement.rescue import BOUNDED, WAIT, Watchdog
from headgate_spark.placement.state import StatePlacement
from headgate_spark.placement.table import PlacementTable
from headgate_spark.target import SparkTarget

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from headgate.control.loop import Control
    from headgate.control.round import Round

LOG = logging.getLogger("headgate.spark")
"""The adapter's logger; what fails beside a user's query goes here and nowhere else."""


class Connection:
    """Headgate's part of a session: a recorder of its events, and the placement of the queries that are followed.

    A context manager; `close` leaves every task to Spark again. Nothing that a scheduler, the loop or a listener
    does reaches a query as an error.

    Attributes:
        level: `hard`: every stage of every job, by Headgate's task scheduler; `soft`: preferred locations.
        warnings: Settings of the session that weaken level soft, one sentence each; none at level hard.
    """

    def __init__(self, spark: SparkSession) -> None:
        """Listen; at level soft also bound how long a location is waited for, and rescue stages that are stuck.

        Raises:
            EngineError: It is a Spark Connect session, or it was stopped.
        """
        self.level = level_of(spark)
        self.spark = spark
        self.warnings = () if self.level == HARD else _warnings(spark)
        self._stack = ExitStack()
        self._placement: PlacementTable | StatePlacement
        if self.level == HARD:
            self._placement = PlacementTable.of(spark)
        else:
            self._placement = StatePlacement(spark)
            # Closed in reverse order: watchdog and bounded wait go before the places that they make safe.
            self._stack.callback(self._placement.close)
            self._stack.enter_context(_bounded(spark))
            self._stack.enter_context(Watchdog(spark))
        self.recorder = self._stack.enter_context(EventRecorder(spark))

    def target(self, query: StreamingQuery, *, timeout: float = 120.0) -> SparkTarget:
        """The handle of a query for monitor and executor; waits for a batch with data to learn its shape.

        Args:
            query: A streaming query of this session.
            timeout: Seconds to wait for that batch.

        Raises:
            EngineError: No batch with data ended in time, or at level soft: it keeps no state.
        """
        scope = str(query.id)
        found = discover(self.recorder, scope, query.name or "query", timeout=timeout, stateful_only=self.level == SOFT)
        return SparkTarget(
            spark=self.spark,
            topology=found.topology,
            scope=scope,
            stages=found.stages,
            placement=self._placement,
            recorder=self.recorder,
            query=query,
        )

    def follow(
        self,
        query: StreamingQuery,
        control: Control,
        *,
        interval: float = 60.0,
        on_round: Callable[[Round], None] | None = None,
    ) -> Follower:
        """Run the control loop on a query in the background, until it ends or the connection is closed.

        Args:
            query: A streaming query of this session.
            control: Scheduler, options, limits and guards; its `engine` has to be "spark".
            interval: Seconds from the end of a round to the next.
            on_round: Called with every round, in the follower's thread.
        """
        follower = Follower(self, query, control, interval, on_round)
        self._stack.callback(follower.stop)
        return follower

    def close(self) -> None:
        """Leave every task to Spark. Idempotent."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class Follower:
    """The control loop on one query, in a daemon thread; what fails there is logged and stays there."""

    def __init__(
        self,
        connection: Connection,
        query: StreamingQuery,
        control: Control,
        interval: float,
        on_round: Callable[[Round], None] | None,
    ) -> None:
        """Begin, in a thread of its own.

        Args:
            connection: The session.
            query: A streaming query of it.
            control: Scheduler, options, limits and guards.
            interval: Seconds from the end of a round to the next.
            on_round: Called with every round, in that thread.
        """
        self.rounds = 0
        self._interval = interval
        self._on_round = on_round
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=[connection, query, control], name="headgate-follower", daemon=True
        )
        self._thread.start()

    @property
    def alive(self) -> bool:
        """True while there may be another round."""
        return self._thread.is_alive() and not self._ended.is_set()

    def stop(self, timeout: float = 60.0) -> None:
        """End after the round that runs; a hanging plugin is waited for `timeout` seconds. Idempotent."""
        self._ended.set()
        self._thread.join(timeout)

    def _run(self, connection: Connection, query: StreamingQuery, control: Control) -> None:
        try:
            target = connection.target(query)
            # The user's application has no host of its own; here, its plugins are imported off the user's thread.
            self._go_round(Loop(PluginHost.load(), control, target))
        except Exception as error:  # noqa: BLE001 - a thread of the user's application
            LOG.warning("%s is not followed any more: %s", query.name or query.id, error)

    def _go_round(self, loop: Loop) -> None:
        while not self._ended.is_set():
            done: Any = loop.round()
            self.rounds += 1
            if self._on_round is not None:
                self._on_round(done)
            if done.outcome == "ended":
                return
            self._ended.wait(self._interval)


def _bounded(spark: SparkSession) -> ExitStack:
    """Bound Spark's wait for a preferred location, a setting that it reads for each stage; the context restores it."""
    conf = scala_context(spark.sparkContext).conf()
    before = conf.getOption(WAIT)
    conf.set(WAIT, BOUNDED)
    stack = ExitStack()
    stack.callback(lambda: conf.set(WAIT, before.get()) if before.isDefined() else conf.remove(WAIT))
    return stack


def _warnings(spark: SparkSession) -> tuple[str, ...]:
    conf = spark.sparkContext.getConf()
    found = []
    if conf.get("spark.shuffle.reduceLocality.enabled", "true") == "true":
        found.append(
            "spark.shuffle.reduceLocality.enabled is true: stages that nobody places wait for the hosts that hold most "
            "of their input; start the session with false"
        )
    if conf.get("spark.speculation", "false") == "true":
        found.append("spark.speculation is true: second attempts of tasks run anywhere; start the session with false")
    return tuple(found)
