"""Starts of a Storm cluster whose nodes are apart, each killed (SIGKILL) at a random moment, and what is left of them.

    python -m headworks_lab.benchmarks.apart_kills [--kills 100] [--within 12]

After each kill the guard of the killed process has so many seconds to end what it started; the next start removes its
namespaces, interfaces and control groups, and at last `sweep` does. What is left is looked for from outside: processes
with the mark of the start in their environment, namespaces, interfaces and control groups of the killed processes.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time

import psutil

from headworks.cli.output import Progress
from headworks_local.isolated.groups import find_groups
from headworks_local.isolated.names import ClusterName
from headworks_local.isolated.netlink import interfaces, namespaces, netlink
from headworks_local.isolated.sweep import sweep

MARK = "HEADWORKS_APART_KILLS"
SECONDS = 15.0
"""Seconds in which what a killed process started has to end."""
OWNER = """
import time
from headworks_local.isolated.limits import NodeLimits
from headworks_storm.local.cluster import THREE, LocalStorm
with LocalStorm(THREE, apart=(NodeLimits(cores=0.4, rate=20e6),) * 3):
    print("up", flush=True)
    time.sleep(600)
"""


def main() -> None:
    """Kill so often, and print what is left; exit code 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--within", type=float, default=12.0, help="seconds after the start")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng, say, mark = random.Random(given.seed), Progress(), f"{os.getpid()}"
    up, slow = 0, 0
    owners = set()
    for number in range(given.kills):
        owner = subprocess.Popen(
            [sys.executable, "-c", OWNER], env={**os.environ, MARK: mark}, stdout=subprocess.PIPE, text=True
        )
        owners.add(owner.pid)
        time.sleep(rng.uniform(0.0, given.within))
        owner.send_signal(signal.SIGKILL)
        up += (owner.communicate()[0] or "").startswith("up")
        slow += not ended(mark)
        if (number + 1) % 10 == 0:
            say(f"{number + 1} killed, {up} of them when the cluster was up; {slow} times a process lived on")
    sweep()
    left = of(owners)
    say(f"left: {alive(mark)} processes, {left or 'no namespace, no interface, no control group'}")
    raise SystemExit(bool(slow or left or alive(mark)))


def alive(mark: str) -> list[int]:
    """Processes that a start began."""
    found = []
    for each in psutil.process_iter():
        try:
            if each.environ().get(MARK) == mark and each.status() != psutil.STATUS_ZOMBIE:
                found.append(each.pid)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def ended(mark: str) -> bool:
    """Whether all of them end in time."""
    deadline = time.monotonic() + SECONDS
    while alive(mark):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def of(owners: set[int]) -> list[str]:
    """Names of namespaces, interfaces and control groups of these processes that are still there."""
    with netlink() as system:
        names = {*namespaces(), *interfaces(system), *find_groups().names()}
    return sorted(each for each in names if (made := ClusterName.parse(each)) is not None and made.pid in owners)


if __name__ == "__main__":
    main()
