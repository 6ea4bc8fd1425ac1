"""Report lines as the monitor in a worker writes them, for tests."""

from __future__ import annotations

import json
from typing import Any

from headgate_storm.reports import Report, read_report


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
