"""Connection to a session of an existing application, by one line in it: `headworks_spark.connect(spark)`."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, Self

import attrs

from headworks.errors import EngineEndedError
from headworks_spark.applications.follower import LOG, PATIENCE, Follower
from headworks_spark.discovery import NoBatchError, discover, patience
from headworks_spark.driver.advice import refuse_mode, warnings
from headworks_spark.driver.driver import HARD
from headworks_spark.driver.reach import driver_of
from headworks_spark.driver.session import NOT_OURS, level_of
from headworks_spark.events.recorder import EventRecorder
from headworks_spark.placement.lease import Lease
from headworks_spark.placement.table import PlacementTable
from headworks_spark.queries import NAMELESS, SparkQueries
from headworks_spark.target import ExecutorTotal, SparkTarget

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from headworks.control.journal import Round
    from headworks.control.loop import Control
    from headworks_spark.local.cluster import LocalSpark
    from headworks_spark.placement.lease import Places


class Connection:
    """Headworks's part of a session: a recorder of its events, and the placement of the queries that are followed.

    A context manager; `close` leaves every task to Spark again. Nothing that a scheduler, the loop or a listener
    does reaches a query as an error.

    Attributes:
        level: `hard`: every stage of every job can be placed, by Headworks's task scheduler; `none`: the session lacks
            that, and is observed.
    """

    def __init__(self, spark: SparkSession, cluster: LocalSpark | None = None) -> None:
        """Listen. Nothing of the session changes before a query is followed, or its handle asked for.

        Args:
            cluster: The local cluster that was started for the session.

        Raises:
            EngineError: It was stopped, or it is of a Connect server that has no jar of Headworks's.
        """
        self.level = level_of(spark)
        self.spark = spark
        self._cluster, self._total = cluster, ExecutorTotal()
        self._stack = ExitStack()
        self.recorder = self._stack.enter_context(EventRecorder(spark))

    def __repr__(self) -> str:
        """A line: its level, and what was heard so far."""
        return f"<Connection at level {self.level}, {len(self.recorder.jobs())} jobs heard>"

    def _repr_html_(self) -> str:
        """The same for a notebook, with the warnings, or the reason why there are none."""
        try:
            said = self.warnings
        except Exception as error:  # noqa: BLE001 - the session was stopped, or its JVM is gone
            said = (str(error),)
        return f"<p>{escape(repr(self))}</p><ul>{''.join(f'<li>{escape(each)}</li>' for each in said)}</ul>"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What keeps tasks from their places, as settings are now: one sentence each."""
        return warnings(self.spark)

    def target(self, query: StreamingQuery, *, timeout: float | None = None) -> SparkTarget:
        """The handle of a query for monitor and executor; waits for a batch with data to learn its shape.

        What is asked through it holds until the connection is closed, the query ends, or this program hangs.

        Args:
            query: A streaming query of this session.
            timeout: Seconds to wait for that batch; by default five minutes, or three triggers of the query.

        Raises:
            EngineError: No batch with data ended in time, or it runs in a mode that cannot be placed (continuous,
                real-time, adaptive).
        """
        lease = self._lease(query)
        self._stack.callback(lease.close)
        try:
            if timeout is None:
                timeout = patience(driver_of(self.spark).trigger(query).seconds)
            return self._handle(query, lease, timeout)
        except BaseException:
            lease.close()
            raise

    def _lease(self, query: StreamingQuery, healthy: Callable[[], bool] = lambda: True) -> Places:
        if self.level != HARD:
            return ExitStack()  # nothing is asked for, and nothing has to be taken back
        return Lease(PlacementTable.of(self.spark), str(query.runId), healthy=healthy)

    def _handle(self, query: StreamingQuery, places: Places, timeout: float, name: str = "") -> SparkTarget:
        scope = str(query.id)
        refuse_mode(self.spark, query)
        name = name or query.name or NAMELESS
        try:
            found = discover(self.recorder, scope, name, timeout=timeout)
        except NoBatchError as error:
            if query.isActive:
                raise
            raise EngineEndedError(f"the query {name!r} has ended: {error}") from None
        return SparkTarget(
            spark=self.spark,
            topology=found.topology,
            scope=scope,
            stages=found.stages,
            signatures=found.signatures,
            notes=found.notes,
            placement=places if isinstance(places, Lease) else None,
            recorder=self.recorder,
            query=query,
            cluster=self._cluster,
            total=self._total,
        )

    def queries(self, healthy: Callable[[], bool] = lambda: True) -> SparkQueries:
        """All streaming queries of the session as one target.

        Args:
            healthy: Asked before places are renewed; False lets them lapse.
        """
        return SparkQueries(self.spark, partial(self._lease, healthy=healthy), self._join)

    def follow(
        self,
        query: StreamingQuery,
        control: Control,
        *,
        interval: float = 60.0,
        on_round: Callable[[Round], None] | None = None,
        samples: Path | None = None,
        journal: Path | None = None,
    ) -> Follower[Places]:
        """Run the control loop on a query in the background, until it ends or the connection is closed.

        At level none its rounds carry nothing out (`Control.shadow`).

        Args:
            query: A streaming query of this session.
            control: Scheduler, options, limits and guards; its `engine` has to be "spark".
            interval: Seconds from the end of a round to the next.
            on_round: Called with every round, in the follower's thread.
            samples: Folder that what is measured is written to, as Parquet for the pipeline; None keeps nothing.
            journal: File that every round is written to; None keeps none.

        Raises:
            DocumentError: The journal cannot be written.
            EngineError: pyarrow is missing, which writes samples.
        """
        lease, target = partial(self._lease, query), partial(self._handle, query)
        follower = Follower(lease, target, self._able(control), interval, on_round, samples, journal)
        self._stack.callback(self._end, follower)
        return follower

    def follow_all(
        self,
        control: Control,
        *,
        interval: float = 60.0,
        on_round: Callable[[Round], None] | None = None,
        samples: Path | None = None,
        journal: Path | None = None,
    ) -> Follower[SparkQueries]:
        """Run one control loop on all streaming queries of the session, later ones too, until the session ends.

        One round shares the nodes among the queries: by `control.priorities`, where it names a priority manager, which
        knows each query by its name. A query without a name is called `query`. At level none rounds carry nothing out.

        Args:
            control: Scheduler, options, limits and guards; its `engine` has to be "spark".
            interval: Seconds from the end of a round to the next.
            on_round: Called with every round, in the follower's thread.
            samples: Folder that what is measured is written to, as Parquet for the pipeline; None keeps nothing.
            journal: File that every round is written to; None keeps none.

        Raises:
            DocumentError: The journal cannot be written.
            EngineError: pyarrow is missing, which writes samples.
        """
        follower = Follower(self.queries, _begun, self._able(control), interval, on_round, samples, journal)
        self._stack.callback(self._end, follower)
        return follower

    def _able(self, control: Control) -> Control:
        """What of a control the session allows: without Headworks's task scheduler to look on, which is said."""
        if self.level == HARD or control.shadow:
            return control
        LOG.warning("rounds carry nothing out: %s", NOT_OURS)
        return attrs.evolve(control, shadow=True)

    def _join(self, query: StreamingQuery, name: str, places: Places) -> SparkTarget:
        return self._handle(query, places, 0.0, name)

    def _end(self, follower: Follower[Any]) -> None:
        # A round may hang in a call of the user's session, which tries for ten minutes where a Connect server is gone.
        follower.stop(PATIENCE if driver_of(self.spark).answers() else 0.0)

    def close(self) -> None:
        """Leave every task to Spark. Idempotent; raises nothing: what fails, as where the driver is gone, is logged."""
        try:
            driver_of(self.spark).leave()
            self._stack.close()
        except Exception as error:  # noqa: BLE001 - it would take the place of what the user's block raised
            LOG.warning("the connection was closed, and not all of it could be taken back: %s", error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def _begun(queries: SparkQueries, timeout: float) -> SparkQueries:
    queries.begin(timeout)
    return queries
