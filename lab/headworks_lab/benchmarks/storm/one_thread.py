"""What one task does on a node of several cores, on a real Storm: as much as its thread, not as much as the node.

    python -m headworks_lab.benchmarks.storm.one_thread

A bolt of 1 ms a tuple is offered 2,500 tuples/s on a node of two cores, with one task and with two. Both costs and
cores are made smaller alike, to three quarters of this machine's cores. It takes about two minutes.
"""

from __future__ import annotations

import os

from headworks.cli.output import console, say, table
from headworks.model import Cluster, Component, FrozenMap, Kind, Node, Request, Resources, Slot, Stream, Topology
from headworks.problem import Problem
from headworks.problem.plan.score import score
from headworks_lab.measure.sizing import fitted
from headworks_lab.storm.bench import OWN, StormBench

RATE, POINTS = 2_500.0, 250.0
"""Tuples/s, and the CPU points that they need of the bolt: 1 ms a tuple."""
SECONDS = 20.0
"""Of each window."""
COLUMNS = ("tasks", "offered", "by threads", "by the node alone", "measured")


def request(tasks: int) -> Request:
    """A spout and the bolt on one node of two cores."""
    parts = (
        Component(id="lines", kind=Kind.SPOUT, demand=Resources(cpu=1.0, memory=64.0), rate=RATE),
        Component(id="hot", parallelism=tasks, demand=Resources(cpu=POINTS / tasks, memory=64.0)),
    )
    topology = Topology(id="hot", components=parts, streams=(Stream(source="lines", target="hot"),))
    node = Node(id="n", capacity=Resources(cpu=200.0, memory=4096.0), slots=(6700, 6701))
    return Request(cluster=Cluster(nodes=(node,)), topologies=(topology,))


def predicted(asked: Request) -> tuple[float, float]:
    """Tuples/s that the node bears with all tasks on it, and those that it would if a task could use all of it."""
    problem = Problem.of(fitted(asked, os.cpu_count() or 1))
    here = FrozenMap(dict.fromkeys(problem.task_ids, Slot("n", 6700)))
    factor = score(problem, here).factor or 0.0
    return RATE * factor, RATE * float(problem.capacity[0, 0] / problem.wanted.sum())


def main() -> None:
    """Print what was predicted beside what was measured."""
    rows = []
    with StormBench.of_times() as bench:
        for tasks in (1, 2):
            figures = bench.run(request(tasks), OWN, 0, SECONDS)
            threads, node = predicted(request(tasks))
            rows.append(
                (tasks, *(f"{each:,.0f}" for each in (figures["offered"], threads, node, figures["throughput"])))
            )
            say(f"{tasks} tasks: {figures['throughput']:,.0f} tuples/s")
    console().print(table("a bolt of 1 ms on a node of two cores", COLUMNS, rows, numbers=COLUMNS))


if __name__ == "__main__":
    main()
