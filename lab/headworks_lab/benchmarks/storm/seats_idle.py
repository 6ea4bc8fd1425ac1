"""What a hundred idle seats cost: CPU and memory of a topology with seats, beside the same one without.

A spout sends a tuple a second to a bolt of a hundred tasks in two workers; with seats each worker has an idle seat for
each task that lives in the other. Both topologies run at the same time on one cluster. Memory is what a process has for
itself (USS), after the JVM was asked for a collection; a JVM keeps pages of its heap that nothing lives on any more, so
that the objects that live there are told beside it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import time
from pathlib import Path

import psutil

from headworks.cli.output import console, table
from headworks.model import Component, Kind, Resources, Stream, Topology
from headworks_local.java import find_java
from headworks_storm.install.submit import submit_description
from headworks_storm.local.cluster import LocalStorm, SupervisorSpec
from headworks_storm.release.artefacts import STORM
from headworks_storm.release.jar import own_jars
from headworks_storm.workload.describe import Load, describe

TASKS = 100
TASK = Resources(cpu=2, memory=8)
"""A point for a seat; for fractions of one Storm's own schedulers restart workers."""
IDLE = Load(cpu=0.0)
"""What a task declares is spread over its tuples, and one in a hundred seconds would burn all of it at once."""
QUEUE = "topology.executor.receive.buffer.size"
"""Of each executor Storm makes two arrays as long as this: the queue, and the first piece of what overflows it."""
TWO = tuple(SupervisorSpec(host=f"127.0.0.{last}", cpu=800.0, memory_mb=8192.0, slots=3) for last in (75, 76))


def topology(name: str) -> Topology:
    """One spout, a hundred tasks that wait."""
    components = (
        Component(id="source", kind=Kind.SPOUT, rate=1.0, demand=TASK),
        Component(id="wait", parallelism=TASKS, demand=TASK),
    )
    streams = (Stream(source="source", target="wait"),)
    return Topology(id=name, components=components, streams=streams, workers=2, worker_heap=4096.0)


def workers(storm: LocalStorm, name: str) -> list[psutil.Process]:
    """Worker processes of a topology that have started."""
    own = (each.pid for each in storm.workers() if each.topology.startswith(f"{name}-"))
    return [psutil.Process(pid) for pid in own if pid]


def cpu(processes: list[psutil.Process]) -> float:
    """CPU seconds so far."""
    return sum(sum(each.cpu_times()[:2]) for each in processes)


def memory(processes: list[psutil.Process]) -> tuple[float, float]:
    """MB that the processes have for themselves after a collection, and MB of the objects in their heaps."""
    jcmd = Path(find_java().program).resolve().with_name("jcmd")
    objects = 0
    for each in processes:
        words = [jcmd, str(each.pid), "GC.class_histogram"]  # which collects before it counts
        counted = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        total = re.search(r"^Total +\d+ +(\d+)", counted, re.MULTILINE)
        if total is None:
            raise ValueError(f"the histogram of process {each.pid} has no total: {counted[-200:]!r}")
        objects += int(total[1])
    return sum(each.memory_full_info().uss for each in processes) / 1e6, objects / 1e6


def measure(storm: LocalStorm, asked: argparse.Namespace) -> dict[str, tuple[float, ...]]:
    """Cores, MB, and MB of objects, of each topology."""
    conf = {QUEUE: asked.queue}
    names = ("plain", "seats")
    for name in names:
        seats = {"wait": "stateless"} if name == "seats" else None
        description = describe(topology(name), load=IDLE, conf=conf)
        submit_description(description, storm.client_conf, seats=seats, version=STORM)
    while any(len(workers(storm, name)) < 2 for name in names):
        time.sleep(0.5)
    time.sleep(asked.warm_up)
    running = {name: workers(storm, name) for name in names}
    before, begin = {name: cpu(each) for name, each in running.items()}, time.perf_counter()
    own = threads(running["seats"])
    time.sleep(asked.seconds)
    seconds = time.perf_counter() - begin
    print(f"threads of vacant seats: {vacant(running['seats'], own, seconds):.4f} cores")
    return {name: ((cpu(each) - before[name]) / seconds, *memory(each)) for name, each in running.items()}


def vacant(processes: list[psutil.Process], before: dict[int, float], seconds: float) -> float:
    """Cores that the less busy half of the tasks' threads took: those of seats in which nobody lives."""
    used = sorted(busy - before.get(thread, busy) for thread, busy in threads(processes).items())
    return sum(used[: len(used) // 2]) / seconds


def threads(processes: list[psutil.Process]) -> dict[int, float]:
    """CPU seconds so far of each thread of the waiting component's executors, by its id, to the nanosecond."""
    found = {}
    for folder in (folder for each in processes for folder in Path(f"/proc/{each.pid}/task").iterdir()):
        if "-wait-" in (folder / "comm").read_text():
            found[int(folder.name)] = int((folder / "schedstat").read_text().split()[0]) / 1e9
    return found


def main() -> None:
    """Print both, and the difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="that are measured")
    parser.add_argument("--warm-up", type=float, default=60.0, help="those before them")
    parser.add_argument("--queue", type=int, default=32_768, help=f"{QUEUE}, of both")
    asked = parser.parse_args()
    with LocalStorm(TWO, extlib=(own_jars().bridge,), version=STORM) as storm:
        found = measure(storm, asked)
    found["difference"] = tuple(a - b for a, b in zip(found["seats"], found["plain"], strict=True))
    rows = [(name, f"{cores:.3f}", f"{mb:.0f}", f"{objects:.0f}") for name, (cores, mb, objects) in found.items()]
    heads = ("topology", "cores", "MB", "MB of objects")
    console().print(table(f"{TASKS} idle seats on Storm {STORM}", heads, rows, numbers=heads[1:]))


if __name__ == "__main__":
    main()
