"""All streaming queries of a session as one target: one round shares the nodes among them."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from headworks.errors import EngineEndedError, EngineError
from headworks_spark.discovery import LOOK, NoBatchError, topology_id
from headworks_spark.driver.reach import driver_of, ending_with_driver
from headworks_spark.events.batch import LEAST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql.streaming import StreamingQuery

    from headworks_spark.placement.lease import Places
    from headworks_spark.target import SparkTarget

LOG = logging.getLogger("headworks.spark")
NAMELESS = "query"
"""Id of the topology of a query without a name; of a second one the begin of Spark's id follows."""


class SparkQueries:
    """The handles of all streaming queries of a session, those that start later among them.

    A query takes part from the first round that finds a batch of it with data ended, until it ends. Where one cannot
    be placed, it is left to Spark, and each round says why.

    Attributes:
        spark: The session.
        members: Handles of the queries that take part, by the id of their topologies, as `look` found them.
    """

    def __init__(
        self,
        spark: Any,
        lease: Callable[[StreamingQuery], Places],
        join: Callable[[StreamingQuery, str, Places], SparkTarget],
    ) -> None:
        """Take the session; nothing is looked at yet.

        Args:
            lease: Makes the right to place a query.
            join: Makes the handle of a query, given the id of its topology and that right; raises `NoBatchError` while
                no batch of it with data has ended.
        """
        self.spark = spark
        self.members: tuple[SparkTarget, ...] = ()
        self._lease, self._join = lease, join
        self._joined: dict[str, SparkTarget] = {}
        self._leases: dict[str, Places] = {}
        self._refused: dict[str, str] = {}
        self._first: float | None = None
        self._lock = threading.RLock()
        self._closed = threading.Event()

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the queries that are left to Spark."""
        return tuple(self._refused.values())

    @property
    def awaited(self) -> str:
        """A sentence on what has to come before anything can be placed."""
        active = len({*self._leases, *self._refused})
        if self.members:
            return f"the first batch of {len(self._waiting)} queries is waited for"
        if not active:
            return "no streaming query is active: one takes part as soon as it has ended a batch with data"
        said = f"of {active} active queries none has ended a batch with data: look whether data and executors are there"
        return "; ".join((*self.notes, said) if self._leases else self.notes)

    def is_outdated(self) -> bool:
        """False: where the plan of a query becomes another, `look` makes a handle of it anew."""
        return False

    def look(self) -> None:
        """Let go the queries that ended, and take in those that can be placed now.

        Raises:
            EngineEndedError: The session has ended, or places were given back.
        """
        with ending_with_driver(self.spark):
            self.pause(0)
            if driver_of(self.spark).stopped():
                raise EngineEndedError("the session has ended")
            # Without the lock, which `close` takes: where a Connect server is gone, PySpark tries for ten minutes.
            active = {str(each.runId): each for each in self.spark.streams.active}
            with self._lock:
                self.pause(0)
                self._take_in(active)

    def _take_in(self, active: Mapping[str, StreamingQuery]) -> None:
        for run in sorted({*self._leases, *self._refused} - active.keys()):
            self._forget(run)
        for run, query in active.items():
            if run not in self._refused and (run not in self._joined or self._joined[run].is_outdated()):
                self._join_query(run, query)
        self.members = tuple(sorted(self._joined.values(), key=lambda each: each.topology.id))

    def begin(self, timeout: float) -> None:
        """Look until all queries take part, or some do and the others have had time for a batch.

        Places of one are chosen with all others in view: what the first query were given alone it would have to leave.

        Args:
            timeout: Seconds to wait.

        Raises:
            NoBatchError: No batch with data ended in time, or others are still waited for.
            EngineEndedError: The session has ended, or places were given back.
        """
        deadline = time.monotonic() + timeout
        self.look()
        while not (self.members and self._have_had_time()):
            if (left := deadline - time.monotonic()) <= 0:
                raise NoBatchError(self.awaited)
            self.pause(min(left, LOOK))
            self.look()

    def pause(self, seconds: float) -> None:
        """Let time pass.

        Raises:
            EngineEndedError: Places were given back meanwhile.
        """
        if self._closed.wait(seconds):
            raise EngineEndedError("queries are left to Spark")

    @property
    def _waiting(self) -> set[str]:
        return self._leases.keys() - self._joined.keys()

    def _have_had_time(self) -> bool:
        """Check whether every query takes part, or the first one has done so for long enough."""
        if self._first is None:
            self._first = time.monotonic()
        return not self._waiting or time.monotonic() - self._first >= LEAST

    def close(self) -> None:
        """Leave every task to Spark. Idempotent."""
        self._closed.set()
        with self._lock:
            for lease in self._leases.values():
                lease.close()

    def _forget(self, run: str) -> None:
        self._refused.pop(run, None)
        self._joined.pop(run, None)
        if (lease := self._leases.pop(run, None)) is not None:
            lease.close()

    def _join_query(self, run: str, query: StreamingQuery) -> None:
        if run not in self._leases:
            self._leases[run] = self._lease(query)
        known = self._joined.get(run)
        try:
            name = known.topology.id if known is not None else self._name(query)
            self._joined[run] = self._join(query, name, self._leases[run])
        except (NoBatchError, EngineEndedError):
            return
        except EngineError as error:
            self._forget(run)
            self._refused[run] = str(error)
            LOG.warning("left to Spark: %s", error)

    def _name(self, query: StreamingQuery) -> str:
        name = topology_id(query.name or NAMELESS)
        taken = {each.topology.id for each in self._joined.values()}
        return f"{name}-{str(query.id)[:8]}" if name in taken else name
