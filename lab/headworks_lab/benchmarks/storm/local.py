"""The local Storm cluster: seconds until it is ready, and MB of memory with a topology on three workers.

Jars are in the cache already. RSS counts a page that processes share once for each of them, PSS once in all.
"""

from __future__ import annotations

import statistics
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil

from headworks.cli.output import console, table
from headworks_storm.install.submit import submit_description
from headworks_storm.local.cluster import LocalStorm
from headworks_storm.release.artefacts import STORM, distribution
from headworks_storm.release.jar import own_jars
from headworks_storm.workload.catalogue import workloads
from headworks_storm.workload.describe import Load, describe

if TYPE_CHECKING:
    from collections.abc import Iterator

RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 3
TOPOLOGY = "url-converter"
SETTLED = 10.0
"""Seconds of work before memory is read."""


def processes(storm: LocalStorm) -> Iterator[tuple[str, int]]:
    """Every process of the cluster, by what it is."""
    workers = {each.pid for each in storm.workers()}
    writers = {each.writer for each in storm.workers()}
    for daemon in storm.daemons:
        for pid in daemon.members():
            kind = daemon.name.partition("-")[0]
            yield "worker" if pid in workers else "log writer" if pid in writers else kind, pid


def memory(pid: int) -> tuple[float, float]:
    """RSS and PSS in MB."""
    found = psutil.Process(pid).memory_full_info()
    return found.rss / 2**20, found.pss / 2**20


def started(storm: LocalStorm) -> None:
    """Submit, and wait until every executor reports."""
    topology = next(each for each in workloads() if each.name == TOPOLOGY).build().topologies[0]
    submit_description(describe(topology, load=Load(cpu=0.1, rate=0.1)), storm.client_conf)
    while not (found := storm.gateway.topology(TOPOLOGY).executors) or not all(each.uptime for each in found):
        time.sleep(0.5)
    time.sleep(SETTLED)


def run() -> tuple[float, float, float, dict[str, tuple[int, float, float]]]:
    """Seconds until ready, and until the topology runs; MB that count against the bound; MB by kind of process."""
    begin = time.perf_counter()
    with LocalStorm(extlib=(own_jars().bridge,)) as storm:
        ready = time.perf_counter() - begin
        started(storm)
        running = time.perf_counter() - begin - ready - SETTLED
        kinds: dict[str, tuple[int, float, float]] = {}
        for kind, pid in processes(storm):
            with suppress(FileNotFoundError, ProcessLookupError):
                rss, pss = memory(pid)
                count, more_rss, more_pss = kinds.get(kind, (0, 0.0, 0.0))
                kinds[kind] = (count + 1, more_rss + rss, more_pss + pss)
        return ready, running, storm.memory_mb(), kinds


def main() -> None:
    """Print both tables."""
    distribution()
    found = [run() for _ in range(RUNS)]
    rows = [
        (str(at), f"{ready:.1f}", f"{running:.1f}", f"{rss:,.0f}")
        for at, (ready, running, rss, _) in enumerate(found, 1)
    ]
    heads = ("run", "ready s", "topology runs s", "RSS MB")
    console().print(
        table(f"Storm {STORM}, three supervisors, {TOPOLOGY} on three workers", heads, rows, numbers=heads[1:])
    )
    kinds = found[-1][3]
    rows = [(kind, str(count), f"{rss:,.0f}", f"{pss:,.0f}") for kind, (count, rss, pss) in kinds.items()]
    sums = [sum(each[at] for each in kinds.values()) for at in range(3)]
    rows.append(("all", f"{sums[0]:.0f}", f"{sums[1]:,.0f}", f"{sums[2]:,.0f}"))
    heads = ("process", "number", "RSS MB", "PSS MB")
    console().print(table("the last run", heads, rows, numbers=heads[1:]))
    print(f"ready after {statistics.median(each[0] for each in found):.1f} s (median)")


if __name__ == "__main__":
    main()
