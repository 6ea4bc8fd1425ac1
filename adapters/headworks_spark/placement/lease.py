"""Leases of places: what a connection or a follower asks for lapses when it ends, hangs, or its query ends."""

from __future__ import annotations

import logging
import threading
import uuid
from typing import TYPE_CHECKING, Protocol

from headworks.errors import EngineError
from headworks.model import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headworks_spark.placement.table import Place, PlacementTable

LOG = logging.getLogger("headworks.spark")
"""The adapter's logger; what fails beside a user's query goes here and nowhere else."""
SECONDS = 30.0
"""Time after which a table lapses that nobody renews: if larger, tasks keep the places of a program that hangs longer;
if smaller, a driver that is paused (a collection of garbage, a debugger) loses them and has to ask again."""


class Places(Protocol):
    """The right to place tasks, until it is closed."""

    def close(self) -> None:
        """Leave every task to Spark. Idempotent."""


class Lease:
    """The places of one application, renewed by a thread; what was asked is taken back by `close`.

    After `close` nothing can be asked any more: a round that hung until then changes nothing.
    """

    def __init__(
        self,
        placement: PlacementTable,
        run: str | None = None,
        *,
        seconds: float = SECONDS,
        healthy: Callable[[], bool] = lambda: True,
    ) -> None:
        """Prepare; the first `push` begins.

        Args:
            run: Id of the run of a query: a later start from its checkpoint, which has the same id, has no place
                of it. None is no query.
            seconds: Time after which the table lapses when it is not renewed.
            healthy: Asked before each renewal; False lets the table lapse.
        """
        self._placement = placement
        self._run = run
        self._seconds = seconds
        self._healthy = healthy
        self._holder = str(uuid.uuid4())
        self._scopes: set[str] = set()
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return self._closed.is_set()

    def changed(self, scope: str) -> float:
        """Time at which the table of a scope was last replaced, seconds since the epoch; 0.0 if it never was."""
        return self._placement.changed(scope)

    def push(self, scope: str, hosts: Mapping[Place, str], signatures: Mapping[int, str] = FrozenMap()) -> None:
        """Replace the table of a scope.

        Args:
            scope: Id of a streaming query, job group, or local property `headworks.scope`.
            hosts: Host of each (stage ordinal, partition); tasks that are not in it are left to Spark.
            signatures: Signature of the stage that is meant, by ordinal (`JobStart.signature`).

        Raises:
            EngineError: The lease is closed.
        """
        self._ask(scope, lambda: self._placement.push(scope, hosts, signatures))

    def hold(self, scope: str) -> None:
        """Have each stage of a scope wait before it begins, in place of its table, until this lease lapses or ends.

        Args:
            scope: Id of the streaming query.

        Raises:
            EngineError: The lease is closed.
        """
        self._ask(scope, lambda: self._placement.hold(scope))

    def held(self, scope: str) -> bool:
        """True while the stages of a scope wait."""
        return self._placement.held(scope) and self._placement.holds(scope, self._run)

    def _ask(self, scope: str, act: Callable[[], None]) -> None:
        """Change the table of a scope, which is this lease's from then on."""
        with self._lock:
            if self._closed.is_set():
                raise EngineError(f"the tasks of {scope} were left to Spark: connect to the session again")
            act()
            self._placement.grant(scope, self._holder, self._run, self._seconds)
            self._scopes.add(scope)
            if self._thread is None:
                self._thread = threading.Thread(target=self._keep, name="headworks-lease", daemon=True)
                self._thread.start()

    def read(self, scope: str) -> dict[Place, str]:
        """The table of a scope, empty if it has none, it has lapsed, or it is that of an earlier run."""
        return self._placement.read(scope) if self._placement.holds(scope, self._run) else {}

    def left(self, scope: str) -> dict[str, int]:
        """Tasks of a scope that were not run where asked, by reason."""
        return self._placement.left(scope)

    def clear(self, scope: str) -> None:
        """Leave the tasks of a scope to Spark."""
        with self._lock:
            self._scopes.discard(scope)
            self._placement.drop(scope, self._holder)

    def close(self) -> None:
        """Leave every task to Spark. Idempotent."""
        with self._lock:
            if self._closed.is_set():
                return
            self._closed.set()
            try:
                for scope in sorted(self._scopes):
                    self._placement.drop(scope, self._holder)
            except Exception as error:  # noqa: BLE001 - the driver is gone, and its tables with it
                LOG.debug("places were not taken back: %s", error)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _keep(self) -> None:
        while not self._closed.wait(self._seconds / 3):
            with self._lock:
                scopes = sorted(self._scopes) if self._healthy() and not self._closed.is_set() else []
                try:
                    for scope in scopes:
                        self._placement.renew(scope, self._holder, self._seconds)
                except Exception:  # noqa: BLE001 - the session was stopped: nothing is left to be renewed
                    return
