"""The collector: a TCP server in a thread of its own, which keeps the newest reports of every worker."""

from __future__ import annotations

import asyncio
import hmac
import threading
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Self

import attrs

from headgate.errors import DocumentError, EngineError
from headgate_storm.workers.reports import read_report

if TYPE_CHECKING:
    from collections.abc import Callable

    from headgate_storm.workers.reports import Report

LINE = 4 * 2**20
"""Bytes that a report may have: 200,000 flows. With more, one client may hold more memory; with less, workers of many
tasks report nothing."""
HELLO = 1024
"""Bytes that the first line, the token, may have. With more, clients without it may hold more memory."""
GREETING = 10.0
"""Seconds that a client may take to send it. With more, silent clients fill the places of workers for longer."""
CLIENTS = 10_000
"""Connections at a time, one a worker. With more, the process may run out of file descriptors."""
BACKLOG = 1024
"""Of them, those that may wait to be let in: all workers of a cluster call at once when a collector starts again. With
fewer, the system refuses some of them, which try again later."""
KEPT = 120
"""Reports that are kept of each worker: ten minutes at the usual pace. A window that is longer is measured in part."""
BUDGET = 64 * 2**20
"""Bytes of report lines that are kept in all, ten times that in memory; then the worker with most loses its oldest."""
TIDY = 60.0
"""Seconds between two looks for workers that are gone. With more, their reports take memory for longer."""
SLOWEST = 10
"""Seconds between two reports of a worker at the slowest pace (`headgate.monitor.seconds`). With less, reports of
workers that are alive are dropped."""


@attrs.frozen(kw_only=True)
class Tally:
    """Counts of report lines and clients since the collector started.

    Attributes:
        received: Reports that were taken. `evicted`: of them, those that made room before their time.
        lost: Numbers missing in the sequence of a worker.
        invalid: Lines that were no reports. `oversize`: lines that were too long.
        refused: Clients without the token, too slow to send it, or too many.
    """

    received: int = 0
    evicted: int = 0
    lost: int = 0
    invalid: int = 0
    oversize: int = 0
    refused: int = 0


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
        self._workers: dict[tuple[str, str | None, int], deque[tuple[int, Report]]] = {}
        self._bytes = 0
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, report: Report, size: int) -> None:
        """Keep a report, and drop older ones that no longer fit.

        Args:
            report: The report.
            size: Bytes of its line, which count for the budget.
        """
        with self._lock:
            row = self._workers.setdefault(report.worker, deque())
            self._counts["received"] += 1
            # A worker numbers its reports from 1 in each life, so a gap within a life is a report that was lost.
            if row and row[-1][1].started == report.started:
                self._counts["lost"] += max(0, report.number - row[-1][1].number - 1)
            row.append((size, report))
            self._bytes += size
            if len(row) > self._kept:
                self._bytes -= row.popleft()[0]
            while self._bytes > self._budget:
                self._evict()

    def _evict(self) -> None:
        """Drop the oldest report of the worker that has most of them: every worker keeps as long a past as any."""
        worker = max(self._workers, key=lambda each: len(self._workers[each]))
        self._bytes -= self._workers[worker].popleft()[0]
        self._counts["evicted"] += 1
        if not self._workers[worker]:
            del self._workers[worker]

    def count(self, what: str) -> None:
        """Count something that is no report, under a name of a field of `Tally`."""
        with self._lock:
            self._counts[what] += 1

    def since(self, moment: float) -> tuple[Report, ...]:
        """The reports that were received after a moment, seconds since 1970, oldest first for each worker."""
        with self._lock:
            return tuple(report for row in self._workers.values() for _, report in row if report.received > moment)

    def tally(self) -> Tally:
        """The counts up to now."""
        with self._lock:
            return Tally(**self._counts)

    def forget(self, moment: float) -> None:
        """Drop the workers that have said nothing since a moment."""
        with self._lock:
            for worker in [each for each, row in self._workers.items() if row[-1][1].received < moment]:
                self._bytes -= sum(size for size, _ in self._workers.pop(worker))


