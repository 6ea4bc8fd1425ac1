"""All schedulers on the three production clusters of Storm's own tests: seconds, memory, nodes, traffic between nodes.

Every scheduler runs in a process of its own. The peak is that process's, documents and Python included; the seconds
are those from request to plan, the document read before. Storm's own scheduler, measured once on 2 cores, stands
beside for orientation: a JVM is not started here.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

from headgate import PluginHost
from headgate.cli.output import console, table
from headgate.model import FrozenMap, Plan, Request
from headgate_storm.artefacts import SERVER_TESTS, resolve
from headgate_storm.clusterconf import NAMES, read_request

DEADLINE = 120.0
STORM = {
    "largeCluster01": ("Storm's own RAS", "9-13", "", "983", "0.57", "", ""),
    "largeCluster02": ("Storm's own RAS", "19-25", "", "1,334", "0.58", "", ""),
}
"""Seconds, memory, nodes and edge share of Storm 2.8.3's resource-aware scheduler, from an earlier measurement."""
COLUMNS = ("scheduler", "plan s", "peak MB", "nodes", "edge share", "traffic share", "status")


def edge_share(request: Request, plan: Plan) -> float:
    """Share of the tuples of a stream that cross nodes, uniform over pairs of tasks, mean over all streams."""
    problem = request.problem()
    node_of = problem.node_of(plan.assignment)
    blocks = problem.traffic.blocks
    shares = []
    for a0, a1, b0, b1 in zip(
        blocks.source_start, blocks.source_stop, blocks.target_start, blocks.target_stop, strict=True
    ):
        senders, receivers = (np.bincount(node_of[a:b], minlength=problem.m) for a, b in ((a0, a1), (b0, b1)))
        shares.append(1.0 - float(senders @ receivers) / (senders.sum() * receivers.sum()))
    return float(np.mean(shares))


def one(cluster: str, scheduler: str) -> dict[str, Any]:
    """Plan in this process."""
    request = read_request(resolve(SERVER_TESTS), cluster)
    host = PluginHost.load()
    schedule = host.plugins[scheduler].caller.headgate_schedule
    begin = time.perf_counter()
    plan: Plan = schedule(request=request, options=host.options(scheduler, FrozenMap()))
    seconds = time.perf_counter() - begin
    return {
        "seconds": seconds,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "nodes": plan.scores.nodes_used,
        "edge_share": edge_share(request, plan) if not plan.scores.unplaced else None,
        "share": plan.scores.share,
        "status": plan.status,
        "unplaced": plan.scores.unplaced,
    }


def row(cluster: str, scheduler: str) -> tuple[str, ...]:
    """Plan in a process of its own."""
    command = [sys.executable, __file__, "--one", cluster, scheduler]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    status = found["status"] + (f", {found['unplaced']} unplaced" if found["unplaced"] else "")
    edges = "-" if found["edge_share"] is None else f"{found['edge_share']:.2f}"
    return (
        scheduler,
        f"{found['seconds']:.2f}",
        f"{found['peak']:,.0f}",
        f"{found['nodes']:,}",
        edges,
        f"{found['share']:.2f}",
        status,
    )


def main() -> None:
    """Print one table a cluster."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("CLUSTER", "SCHEDULER"), help=argparse.SUPPRESS)
    parser.add_argument("schedulers", nargs="*", help="schedulers, all by default")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one(*arguments.one)))
        return
    out = console()
    for cluster in NAMES:
        rows = [row(cluster, name) for name in arguments.schedulers or PluginHost.load().schedulers]
        rows += [STORM[cluster]] if cluster in STORM else []
        out.print(table(cluster, COLUMNS, rows, numbers=COLUMNS[1:6]))


if __name__ == "__main__":
    main()
