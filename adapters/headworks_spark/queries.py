"""All streaming queries of a session as one target: one round shares the nodes among them."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from headworks.errors import EngineEndedError, EngineError
from headworks_spark.discovery import LOOK, NoBatchError
from headworks_spark.events.batch import LEAST
from headworks_spark.monitor import refuse_ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming import StreamingQuery

    from headworks_spark.placement.lease import Lease
    from headworks_spark.target import SparkTarget

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
        lease: Callable[[StreamingQuery], Lease],
        join: Callable[[StreamingQuery, str, Lease], SparkTarget],
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
        self._leases: dict[str, Lease] = {}
        self._refused: dict[str, str] = {}
        self._last = "no query was active"
        self._first: float | None = None
        self._lock = threading.RLock()
        self._closed = False

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on the queries that are left to Spark."""
        return tuple(self._refused.values())

    def is_outdated(self) -> bool:
        """False: where the plan of a query becomes another, `look` makes a handle of it anew."""
        return False

    def look(self) -> None:
        """Let go the queries that ended, and take in those that can be placed now.

        Raises:
            EngineEndedError: No query is active any more, or their places were given back.
        """
        with self._lock:
            active = {str(each.runId): each for each in self.spark.streams.active}
            for run in sorted({*self._leases, *self._refused} - active.keys()):
                self._forget(run)
            if self._closed or not active:
                raise EngineEndedError("the queries were left to Spark" if self._closed else self._last)
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
            EngineEndedError: No query is active, or their places were given back.
            EngineError: No active query can be placed.
        """
        deadline = time.monotonic() + timeout
        while True:
            self.look()
            if self.members and self._have_had_time():
                return
            if self._refused and not self._leases:
                raise EngineError("; ".join(self.notes))
            if (left := deadline - time.monotonic()) <= 0:
                if self.members:
                    raise NoBatchError(f"the first batch of {len(self._waiting)} queries is waited for")
                raise NoBatchError(f"no query finished a batch with data in {timeout:g} s: look whether data arrives")
            time.sleep(min(left, LOOK))

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
        with self._lock:
            self._closed = True
            for lease in self._leases.values():
                lease.close()

    def _forget(self, run: str) -> None:
        """Forget a query that ended; the last reason is told when no other is left."""
        self._refused.pop(run, None)
        if (target := self._joined.pop(run, None)) is not None:
            try:
                refuse_ended(target)  # while it has its lease: then the reason is the query's own
            except EngineEndedError as error:
                self._last = str(error)
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
            self._leases.pop(run).close()
            self._joined.pop(run, None)
            self._refused[run] = str(error)

    def _name(self, query: StreamingQuery) -> str:
        name = query.name or NAMELESS
        taken = {each.topology.id for each in self._joined.values()}
        return f"{name}-{str(query.id)[:8]}" if name in taken else name
