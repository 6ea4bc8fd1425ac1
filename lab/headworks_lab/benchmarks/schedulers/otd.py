"""What a decision of OTD costs as an application is gathered on its nodes.

    python -m headworks_lab.benchmarks.schedulers.otd [ROUNDS]

One topology of components in a row, 100 executors each, dealt round robin; Algorithm 2 moves one executor a round. With
"streams" each executor talks alike to all 100 of the components beside it, with "flows" to a few of them, each at a
rate of its own. A round is deciding and carrying out. Times are CPU times of this process.
"""

from __future__ import annotations

import random
import sys
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from headworks.cli.output import console, table
from headworks.model import Cluster, Component, Flow, Kind, Metrics, Node, Request, Resources, Slot, Stream, Topology
from headworks.model.values import FrozenMap
from headworks.problem import Problem
from headworks_nstorm.deployment import rounds
from headworks_nstorm.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = ((1_000, 100), (10_000, 1_000))
WIDTH = 100
FEW = 5
OPTIONS = Options(threshold=0.0, low_load=0.9, high_load=0.95)


def request(executors: int, nodes: int, *, flows: bool) -> Request:
    parts = tuple(
        Component(
            id=f"c{at:03}",
            kind=Kind.BOLT if at else Kind.SPOUT,
            parallelism=WIDTH,
            demand=Resources(cpu=1.0),
            rate=None if at else 1000.0,
        )
        for at in range(executors // WIDTH)
    )
    streams = tuple(Stream(source=a.id, target=b.id) for a, b in pairwise(parts))
    topology = Topology(id="t", components=parts, streams=streams)
    capacity = Resources(cpu=2.0 * executors / nodes)
    cluster = Cluster(nodes=tuple(Node(id=f"n{at:04}", capacity=capacity) for at in range(nodes)))
    # three executors out of four in turn, so that not all nodes are alike
    place = {task.id: Slot(f"n{(at * 3 // 4) % nodes:04}", 0) for at, task in enumerate(topology.tasks())}
    metrics = Metrics(flows=tuple(_flows(len(parts)))) if flows else Metrics()
    return Request(cluster=cluster, topologies=(topology,), assignment=FrozenMap(place), metrics=metrics)


def _flows(parts: int) -> Iterator[Flow]:
    dice = random.Random(0)
    for at in range(parts - 1):
        for executor in range(WIDTH):
            for other in sorted(dice.sample(range(WIDTH), FEW)):
                source, target = f"t/c{at:03}/{executor}", f"t/c{at + 1:03}/{other}"
                yield Flow(source=source, target=target, tuples=dice.uniform(1.0, 10.0))


def measure(executors: int, nodes: int, count: int, *, flows: bool) -> tuple[object, ...]:
    problem = Problem.of(request(executors, nodes, flows=flows))
    spent, moves, node_of = [], 0, problem.current
    begin = time.process_time_ns()
    for decision, after in rounds(problem, OPTIONS, count):
        spent.append(time.process_time_ns() - begin)
        moves, node_of = moves + (decision.migration is not None), after
        begin = time.process_time_ns()
    shares = [problem.traffic.inter_node(each) / problem.traffic.total for each in (problem.current, node_of)]
    return (
        "flows" if flows else "streams",
        f"{executors:,}",
        f"{nodes:,}",
        moves,
        *(f"{share:.1%}" for share in shares),
        f"{np.mean(spent) / 1e6:.2f}",
        f"{np.median(spent) / 1e6:.2f}",
    )


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    columns = ("traffic", "tasks", "nodes", "moves", "before", "after", "round ms", "median")
    rows = [measure(*size, count, flows=flows) for flows in (False, True) for size in SIZES]
    console().print(table("OTD: CPU time of a round, mean", columns, rows, numbers=columns[1:]))


if __name__ == "__main__":
    main()
