"""The writer of samples: a thread that writes what workers reported to Parquet files, every minute."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Self

from headworks.samples.store import Keeper, Retention, arrow_schema
from headworks_storm.samples.rows import ENGINE, write_samples
from headworks_storm.seats.homes import homes, lived_in, owners
from headworks_storm.seats.view import logical_snapshot
from headworks_storm.workers.reports import steady

if TYPE_CHECKING:
    from pathlib import Path

    from headworks_storm.nimbus.rounds import Rounds
    from headworks_storm.workers.collector import Collector

LOG = logging.getLogger("headworks.storm.archive")
SECONDS = 60.0
"""Seconds from one file to the next, unless told otherwise."""
MEGABYTES = 10_240
"""MB that a folder of samples may hold, unless told otherwise: if larger, a disk may be full before; if smaller, less
of the week of which the pipeline learns is left on a large cluster."""


class SampleWriter:
    """Writer of a collector's reports to a folder of samples, in a `with` block; the last ones when it is left.

    Attributes:
        lost: Reports that could not be written.
    """

    def __init__(
        self,
        collector: Collector,
        folder: Path,
        rounds: Rounds,
        *,
        seconds: float = SECONDS,
        megabytes: int = MEGABYTES,
    ) -> None:
        """Take the source and the destination.

        Args:
            folder: Where `day=.../hour=...` are.
            rounds: The rounds of Nimbus; the newest one names the tasks.
            seconds: From one file to the next.
            megabytes: That the folder may hold; beyond, its oldest files go.
        """
        self._collector = collector
        self._folder = folder
        self._rounds = rounds
        self._seconds = seconds
        self._states = Keeper(folder, ENGINE)
        self._retention = Retention(folder=folder, most=megabytes << 20)
        self._since = steady()
        self._homes: dict[tuple[str, int], int] = {}
        self.lost = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headworks-archive", daemon=True)

    def __enter__(self) -> Self:
        """Start writing.

        Raises:
            EngineError: pyarrow is missing.
        """
        arrow_schema()  # imports pyarrow now: a service that is told to end has seconds for its last reports
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Write what is left."""
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
            files += write_samples(self._folder, lived_in(reports, snapshot, self._homes), snapshot, placed)
        except Exception as error:  # noqa: BLE001 - whatever a minute's reports do, those of the next are written
            self.lost += len(reports)
            LOG.warning("%d reports are not written: %s: %s", len(reports), type(error).__name__, error)
            return
        try:
            self._retention.count(files)
        except OSError as error:
            LOG.warning("old samples cannot be removed: %s", error)
