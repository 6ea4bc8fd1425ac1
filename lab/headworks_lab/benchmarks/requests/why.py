"""CPU time of `headworks.why` for tasks of the largest topology of a production cluster, beside that of reading it.

`python -m headworks_lab.benchmarks.requests.why largeCluster02.json` (`headworks import storm-clusterconf -O DIR`
writes that file): milliseconds for tasks that are drawn by a seed, and in parts of the time in which the request is
read, which depends less on what else the machine does. Cycles of objects are searched as seldom as in the command.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from headworks.documents import read
from headworks.model import Request
from headworks.plugins.host import PluginHost
from headworks.plugins.own_process import collect_seldom
from headworks.problem.plan.why import explain

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE = 120.0
"""Seconds to plan, so that a busy machine has a plan too."""


def cpu(call: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def main() -> None:
    """Plan the request and explain tasks of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("request", type=Path)
    parser.add_argument("--scheduler", "-s", default="dstorm")
    parser.add_argument("--tasks", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    collect_seldom()
    asked = read(given.request, Request)
    reading = min(cpu(lambda: read(given.request, Request)) for _ in range(3))
    asked = attrs.evolve(asked, limits=attrs.evolve(asked.limits, deadline=PATIENCE))
    plan = PluginHost.load().schedule(given.scheduler, asked)
    ((largest, count),) = Counter(task.partition("/")[0] for task in plan.assignment).most_common(1)
    tasks = [task for task in sorted(plan.assignment) if task.startswith(f"{largest}/")]
    chosen = random.Random(given.seed).sample(tasks, min(given.tasks, count))
    explain(asked, plan, chosen[0])  # the arrays are made with the first one, and with the plan of a scheduler
    took = [cpu(lambda task=task: explain(asked, plan, task)) for task in chosen]  # type: ignore[misc]
    median, most = statistics.median(took), max(took)
    print(f"{given.scheduler}, {len(took)} of the {count} tasks of {largest}: reading {1000 * reading:.0f} ms")
    print(f"median {1000 * median:.0f} ms, {median / reading:.2f} of reading; most {1000 * most:.0f} ms")


if __name__ == "__main__":
    main()
