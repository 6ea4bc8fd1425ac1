"""All schedulers on the three production clusters of Storm's own tests, and Storm's own beside them in the same run.

Every scheduler runs in a process of its own; Storm's resource-aware scheduler in a JVM, with Storm's classes, data and
supervisors, as Storm's own test drives it. Headworks's are asked as `headworks plan` asks them, through the host with
the default deadline; one that overruns it is `held`. The seconds are those from request to checked plan, the documents
read before, by the wall clock and of processor time; the peak is that of the process, documents and language included.
Nodes, workers and traffic are computed by the same code for all. `--no-jvm` leaves Storm out; with it, the sources of
the tests and a JDK are needed.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from headworks import PluginHost
from headworks.api import limited
from headworks.cli.output import console, table
from headworks.model import FrozenMap, Node, Request, Resources, Slot, Status, Task
from headworks.plugins.own_process import collect_seldom
from headworks.problem import Problem
from headworks.problem.plan.score import score
from headworks_local.maven import resolve
from headworks_storm.client.clusterconf import NAMES, read_request
from headworks_storm.release.artefacts import SERVER_TESTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

COLUMNS = ("scheduler", "plan s", "CPU s", "peak MB", "nodes", "workers", "edges", "traffic", "status")
STORM = "Storm's own RAS"


def edge_share(request: Request, assignment: FrozenMap[str, Slot]) -> float:
    """Share of the tuples of a stream that cross nodes, uniform over pairs of tasks, mean over all streams."""
    problem = Problem.of(request)
    node_of = problem.node_of(assignment)
    blocks = problem.traffic.blocks
    shares = []
    for a0, a1, b0, b1 in zip(
        blocks.source_start, blocks.source_stop, blocks.target_start, blocks.target_stop, strict=True
    ):
        senders, receivers = (np.bincount(node_of[a:b], minlength=problem.m) for a, b in ((a0, a1), (b0, b1)))
        shares.append(1.0 - float(senders @ receivers) / (senders.sum() * receivers.sum()))
    return float(np.mean(shares))


def figures(request: Request, assignment: FrozenMap[str, Slot]) -> dict[str, Any]:
    """What an assignment is worth."""
    scores = score(Problem.of(request), assignment)
    return {
        "nodes": scores.nodes_used,
        "workers": scores.workers,
        "edge_share": None if scores.unplaced else edge_share(request, assignment),
        "share": scores.share,
        "unplaced": scores.unplaced,
    }


def one(cluster: str, scheduler: str, deadline: float | None = None) -> dict[str, Any]:
    """Plan in this process, by default with the deadline that a user has who names none."""
    collect_seldom()  # as the command does
    request = limited(read_request(resolve(SERVER_TESTS), cluster), deadline=deadline)
    host = PluginHost.load()
    options = host.options(scheduler)
    begin, cpu = time.perf_counter(), time.process_time()
    plan = host.schedule(scheduler, request, options)
    spent = {"seconds": time.perf_counter() - begin, "cpu_seconds": time.process_time() - cpu}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**spent, "peak": peak, "status": plan.label, **figures(request, plan.assignment)}


def apart(cluster: str, scheduler: str) -> dict[str, Any]:
    """Plan in a process of its own."""
    command = [sys.executable, __file__, "--one", cluster, scheduler]
    found: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


def storm(cluster: str) -> dict[str, Any]:
    """Storm's own scheduler, in a JVM that the smallest cluster has warmed."""
    sys.path.insert(0, str(Path(__file__).parents[4] / "tests" / "adapters" / "storm"))
    from storm_jvm import run_class  # the JVM that runs one class is of the tests

    with tempfile.TemporaryDirectory() as folder:
        *_, found = run_class("ProductionClusters", NAMES[-1], cluster, folder=Path(folder))
    return {**found, "peak": found["peak_mb"], "status": "ok", **of_storm(found)}


def of_storm(found: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of Storm's assignment, on Storm's own names of the supervisors."""
    request = read_request(resolve(SERVER_TESTS), found["cluster"])
    nodes = tuple(
        Node(id=name, host=name, slots=tuple(range(slots)), capacity=Resources({"cpu": cpu, "memory": memory}))
        for name, (cpu, memory, slots) in sorted(found["supervisors"].items())
    )
    assert shapes(nodes) == shapes(request.cluster.nodes), "the supervisors are not those of Storm's test"
    assignment = {
        Task(topology, component, index).id: Slot(*slot)
        for topology, components in found["topologies"].items()
        for component, slots in components.items()
        for index, slot in enumerate(slots)
        if slot is not None
    }
    return figures(attrs.evolve(request, cluster=attrs.evolve(request.cluster, nodes=nodes)), FrozenMap(assignment))


def shapes(nodes: Iterable[Node]) -> Counter[tuple[float, float, int]]:
    """How many nodes there are of each size."""
    return Counter((node.capacity.cpu, node.capacity.memory, len(node.slots)) for node in nodes)


def row(name: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    """A line of the table; a plan that is held has no figures but what it cost."""
    spent = (name, f"{found['seconds']:.2f}", f"{found['cpu_seconds']:.2f}", f"{found['peak']:,.0f}")
    if found["status"] == Status.HELD:
        return (*spent, *"----", "held")
    status = f"{found['unplaced']:,} unplaced" if found["unplaced"] else found["status"]
    return (
        *spent,
        f"{found['nodes']:,}",
        f"{found['workers']:,}",
        "-" if found["edge_share"] is None else f"{found['edge_share']:.2f}",
        f"{found['share']:.2f}",
        status,
    )


def main() -> None:
    """Print one table a cluster."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("CLUSTER", "SCHEDULER"), help=argparse.SUPPRESS)
    parser.add_argument("--no-jvm", action="store_true", help="leave out Storm's own scheduler")
    parser.add_argument("--cluster", action="append", choices=NAMES, help="only this one; may be given more than once")
    parser.add_argument("schedulers", nargs="*", help="schedulers, all by default")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one(*arguments.one)))
        return
    out = console()
    for cluster in arguments.cluster or NAMES:
        names = arguments.schedulers or PluginHost.load().schedulers
        rows = [row(name, apart(cluster, name)) for name in names]
        rows += [] if arguments.no_jvm else [row(STORM, storm(cluster))]
        out.print(table(cluster, COLUMNS, rows, numbers=COLUMNS[1:8]))


if __name__ == "__main__":
    main()
