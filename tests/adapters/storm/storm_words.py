"""Waiting for what becomes true on a real Storm cluster, such as that all executors of a topology run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from patience import PATIENCE
from storm_smoke import all_run, submit_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from headworks_storm.client.summary import TopologyInfo
    from headworks_storm.local.cluster import LocalStorm

__all__ = ["alive", "eventually", "submit_words"]


def eventually(true: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not true after {seconds:.0f} s"
        time.sleep(0.2)


def alive(cluster: LocalStorm, name: str) -> TopologyInfo:
    """Wait until every executor of a topology has been placed and reports that it runs."""
    eventually(lambda: all_run(cluster, name))
    return cluster.gateway.topology(name)
