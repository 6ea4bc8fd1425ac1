"""Report lines as the monitor in a worker writes them, and a worker that sends them, for tests."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any, Self

from headworks_storm.peers.proof import derive
from headworks_storm.workers.reports import Report, read_report
from storm_callers import exchange


def report_data(**more: Any) -> dict[str, Any]:
    """Worker s1:6700 of `wc` with tasks 2 (count) and 4 (lines): 50 tuples from 4 to 2 and 50 to 3 in 5 s."""
    plain = {
        "v": 1,
        "topology": "wc",
        "supervisor": "s1",
        "host": "127.0.0.11",
        "port": 6700,
        "started": 1_700_000_000_000,
        "number": 1,
        "time": 1_700_000_005_000,
        "window": 5000,
        "dropped": 0,
        "cpu": 2_500_000_000,
        "heap": 64 * 2**20,
        "sample": 1024,
        "tasks": [[2, 50, 0, 0, 0, 0, 0], [4, 0, 100, 90, 1, 5, 60]],
        "flows": [[4, 2, 50, 1000], [4, 3, 50, 1000]],
        "executors": [[2, 500_000_000, 7], [4, 1_000_000_000, None]],
    }
    return plain | more


def report_line(**more: Any) -> bytes:
    return json.dumps(report_data(**more)).encode() + b"\n"


def report(received: float = 1000.0, **more: Any) -> Report:
    return read_report(report_line(**more), received)


class Worker:
    """Numbers its reports and waits for nobody: while the collector takes nothing more, they are dropped and counted.

    Attributes:
        number: Reports so far. `dropped`: those of them that were never sent.
    """

    def __init__(self, address: tuple[str, int], token: str, topology: str = "wc") -> None:
        """Connect, and say who calls."""
        self._socket = socket.create_connection(address)
        exchange(self._socket, derive(token, topology), "-", topology.encode().hex())
        self._rest = b""
        self.number = self.dropped = 0

    def report(self, line: bytes) -> None:
        """Send a report that has the next number, if the one before is sent."""
        self.number += 1
        self._push()
        if self._rest:
            self.dropped += 1
        else:
            self._rest = line
            self._push()

    def _push(self) -> None:
        self._socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while self._rest:
                self._rest = self._rest[self._socket.send(self._rest) :]

    def wait(self) -> None:
        """Send what was begun, however long it takes."""
        self._socket.setblocking(True)
        self._socket.sendall(self._rest)
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._socket.close()
