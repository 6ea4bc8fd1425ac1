"""Nodes that change hands by triggers, on a real Storm cluster and a real broker of Kafka, and faults in the middle.

Two topologies copy from Kafka to Kafka, ten tuples a second each. Triggers of one of them come and end; after each the
new allocation is waited for, and what went into Kafka is compared with what came out of it. `restarts` pauses
topologies and restarts workers, `seats` moves tasks while workers run. `kill` kills the serving process at a random
moment of each change, `broker` the broker, which comes back after a few seconds. Needs the sources of the tests.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from headworks.cli.output import console, table

sys.path.insert(0, str(Path(__file__).parents[4] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[4] / "tests" / "adapters" / "storm"))
sys.path.insert(0, str(Path(__file__).parents[4] / "tests" / "adapters" / "manager"))
from headworks_manager.database.connection import opened
from headworks_manager.database.store import Store
from manager_databases import check_consistent
from storm_changes import Changed, Changes

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS = ("restarts", "seats", "kill", "broker")
SEED = 20180101
AWAY = 5.0
"""Seconds that a broker is away at least; it takes some more to start."""


def main() -> None:
    """Make changes, a line each, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--changes", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=600.0, help="no change is begun after so many")
    parser.add_argument("--longest", type=float, default=20.0, help="seconds from a trigger to a fault, at most")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        site = Changes(Path(folder), seats=asked.kind == "seats")
        with site:
            found, moments = run(site, asked)
        with opened(str(site.keeper.database)) as engine:
            check_consistent(Store(engine), engine)
    show(asked.kind, found, moments)


def run(site: Changes, asked: argparse.Namespace) -> tuple[list[Changed], Counter[str]]:
    """The changes, and the last step before each fault."""
    found: list[Changed] = []
    moments: Counter[str] = Counter()
    chance, until = random.Random(SEED), time.monotonic() + 60 * asked.minutes
    while len(found) < asked.changes and time.monotonic() < until:
        wait = chance.uniform(0, asked.longest)
        found.append(site.change(lambda wait=wait: fault(site, asked.kind, wait, moments)))
        print(len(found), f"load {os.getloadavg()[0]:.0f}", found[-1], flush=True)
    return found, moments


def fault(site: Changes, kind: str, wait: float, moments: Counter[str]) -> None:
    """Do what is asked for in the middle of a change, and count how far this was."""
    if kind not in ("kill", "broker"):
        return
    begin = time.time()
    time.sleep(wait)
    reached = site.steps(begin)
    moments[reached[-1][1] if reached else "before the first"] += 1
    if kind == "kill":
        site.kill()
        site.serve()
    else:
        site.broker.kill()
        time.sleep(AWAY)
        site.broker.restart()


def show(kind: str, found: Sequence[Changed], moments: Counter[str]) -> None:
    """Print the figures."""
    seconds = sorted(each.seconds for each in found)
    figures = {
        "changes": len(found),
        "whole: every tuple once, every step, all active": sum(each.whole for each in found),
        "seconds, median": statistics.median(seconds),
        "seconds, 95th percentile": seconds[min(len(seconds) - 1, int(0.95 * len(seconds)))],
        "seconds, most": seconds[-1],
        "below 1 s": sum(each < 1 for each in seconds),
        "below 15 s": sum(each < 15 for each in seconds),
        "tuples in": found[-1].tuples,
        "tuples lost at the end of a change": sum(each.lost for each in found),
        "tuples twice": found[-1].twice,
        "topologies left deactivated": sum(each.inactive for each in found),
        "changes in which a topology paused": sum("deactivated" in each.steps for each in found),
        "workers restarted": sum(each.restarted for each in found),
        **{f"faults after {word}": count for word, count in sorted(moments.items())},
    }
    rows = [(name, f"{value:,.1f}" if isinstance(value, float) else f"{value:,}") for name, value in figures.items()]
    console().print(table(kind, ("what", "figure"), rows, numbers=("figure",)))


if __name__ == "__main__":
    main()
