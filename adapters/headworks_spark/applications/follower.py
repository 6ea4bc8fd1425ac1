"""The control loop on one query of an existing application, or on all of them, in the background."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headworks import PluginHost
from headworks.control.journal import LARGEST, FileJournal
from headworks.control.loop import Loop
from headworks.samples.store import Keeper, arrow_schema
from headworks_spark.discovery import NoBatchError
from headworks_spark.placement.lease import Places

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headworks.control.journal import Round
    from headworks.control.loop import Control
    from headworks_spark.targets import Target

LOG = logging.getLogger("headworks.spark")
"""The adapter's logger; what fails beside a user's query goes here and nowhere else."""
HANGS = 600.0
"""Seconds after which a round is taken to hang, unless earlier ones took a fifth of it: if larger, tasks keep the
places of a loop that hangs longer; if smaller, a round that waits for a long batch loses the places meanwhile."""

PATIENCE = 60.0
"""Seconds that the round that runs may take to end when its follower is stopped."""
LOOK = 5.0
"""Seconds between two looks for the end of a query whose first batch is waited for."""


P = TypeVar("P", bound=Places)


class Follower(Generic[P]):
    """The control loop on one query, or all of them, in a daemon thread; what fails there is logged and stays there.

    When it ends, for whatever reason, all tasks are left to Spark.

    Attributes:
        rounds: Number of rounds that it has done.
        last: The last of them, with the request of what it saw, so that `headworks.why` explains it; None before it.
    """

    def __init__(
        self,
        lease: Callable[[Callable[[], bool]], P],
        target: Callable[[P, float], Target],
        control: Control,
        interval: float,
        on_round: Callable[[Round], None] | None,
        samples: Path | None = None,
        journal: Path | None = None,
    ) -> None:
        """Begin, in a thread of its own.

        Args:
            lease: Makes the right to place, given whether its holder is well.
            target: Makes the handle of what is placed; waits for a batch with data, as many seconds as it is given.
            control: Scheduler, options, limits and guards.
            interval: Seconds from the end of a round to the next.
            on_round: Called with every round, in that thread.
            samples: Folder of what is measured; None keeps nothing.
            journal: File of the rounds; None keeps none.

        Raises:
            DocumentError: The journal cannot be written.
            EngineError: pyarrow is missing, which writes samples.
        """
        if samples is not None:
            arrow_schema()
        self._keep = None if samples is None else Keeper(samples, control.engine).keep
        self._journal = None if journal is None else FileJournal(journal, largest=LARGEST)
        self._past: Any = None
        self.rounds = 0
        self.last: Round | None = None
        self._interval = interval
        self._on_round = on_round
        self._began = time.monotonic()
        self._longest = 0.0
        self._ended = threading.Event()
        self._lease = lease(self._in_time)
        self._thread = threading.Thread(
            target=self._run, args=[target, control], name="headworks-follower", daemon=True
        )
        self._thread.start()

    def __repr__(self) -> str:
        """A line: whether it lives, how many rounds it has done, and the last of them."""
        last = "" if self.last is None else f", the last {self.last!r}"
        return f"<Follower {'alive' if self.alive else 'ended'}, {self.rounds} rounds{last}>"

    def _repr_html_(self) -> str:
        """The same for a notebook, with all of the last round."""
        last = "" if self.last is None else self.last._repr_html_()
        return f"<p>{'alive' if self.alive else 'ended'}, {self.rounds} rounds</p>{last}"

    @property
    def alive(self) -> bool:
        """True while there may be another round."""
        return self._thread.is_alive() and not self._ended.is_set()

    def stop(self, timeout: float = PATIENCE) -> None:
        """End after the round that runs, and leave every task to Spark. Idempotent.

        A hanging plugin is waited for `timeout` seconds; what it decides later is not carried out.
        """
        self._ended.set()
        self._thread.join(timeout)
        self._lease.close()

    def _in_time(self) -> bool:
        return time.monotonic() - self._began < max(HANGS, 5 * self._longest)

    def _run(self, target: Callable[[P, float], Target], control: Control) -> None:
        try:
            # The application has no host of its own; here, its plugins are imported off the user's thread.
            with PluginHost.load().isolated(wanted=control.isolation != "thread") as host:
                # A query whose plan becomes another, as its source grows for example, is looked at anew.
                while found := self._wait(target):
                    loop = Loop(host, control, found, self._journal, keep=self._keep, past=self._past)
                    self._go_round(loop, found)
                    self._past = loop.past
        except Exception as error:  # noqa: BLE001 - a thread of the user's application
            LOG.warning("a query is not followed any more: %s", error)
        finally:
            self._lease.close()

    def _wait(self, target: Callable[[P, float], Target]) -> Target | None:
        """The handle of the query as soon as it has ended a batch with data, however late; None if it is stopped."""
        said = ""
        while not self._ended.is_set():
            try:
                return target(self._lease, LOOK)
            except NoBatchError as error:
                if str(error) != said:
                    LOG.info("%s", said := str(error))
        return None

    def _go_round(self, loop: Loop, target: Target) -> None:
        while not self._ended.is_set() and not target.is_outdated():
            self._began = time.monotonic()
            done: Any = loop.round()
            self._longest = max(self._longest, time.monotonic() - self._began)
            self.rounds += 1
            self.last = loop.newest
            said = f"round {done.number}: {done.outcome}: {done.message}"
            LOG.info("%s", said, extra={"round": done.number})
            if self._on_round is not None:
                self._on_round(done)
            if done.outcome == "ended":
                self._ended.set()
            self._ended.wait(self._interval)
            self._began = time.monotonic()
