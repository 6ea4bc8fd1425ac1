"""The collector: a TCP server in a thread of its own, which keeps the newest reports of every worker."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import attrs

from headworks.errors import DocumentError, EngineError
from headworks_local.private_files import make_secret
from headworks_storm.peers.proof import derive
from headworks_storm.peers.server import Bounds, PeerServer
from headworks_storm.workers.reports import read_report, steady

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headworks_storm.peers.server import Peer
    from headworks_storm.workers.reports import Report

    Worker = tuple[str, str | None, int]

LOG = logging.getLogger("headworks.storm.collector")
LINE = 4 * 2**20
"""Bytes that a report may have: 200,000 flows. With more, one client may hold more memory; with less, workers of many
tasks report nothing."""
CLIENTS = 20_000
"""Connections at a time, one a worker. With more, a tenant may take more descriptors and memory."""
STRANGERS = 128
"""Callers at a time that have proved nothing yet."""
GREETING = 5.0
"""Seconds that a caller has to prove itself."""
KEPT = 120
"""Reports that are kept of each worker: ten minutes at the usual pace. A window that is longer is measured in part."""
BUDGET = 64 * 2**20
"""Bytes of report lines that are kept in all, ten times that in memory; then the topology with most loses its oldest:
whoever may report for one topology takes nothing of the others."""
COLLECTORS = 8
"""Collectors that a worker reports to, as in the jar's `Settings`: each costs it a connection and a thread."""
TIDY = 60.0
"""Seconds between two looks for workers that are gone."""
SLOWEST = 10
"""Seconds between two reports of a worker at the slowest pace (`headworks.monitor.seconds`)."""


@attrs.frozen(kw_only=True)
class Tally:
    """Counts of report lines and clients since the collector started.

    Attributes:
        received: Reports that were taken. `evicted`: of them, those that made room before their time.
        lost: Numbers missing in the sequence of a worker.
        invalid: Lines that were no reports. `oversize`: lines that were too long.
        foreign: Reports on another topology or slot than the connection's; they are left out.
        refused: Strangers: no proof that they know a token, too late, or pushed out by the next.
        crowded: Workers that were turned away, as there were too many.
        starved: Times that the process had no file descriptor for the next caller.
    """

    received: int = 0
    evicted: int = 0
    lost: int = 0
    invalid: int = 0
    oversize: int = 0
    foreign: int = 0
    refused: int = 0
    crowded: int = 0
    starved: int = 0


class Reports:
    """The newest reports of every worker, within bounds; every method may be called by any thread."""

    def __init__(self, *, kept: int = KEPT, budget: int = BUDGET) -> None:
        """Start empty.

        Args:
            kept: Most reports of one worker.
            budget: Most bytes of report lines of all workers together.
        """
        self._kept = kept
        self._budget = budget
        self._topologies: dict[str, dict[Worker, deque[tuple[int, Report]]]] = {}
        self._bytes: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, report: Report, size: int) -> None:
        """Keep a report, and drop older ones that no longer fit.

        Args:
            size: Bytes of its line, which count for the budget.
        """
        with self._lock:
            row = self._topologies.setdefault(report.topology, {}).setdefault(report.worker, deque())
            self._counts["received"] += 1
            # A worker numbers its reports from 1 in each life, so a gap within a life is a report that was lost.
            if row and row[-1][1].started == report.started:
                self._counts["lost"] += max(0, report.number - row[-1][1].number - 1)
            row.append((size, report))
            self._bytes[report.topology] += size
            if len(row) > self._kept:
                self._bytes[report.topology] -= row.popleft()[0]
            while self._bytes.total() > self._budget:
                self._evict()

    def _evict(self) -> None:
        """Drop the oldest report of a worker of the topology that has most: its workers lose one in turn."""
        topology = max(self._bytes, key=self._bytes.__getitem__)
        workers = self._topologies[topology]
        worker = next(iter(workers))
        row = workers.pop(worker)
        self._bytes[topology] -= row.popleft()[0]
        self._counts["evicted"] += 1
        if row:
            workers[worker] = row  # the last in turn now

    def count(self, what: str) -> None:
        """Count something that is no report, under a name of a field of `Tally`."""
        with self._lock:
            self._counts[what] += 1

    def since(self, moment: float) -> tuple[Report, ...]:
        """The reports that were received after a moment, seconds since 1970, oldest first for each worker."""
        with self._lock:
            return tuple(report for row in self._rows() for _, report in row if report.received > moment)

    def tally(self) -> Tally:
        """The counts up to now."""
        with self._lock:
            return Tally(**self._counts)

    def forget(self, moment: float) -> None:
        """Drop the workers that have said nothing since a moment."""
        with self._lock:
            for topology, workers in list(self._topologies.items()):
                for worker in [each for each, row in workers.items() if row[-1][1].received < moment]:
                    self._bytes[topology] -= sum(size for size, _ in workers.pop(worker))
                if not workers:
                    del self._topologies[topology], self._bytes[topology]

    def _rows(self) -> Iterator[deque[tuple[int, Report]]]:
        return (row for workers in self._topologies.values() for row in workers.values())


