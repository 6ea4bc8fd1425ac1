"""Seeded random problems that go to the corners of Algorithm 1."""

from __future__ import annotations

import attrs
import numpy as np

from headworks.model import (
    Cluster,
    Component,
    Flow,
    FrozenMap,
    Kind,
    Metrics,
    Node,
    Request,
    Resources,
    Slot,
    Stream,
    TaskSample,
    Topology,
)

SIZES = ("equal", "classes", "different", "one-resource", "zero-cpu")
TRAFFIC = ("none", "blocks", "flows", "mixed", "ties")
ROOM = ("wide", "slots", "heaps", "fixed", "all")


def instance(seed: int, *, scale: int = 1) -> Request:
    """A request whose kind of sizes, traffic and room is drawn from the seed."""
    rng = np.random.default_rng(seed)
    sizes, traffic, room = (str(rng.choice(kinds)) for kinds in (SIZES, TRAFFIC, ROOM))
    topologies = tuple(
        _topology(f"t{number}", rng, sizes, traffic, room, scale) for number in range(rng.integers(1, 4))
    )
    cluster = _cluster(rng, room, topologies)
    return Request(
        cluster=cluster,
        topologies=topologies,
        assignment=_assignment(rng, room, cluster, topologies),
        metrics=_metrics(rng, sizes, traffic, topologies),
    )


def shuffled(request: Request, seed: int) -> Request:
    """The same request with its nodes, topologies, components and measurements in another order."""
    rng = np.random.default_rng(seed)

    def mix(items: tuple) -> tuple:
        return tuple(items[index] for index in rng.permutation(len(items)))

    topologies = [attrs.evolve(each, components=mix(each.components)) for each in mix(request.topologies)]
    metrics = attrs.evolve(request.metrics, tasks=mix(request.metrics.tasks), flows=mix(request.metrics.flows))
    return attrs.evolve(
        request,
        cluster=Cluster(nodes=mix(request.cluster.nodes)),
        topologies=tuple(topologies),
        metrics=metrics,
        assignment=FrozenMap(dict(mix(tuple(request.assignment.items())))),
    )


def _topology(name: str, rng, sizes: str, traffic: str, room: str, scale: int) -> Topology:
    count = int(rng.integers(1, 6))
    components = tuple(
        Component(
            id=f"c{number}",
            kind=Kind.SPOUT if number == 0 else Kind.BOLT,
            parallelism=int(rng.integers(1, 6)) * scale,
            demand=_demand(rng, sizes),
            heap=float(rng.choice([0, 64, 128, 200])) if room in ("heaps", "all") else None,
            rate=float(rng.choice([0, 1000, 777])) if number == 0 else None,
            selectivity=float(rng.choice([0.5, 1, 2])),
            movable=room not in ("fixed", "all") or bool(rng.random() < 0.5),
        )
        for number in range(count)
    )
    streams = []
    if traffic in ("blocks", "mixed", "ties"):
        for target in range(1, count):
            grouping = str(rng.choice(["shuffle", "all", "global", "fields"])) if traffic != "ties" else "shuffle"
            streams.append(Stream(source=f"c{rng.integers(target)}", target=f"c{target}", grouping=grouping))
        if rng.random() < 0.3:  # a loop, which must state its rate
            streams.append(Stream(source=f"c{count - 1}", target=f"c{count - 1}", name="loop", rate=50.0))
    heaps = float(rng.choice([200, 300, 512])) if room in ("heaps", "all") else None
    return Topology(id=name, components=components, streams=tuple(streams), worker_heap=heaps)


def _demand(rng, sizes: str) -> Resources:
    if sizes == "equal":
        return Resources(cpu=25, memory=128)
    if sizes == "one-resource":
        return Resources(cpu=float(rng.integers(0, 4)) * 10)
    if sizes == "zero-cpu":
        return Resources(
            cpu=float(rng.choice([0, 20])), memory=float(rng.choice([0, 64, 256])), net=float(rng.choice([0, 5]))
        )
    return Resources(cpu=float(rng.choice([5, 10, 40])), memory=float(rng.choice([50, 100, 400])))


def _cluster(rng, room: str, topologies: tuple[Topology, ...]) -> Cluster:
    tasks = sum(component.parallelism for topology in topologies for component in topology.components)
    slots = int(rng.integers(1, 3)) if room in ("slots", "all") else 4
    count = max(1, int(tasks * rng.uniform(0.1, 0.6)))
    return Cluster(
        nodes=tuple(
            Node(
                id=f"n{number:03d}",
                capacity=Resources(
                    cpu=float(rng.choice([0, 50, 100, 200, 400], p=[0.04, 0.06, 0.3, 0.3, 0.3])),
                    memory=float(rng.choice([512, 1024, 4096])),
                    net=float(rng.choice([0, 10, 20])),
                ),
                slots=tuple(range(6700, 6700 + slots)),
            )
            for number in range(count)
        )
    )


def _assignment(rng, room: str, cluster: Cluster, topologies: tuple[Topology, ...]) -> FrozenMap[str, Slot]:
    if room not in ("fixed", "all"):
        return FrozenMap()
    slots: dict[str, Slot] = {}
    for topology in topologies:
        for task in topology.tasks():
            if rng.random() < 0.4:
                node = cluster.nodes[int(rng.integers(len(cluster.nodes)))]
                slots[task.id] = Slot(node.id, node.slots[0])
    return FrozenMap(slots)


def _metrics(rng, sizes: str, traffic: str, topologies: tuple[Topology, ...]) -> Metrics:
    tasks = [task.id for topology in topologies for task in topology.tasks()]
    samples = (
        tuple(
            TaskSample(task=task, cpu=float(rng.uniform(1, 40)), memory=float(rng.uniform(10, 300))) for task in tasks
        )
        if sizes == "different"
        else ()
    )
    flows = []
    if traffic in ("flows", "mixed"):
        measured = topologies if traffic == "flows" else topologies[:1]
        for topology in measured:
            names = [task.id for task in topology.tasks()]
            pairs = {(int(rng.integers(len(names))), int(rng.integers(len(names)))) for _ in range(2 * len(names))}
            rate = (lambda: 100.0) if rng.random() < 0.3 else (lambda: float(rng.uniform(0, 500)))
            flows += [Flow(source=names[a], target=names[b], tuples=rate()) for a, b in sorted(pairs) if a != b]
    return Metrics(tasks=samples, flows=tuple(flows))