class Collector:
    """Server for the reports of workers, which listens in a `with` block."""

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        token: str,
        kept: int = KEPT,
        budget: int = BUDGET,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Take the address to listen on, and the token that a worker has to know.

        Args:
            host: Address; workers on other machines need one that they reach.
            port: Any free one by default; `address` has it.
            token: First line of every connection.
            kept: Reports that are kept of each worker.
            budget: Bytes of report lines that are kept in all.
            clock: What dates reports, seconds since 1970.

        Raises:
            EngineError: The token is empty.
        """
        if not token:
            raise EngineError("a collector needs a token: an empty one lets everybody in")
        self.address = (host, port)
        self._token = token.encode()
        self._clock = clock
        self._reports = Reports(kept=kept, budget=budget)
        self._clients: set[asyncio.Transport] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="headgate-collector", daemon=True)

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
        # The loop runs here until the server listens, in its own thread from then on: a taken port is raised here.
        try:
            listening = self._loop.create_server(lambda: _Client(self), *self.address, backlog=BACKLOG)
            server = self._loop.run_until_complete(listening)
        except OSError as error:
            self._loop.close()
            raise EngineError("{}:{} cannot be listened on: {}".format(*self.address, error.strerror)) from None
        self._server = server
        self.address = server.sockets[0].getsockname()[:2]
        self._loop.call_soon(self._tidy)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Hang up on every worker, and stop."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        for client in tuple(self._clients):
            client.abort()
        await self._server.wait_closed()

    def _tidy(self) -> None:
        """Every minute: a worker that is silent for as long as its reports are kept at the slowest pace is gone."""
        self._reports.forget(self._clock() - SLOWEST * KEPT)
        self._loop.call_later(TIDY, self._tidy)

    def admit(self, client: asyncio.Transport) -> bool:
        """Count a connection in; False if there are too many, and the caller ends it."""
        self._clients.add(client)
        return len(self._clients) <= CLIENTS

    def leave(self, client: asyncio.Transport) -> None:
        """Count a connection out."""
        self._clients.discard(client)

    def knows(self, token: bytes) -> bool:
        """Compare with the token, in a time that does not depend on how much of it is right."""
        return hmac.compare_digest(token, self._token)

    def take(self, line: bytes) -> None:
        """Keep the report of a line, or count the line as invalid; dated here, for workers' clocks differ."""
        try:
            self._reports.add(read_report(line, self._clock()), len(line))
        except DocumentError:
            self.count("invalid")

    def count(self, what: str) -> None:
        """Count something that is no report, under a name of a field of `Tally`."""
        self._reports.count(what)


class _Client(asyncio.Protocol):
    """A connection: the token, then a report a line. It holds no more than one line."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._known = False
        self._skipping = False
        self._rest = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if not self._collector.admit(transport):
            self._refuse()
        self._deadline = asyncio.get_running_loop().call_later(GREETING, self._refuse)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - of the interface
        self._deadline.cancel()
        self._collector.leave(self._transport)

    def data_received(self, data: bytes) -> None:
        # TCP knows no lines: a chunk ends the line of an earlier one, holds any number of whole ones, begins another.
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._rest += line
            whole, self._rest = bytes(self._rest), bytearray()
            skip, self._skipping = self._skipping, False  # the end of a line that was too long
            if not skip and not self._transport.is_closing():
                self._line(whole)
        self._rest += rest
        if len(self._rest) > self._limit:
            self._overlong()

    @property
    def _limit(self) -> int:
        return LINE if self._known else HELLO

    def _line(self, line: bytes) -> None:
        if len(line) > self._limit:
            self._overlong()
            self._skipping = False
        elif self._known:
            self._collector.take(line)
        elif self._collector.knows(line.strip()):
            self._known = True
            self._deadline.cancel()
        else:
            self._refuse()

    def _overlong(self) -> None:
        """Drop what came of a line that is too long, and skip the rest of it; a client without a token is refused."""
        self._rest.clear()
        if not self._known:
            self._refuse()
        elif not self._skipping:
            self._skipping = True
            self._collector.count("oversize")

    def _refuse(self) -> None:
        if not self._transport.is_closing():
            self._collector.count("refused")
            self._transport.abort()