class Collector:
    """Server for the reports of workers, which listens in a `with` block."""

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        token: str | Callable[[], str],
        kept: int = KEPT,
        budget: int = BUDGET,
        places: int | None = None,
        clock: Callable[[], float] = steady,
    ) -> None:
        """Take the address to listen on, and the token of which those of topologies are made.

        Args:
            host: Address; workers on other machines need one that they reach.
            port: Any free one by default; `address` has it.
            token: A worker proves that it knows the token of its topology, which is derived from this one; or what
                gives the token of the moment, and raises an `EngineError` where there is none, so that nobody gets in.
            kept: Reports that are kept of each worker.
            budget: Bytes of report lines that are kept in all.
            places: Workers at a time; `CLIENTS` by default.
            clock: What dates reports, seconds since 1970.

        Raises:
            EngineError: The token is empty.
        """
        if not token:
            raise EngineError("a collector needs a token: an empty one lets everybody in")
        self._token = partial(str, token) if isinstance(token, str) else token
        self._unread = ""
        self._clock = clock
        self.places = CLIENTS if places is None else places
        self._reports = Reports(kept=kept, budget=budget)
        self._server = PeerServer(
            (host, port),
            lambda peer: _Worker(self, peer),
            name="headworks-collector",
            bounds=Bounds(line=LINE, peers=self.places, strangers=STRANGERS, seconds=GREETING),
            token=self._token_of,
            by_port=False,
            count=self.count,
        )

    @property
    def address(self) -> tuple[str, int]:
        """The address on which it listens."""
        return self._server.address

    @property
    def tally(self) -> Tally:
        """Counts of report lines and clients up to now."""
        return self._reports.tally()

    def window(self, seconds: float) -> tuple[Report, ...]:
        """Wait for so long, and return the reports that came meanwhile; the first reach back by their own windows."""
        since = self._clock()
        time.sleep(seconds)
        return self._reports.since(since)

    def recent(self, seconds: float) -> tuple[Report, ...]:
        """Reports that came in the last seconds, as far as they are kept."""
        return self._reports.since(self._clock() - seconds)

    def __enter__(self) -> Self:
        """Listen.

        Raises:
            EngineError: The address is taken or not one of this machine.
        """
        self._server.__enter__()
        self._server.every(TIDY, self._tidy)
        return self

    def __exit__(self, *_error: object) -> None:
        """Hang up on every worker, and stop."""
        self._server.__exit__()

    def _tidy(self) -> None:
        """Drop workers that are silent for as long as their reports are kept at the slowest pace: they are gone."""
        self._reports.forget(self._clock() - SLOWEST * KEPT)

    def _token_of(self, name: str) -> str:
        """The token of a caller, whose name is its topology's id in hexadecimal digits; else what nobody knows."""
        try:
            secret = self._token()
            self._unread = ""
            return derive(secret, bytes.fromhex(name).decode())
        except EngineError as error:
            if str(error) != self._unread:  # once, and not for each worker
                LOG.warning("new connections of workers are refused: %s", error)
            self._unread = str(error)
        except ValueError:
            pass
        return make_secret()

    def take(self, line: bytes, of: _Worker | None = None) -> None:
        """Keep the report of a line, or count why not; dated here, for workers' clocks differ.

        Args:
            of: The connection it came from, which has a topology, and reports on one worker alone.
        """
        try:
            report = read_report(line, self._clock())
        except DocumentError:
            self.count("invalid")
            return
        if of is None or of.may_say(report):
            self._reports.add(report, len(line))
        else:
            self.count("foreign")

    def count(self, what: str) -> None:
        """Count something that is no report, under a name of a field of `Tally`."""
        self._reports.count(what)


class _Worker:
    """The connection of a worker: a report a line."""

    def __init__(self, collector: Collector, peer: Peer) -> None:
        self._collector = collector
        self._topology = bytes.fromhex(peer.name).decode()
        self._worker: Worker | None = None

    def may_say(self, report: Report) -> bool:
        """True if a report is on the topology whose token the worker knows, and on the worker of its first report."""
        if self._worker is None and report.topology == self._topology:
            self._worker = report.worker
        return report.worker == self._worker

    def line(self, line: bytes) -> None:
        """Take a report."""
        self._collector.take(line, self)

    def overlong(self) -> None:
        """Count a report that is left out."""
        self._collector.count("oversize")


def collector_addresses(named: Any) -> tuple[tuple[str, int], ...]:
    """Hosts and ports in the value of `headworks.collector`, each once; none if it is not set.

    Args:
        named: The value, as YAML has it.

    Raises:
        ValueError: One of them is not a HOST:PORT, or there are more than a worker reports to.
    """
    texts = [str(each) for each in named] if isinstance(named, list | tuple) else str(named or "").split(",")
    found = tuple(dict.fromkeys(_address(text.strip()) for text in texts if text.strip()))
    if len(found) > COLLECTORS:
        raise ValueError(f"{len(found)} addresses, and a worker reports to {COLLECTORS}")
    return found


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
        raise ValueError(f"{text!r} is not a HOST:PORT")
    return host, int(port)
