"""Time the fast and the literal Algorithm 1 of D-Storm against each other, and the whole way from request to plan.

    python -m headworks_lab.benchmarks.schedulers.dstorm_engines [--full]

Times are CPU seconds of this process. The literal algorithm runs where it ends within seconds; there the
placements are compared, task by task.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from headworks.model import (
    Cluster,
    Component,
    Flow,
    Kind,
    Metrics,
    Node,
    Request,
    Resources,
    Stream,
    TaskSample,
    Topology,
)
from headworks.problem import Problem
from headworks_dstorm.algorithm1 import place_literally
from headworks_dstorm.fast import place
from headworks_dstorm.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterator

FLAVOURS = ((400, 12288), (200, 6144), (100, 4096))
LITERAL_UP_TO = 1500
HEADINGS = ("case", "tasks / nodes", "literal", "ratio", "arrays", "fast", "plan", "whole", "crossing", "peak")
FILL = 0.7
"""Share of the cluster's points that the tasks need."""


def cluster(nodes: int) -> Cluster:
    return Cluster(
        nodes=tuple(
            Node(
                id=f"n{number:05d}",
                capacity=Resources(cpu=FLAVOURS[number % 3][0], memory=FLAVOURS[number % 3][1]),
                slots=tuple(range(6700, 6710)),
            )
            for number in range(nodes)
        )
    )


def topologies(
    tasks: int, points: float, rng: np.random.Generator, width: int, *, uneven: bool = False
) -> Iterator[Topology]:
    """Random topologies of five operators, `width` tasks each on average; demands come in four classes.

    An operator has half to one and a half times as many tasks, or anything from one to twice as many.
    """
    number, least, most = 0, width // 2, width * 3 // 2
    if uneven:
        least, most = 1, 2 * width
    while tasks > 0:
        widths = np.minimum(rng.integers(least, most + 1, size=5), tasks).tolist()
        widths = [each for each in widths if each > 0][: max(1, tasks)]
        components = tuple(
            Component(
                id=f"op{index}",
                kind=Kind.BOLT if index else Kind.SPOUT,
                parallelism=parallelism,
                demand=Resources(cpu=points * float(rng.choice([0.5, 0.75, 1.25, 1.5])), memory=128.0),
                rate=None if index else float(rng.integers(500, 5000)),
            )
            for index, parallelism in enumerate(widths)
        )
        streams = tuple(
            Stream(source=f"op{rng.integers(index)}", target=f"op{index}") for index in range(1, len(components))
        )
        yield Topology(id=f"t{number:05d}", components=components, streams=streams)
        tasks -= sum(widths)
        number += 1


def build(tasks: int, nodes: int, *, different: bool, width: int = 4, uneven: bool = False) -> Request:
    """Equal sizes have declared demands and streams; different ones a measured demand and flows for each task."""
    rng = np.random.default_rng(tasks + nodes)
    whole = cluster(nodes)
    points = FILL * sum(node.capacity.cpu for node in whole.nodes) / tasks
    parts = tuple(topologies(tasks, points, rng, width, uneven=uneven))
    metrics = Metrics(tasks=tuple(samples(parts, rng)), flows=tuple(flows(parts, rng))) if different else Metrics()
    return Request(cluster=whole, topologies=parts, metrics=metrics)


def samples(parts: tuple[Topology, ...], rng: np.random.Generator) -> Iterator[TaskSample]:
    for topology in parts:
        demand = {component.id: component.demand.cpu for component in topology.components}
        for task in topology.tasks():
            cpu, memory = demand[task.component] * rng.uniform(0.5, 1.5), rng.uniform(64, 192)
            yield TaskSample(task=task.id, cpu=float(cpu), memory=float(memory))


def flows(parts: tuple[Topology, ...], rng: np.random.Generator) -> Iterator[Flow]:
    for topology in parts:
        width = {component.id: component.parallelism for component in topology.components}
        for stream in topology.streams:
            for source in range(width[stream.source]):
                for target in range(width[stream.target]):
                    ends = (f"{topology.id}/{stream.source}/{source}", f"{topology.id}/{stream.target}/{target}")
                    yield Flow(source=ends[0], target=ends[1], tuples=float(rng.uniform(1, 400)))


def measure(name: str, request: Request) -> tuple[str, ...]:
    start = time.process_time()
    problem = Problem.of(request)
    built = time.process_time()
    node_of = place(problem, Options())
    placed = time.process_time()
    plan = problem.plan(node_of)
    planned = time.process_time()
    literal, ratio = "", ""
    if problem.n <= LITERAL_UP_TO:
        before = time.process_time()
        assert (place_literally(problem, Options()) == node_of).all(), f"{name}: the engines differ"
        seconds = time.process_time() - before
        literal, ratio = f"{seconds:.3f} s", f"{seconds / (placed - built):.0f}x"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    steps = (built - start, placed - built, planned - placed, planned - start)
    size = f"{problem.n:,} / {problem.m:,}"
    times = (f"{step:.3f} s" for step in steps)
    return (name, size, literal, ratio, *times, f"{plan.scores.share:.1%}", f"{peak:.0f} MB")


def cases(*, full: bool) -> Iterator[tuple[str, Request]]:
    sizes = [(100, 10), (1_000, 100), (10_000, 1_000), *([(100_000, 2_000)] if full else [])]
    for tasks, nodes in sizes:
        yield "equal sizes", build(tasks, nodes, different=False)
        yield "all different", build(tasks, nodes, different=True)
    yield "wide streams", build(24_000, 1_300, different=False, width=60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="include 100,000 tasks on 2,000 nodes")
    table = Table(title="Algorithm 1: literal and incremental, identical placements")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "case" else "right")
    for name, request in cases(full=parser.parse_args().full):
        table.add_row(*measure(name, request))
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
