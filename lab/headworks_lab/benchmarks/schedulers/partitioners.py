"""Placements by measured flows beside graph partitioners: METIS and Mt-KaHyPar, on as many nodes of the same capacity.

    pip install pymetis mtkahypar
    python -m headworks_lab.benchmarks.schedulers.partitioners [--seeds N] [--tasks 200 1000 10000]

Ten topologies of four components have flows with key locality: a task sends mostly to six tasks near its own key. Nodes
are loaded to 90 %. A partitioner divides the tasks over as many nodes as the scheduler used. `overfull` counts the
nodes that have more than they bear then: partitioners keep that bound nearly, schedulers do. CPU seconds are those of
this process, with one thread each; reading the request is not counted.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks import PluginHost
from headworks.cli.output import console, table
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

COLUMNS = ("tasks / nodes", "seed", "by", "share", "nodes", "overfull", "CPU s")
TOPOLOGIES, COMPONENTS, PEERS, NEAR, LOAD = 10, 4, 6, 0.7, 0.9
WHOLE = 1_000_000
"""Weights of edges for partitioners are integers up to this one."""


def keyed(tasks: int, nodes: int, seed: int) -> Request:
    """Topologies whose tasks send to tasks near their own key, on equal nodes with slots for all; CPU alone is short.

    Args:
        tasks: Number of tasks of all of them, a multiple of 40.
        nodes: Number of nodes.
        seed: Of all that is random.
    """
    dice = random.Random(f"keyed {tasks} {nodes} {seed}")
    width = tasks // TOPOLOGIES // COMPONENTS
    names = [f"t{at:03d}" for at in range(TOPOLOGIES)]
    samples = tuple(
        TaskSample(task=f"{name}/c{part}/{at}", cpu=round(dice.uniform(5, 20), 2))
        for name in names
        for part in range(COMPONENTS)
        for at in range(width)
    )
    flows = tuple(flow for name in names for part in range(COMPONENTS - 1) for flow in _flows(dice, name, part, width))
    capacity = Resources(cpu=round(sum(each.cpu or 0.0 for each in samples) / LOAD / nodes, 3))
    cluster = Cluster(
        nodes=tuple(Node(id=f"n{at:04d}", capacity=capacity, slots=tuple(range(400))) for at in range(nodes))
    )
    metrics = Metrics(window=10.0, tasks=samples, flows=flows)
    return Request(cluster=cluster, topologies=tuple(_topology(each, width) for each in names), metrics=metrics)


def _topology(name: str, width: int) -> Topology:
    parts = tuple(
        Component(
            id=f"c{at}",
            kind=Kind.BOLT if at else Kind.SPOUT,
            parallelism=width,
            demand=Resources(cpu=10.0),
        )
        for at in range(COMPONENTS)
    )
    streams = tuple(Stream(source=f"c{at}", target=f"c{at + 1}") for at in range(COMPONENTS - 1))
    return Topology(id=name, components=parts, streams=streams)


def _flows(dice: random.Random, name: str, part: int, width: int) -> Iterator[Flow]:
    keys = dice.sample(range(width), width)
    for at, key in enumerate(keys):
        peers: dict[int, float] = {}
        for _ in range(PEERS):
            near = dice.random() < NEAR
            peer = (key + int(dice.gauss(0, 3))) % width if near else dice.randrange(width)
            peers[peer] = peers.get(peer, 0.0) + dice.expovariate(1 / 20)
        for peer, tuples in peers.items():
            yield Flow(source=f"{name}/c{part}/{at}", target=f"{name}/c{part + 1}/{peer}", tuples=round(tuples, 3))


def by_metis(problem: Problem, parts: int, slack: float) -> NDArray[np.int64]:
    """Part of each task by METIS, k-way.

    Args:
        problem: The problem, of flows alone.
        parts: Number of parts.
        slack: Share by which a part may have more than the mean.
    """
    import pymetis  # type: ignore[import-not-found,unused-ignore]  # not a dependency

    flows = problem.traffic.symmetric
    _, found = pymetis.part_graph(
        parts,
        adjacency=pymetis.CSRAdjacency(flows.indptr, flows.indices),
        vweights=_sizes(problem).tolist(),
        eweights=_weights(flows.rate).tolist(),
        recursive=False,
        options=pymetis.Options(ufactor=max(int(slack * 1000), 1)),
    )
    return np.array(found, dtype=np.int64)


def by_mtkahypar(problem: Problem, parts: int, slack: float) -> NDArray[np.int64]:
    """Part of each task by Mt-KaHyPar with its preset for quality, one thread; arguments as of `by_metis`."""
    import mtkahypar  # type: ignore[import-not-found,unused-ignore]  # not a dependency

    flows = problem.traffic.symmetric
    once = flows.sources < flows.indices
    edges = np.stack([flows.sources[once], flows.indices[once]], axis=1)
    library = mtkahypar.initialize(1)
    context = library.context_from_preset(mtkahypar.PresetType.QUALITY)
    context.set_partitioning_parameters(parts, max(slack, 0.0), mtkahypar.Objective.CUT)
    context.logging = False
    mtkahypar.set_seed(1)
    weights = _weights(flows.rate[once]).tolist()
    graph = library.create_graph(context, problem.n, len(edges), edges.tolist(), _sizes(problem).tolist(), weights)
    parted = graph.partition(context)
    return np.array([parted.block_id(task) for task in range(problem.n)], dtype=np.int64)


def _sizes(problem: Problem) -> NDArray[np.int64]:
    return np.ceil(problem.demand[:, 0] * 100).astype(np.int64)


def _weights(rate: NDArray[np.int64]) -> NDArray[np.int64]:
    return (rate / rate.max() * WHOLE).astype(np.int64) + 1


PARTITIONERS: dict[str, Callable[[Problem, int, float], NDArray[np.int64]]] = {
    "METIS": by_metis,
    "Mt-KaHyPar": by_mtkahypar,
}


def measure(request: Request, schedulers: list[str], host: PluginHost) -> Iterator[tuple[str, ...]]:
    """Rows of the schedulers, and of the partitioners on as many nodes as the last of them used."""
    problem = Problem.of(request)
    nodes = problem.m
    for name in schedulers:
        begin = time.process_time()
        plan = host.schedule(name, attrs.evolve(request))
        took, nodes = time.process_time() - begin, plan.scores.nodes_used or nodes  # none where it is held
        yield name, *_told(problem, problem.node_of(plan.assignment), took)
    for name, divide in PARTITIONERS.items():
        slack = float(problem.capacity[0, 0] * nodes / problem.demand[:, 0].sum()) - 1
        begin = time.process_time()
        found = divide(problem, nodes, slack)
        yield name, *_told(problem, found, time.process_time() - begin)


def _told(problem: Problem, node_of: NDArray[np.int64], took: float) -> tuple[str, ...]:
    share = problem.traffic.inter_node(node_of) / problem.traffic.total
    overfull = (problem.used(node_of) > problem.capacity).any(axis=1).sum()
    return f"{share:.2%}", f"{len(np.unique(node_of))}", f"{overfull}", f"{took:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schedulers", nargs="+", default=["dstorm", "dstorm-plus"], help="names")
    parser.add_argument("--tasks", nargs="+", type=int, default=[200, 1_000, 10_000], help="numbers of tasks")
    parser.add_argument("--seeds", type=int, default=2, help="requests of each size")
    asked, rows = parser.parse_args(), []
    host = PluginHost.load()
    for tasks in asked.tasks:
        nodes = max(tasks // 50, 5)
        for seed in range(1, asked.seeds + 1):
            request = keyed(tasks, nodes, seed)
            rows += [(f"{tasks:,} / {nodes}", f"{seed}", *row) for row in measure(request, asked.schedulers, host)]
    console().print(table("flows with key locality", COLUMNS, rows, numbers=COLUMNS[3:]))


if __name__ == "__main__":
    main()
