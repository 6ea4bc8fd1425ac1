"""The writer of samples: a thread that writes what workers reported to Parquet files or a topic, every minute."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from headworks.samples.store import Keeper, Retention, Sink, open_sink
from headworks.samples.store import TopicAddress as TopicAddress  # who says where names it
from headworks_storm.samples.rows import ENGINE, write_samples
from headworks_storm.seats.homes import homes, lived_in, owners
from headworks_storm.seats.view import logical_snapshot
from headworks_storm.workers.reports import steady

if TYPE_CHECKING:
    from headworks_storm.nimbus.rounds import Rounds
    from headworks_storm.workers.collector import Collector

LOG = logging.getLogger("headworks.storm.archive")
SECONDS = 60.0
"""Seconds from one file to the next, unless told otherwise."""
MEGABYTES = 10_240
"""MB that a folder of samples may hold, unless told otherwise: if larger, a disk may be full before; if smaller, less
of the week of which the pipeline learns is left on a large cluster."""


class SampleWriter:
    """Writer of a collector's reports to a folder or a topic, in a `with` block; the last ones when it is left.

    Attributes:
        lost: Reports that could not be written.
    """

    def __init__(
        self,
        collector: Collector,
        where: Path | TopicAddress,
        rounds: Rounds,
        *,
        seconds: float = SECONDS,
        megabytes: int = MEGABYTES,
    ) -> None:
        """Take the source and the destination.

        Args:
            where: A folder, where `day=.../hour=...` are, or a topic.
            rounds: The rounds of Nimbus; the newest one names the tasks.
            seconds: From one file to the next.
            megabytes: That a folder may hold; beyond, its oldest files go.
        """
        self._collector = collector
        self._where = where
        self._rounds = rounds
        self._seconds = seconds
        self._retention = Retention(folder=where, most=megabytes << 20) if isinstance(where, Path) else None
        self._since = steady()
        self._homes: dict[tuple[str, int], int] = {}
        self.lost = 0
        self._ended, self._stack = threading.Event(), contextlib.ExitStack()
        self._thread = threading.Thread(target=self._run, name="headworks-archive", daemon=True)

    def __enter__(self) -> Self:
        """Start writing.

        Raises:
            EngineError: A library is missing, or there is no such topic.
        """
        self._sink: Sink = self._stack.enter_context(open_sink(self._where))
        self._states = Keeper(self._sink, ENGINE)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Write what is left."""
        with self._stack:
            self._ended.set()
            self._thread.join()
            self._write()

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            self._write()

    def _write(self) -> None:
        snapshot = self._rounds.newest
        if snapshot is None:  # reports wait in the collector until a round of Nimbus names their tasks
            return
        # A report that comes while this runs is for the next file: an upper bound, so that none is written twice.
        since, self._since = self._since, steady()
        reports = [each for each in self._collector.recent(self._since - since) if each.received <= self._since]
        try:
            self._homes = homes(reports, snapshot, self._homes)
            placed = logical_snapshot(snapshot, owners(snapshot, self._homes))
            files = self._states.keep_state(placed.observation(), time.time())
            files += write_samples(self._sink, lived_in(reports, snapshot, self._homes), snapshot, placed)
        except Exception as error:  # noqa: BLE001 - whatever a minute's reports do, those of the next are written
            self.lost += len(reports)
            LOG.warning("%d reports are not written: %s: %s", len(reports), type(error).__name__, error)
            return
        try:
            if self._retention is not None:
                self._retention.count(files)
        except OSError as error:
            LOG.warning("old samples cannot be removed: %s", error)
