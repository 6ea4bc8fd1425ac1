"""Generator of valid requests, one draw after another: by a seeded generator or by Hypothesis, alike."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import TYPE_CHECKING, Protocol, TypeVar

import attrs

from headworks.model import (
    Cluster,
    Component,
    Constraint,
    ConstraintKind,
    Flow,
    FrozenMap,
    Kind,
    Limits,
    Metrics,
    Node,
    NodeSample,
    Request,
    Resources,
    Scope,
    Slot,
    Stream,
    TaskSample,
    Topology,
)
from headworks.model.topology import COUNTED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.model import Task

T = TypeVar("T")

GROUPINGS = ("shuffle", "fields", "local-or-shuffle", "partial-key", "all", "global", "direct")


class Dice(Protocol):
    """Source of choices. The first option and the lowest number are the simplest."""

    def number(self, low: int, high: int) -> int:
        """A whole number of low..high."""

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""


@attrs.frozen
class SeededDice:
    """Choices of a seeded generator."""

    random: random.Random

    def number(self, low: int, high: int) -> int:
        """A whole number of low..high."""
        return self.random.randint(low, high)

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return self.random.choice(options)


@attrs.frozen(kw_only=True)
class Size:
    """Bounds of a request: nodes, topologies, components of a topology, tasks of a component."""

    nodes: int = 4
    topologies: int = 2
    components: int = 3
    parallelism: int = 3


MEDIUM = Size()
SMALL = Size(nodes=3, topologies=2, components=2, parallelism=2)
"""At most 8 tasks on 3 nodes: small enough to try every placement."""


def build_cluster(dice: Dice, size: Size = MEDIUM) -> Cluster:
    """A cluster of 1 to `size.nodes` nodes. Ids are counted, not drawn: there is nothing in them to simplify."""
    return Cluster(nodes=tuple(_node(dice, number) for number in range(dice.number(1, size.nodes))))


def _node(dice: Dice, number: int) -> Node:
    capacity = {"cpu": float(dice.pick((100, 200, 400))), "memory": float(dice.pick((1024, 2048, 4096)))}
    if dice.pick((False, False, False, True)):
        capacity["gpu"] = 1.0
    return Node(
        id=f"n{number}",
        capacity=Resources(capacity),
        slots=tuple(6700 + port for port in range(dice.number(1, 3))),
        rack=dice.pick((None, "r0", "r1")),
        host=dice.pick((None, None, "h0")),
        machine_type=dice.pick((None, "small", "large")),
        price=dice.pick((None, 0.1, 0.25)),
    )


def build_topology(dice: Dice, number: int = 0, size: Size = MEDIUM) -> Topology:
    """A topology of 1 to `size.components` components: a spout, and bolts that read what came before them."""
    components = tuple(_component(dice, index, size) for index in range(dice.number(1, size.components)))
    streams = [_stream(dice, components, index) for index in range(1, len(components))]
    streams += [_stream(dice, components, index, "more") for index in range(2, len(components)) if dice.number(0, 1)]
    heaviest = max(component.task_heap for component in components)
    return Topology(
        id=f"t{number}",
        components=components,
        streams=tuple(streams),
        worker_heap=dice.pick((None, None, heaviest, 2 * heaviest)),
        workers=dice.number(1, 3),
        priority=dice.number(0, 2),
    )


def constrained(dice: Dice, request: Request) -> Request:
    """The request with labels and zones on its nodes, and constraints on its topologies."""
    nodes = tuple(
        attrs.evolve(node, zone=dice.pick((None, "z0", "z1")), labels=FrozenMap(disk=dice.pick(("hdd", "ssd"))))
        for node in request.cluster.nodes
    )
    topologies = tuple(
        attrs.evolve(each, constraints=tuple(_constraint(dice, each) for _ in range(dice.number(0, 3))))
        for each in request.topologies
    )
    return attrs.evolve(request, cluster=attrs.evolve(request.cluster, nodes=nodes), topologies=topologies)


def crowded(dice: Dice, request: Request) -> Request:
    """The request with nodes that have room for little or nothing, whatever runs on them."""
    nodes = tuple(
        attrs.evolve(node, capacity=dice.pick((node.capacity, Resources(cpu=400.0, memory=128.0), Resources(cpu=10.0))))
        for node in request.cluster.nodes
    )
    return attrs.evolve(request, cluster=attrs.evolve(request.cluster, nodes=nodes), limits=Limits())


def _constraint(dice: Dice, topology: Topology) -> Constraint:
    kind = dice.pick(tuple(ConstraintKind))
    label = dice.pick((("disk", "ssd"), ("rack", "r0"), ("node", "n0"), ("zone", "z1")))
    return Constraint(
        kind=kind,
        components=tuple(part.id for part in topology.components if dice.number(0, 1)),
        scope=dice.pick(tuple(Scope)),
        limit=dice.number(1, 3) if kind is ConstraintKind.AT_MOST else None,
        labels=FrozenMap() if kind in COUNTED else FrozenMap({label[0]: (label[1],)}),
        hard=dice.pick((True, True, False)),
        weight=dice.pick((1.0, 5.0)),
    )


def _component(dice: Dice, index: int, size: Size) -> Component:
    demand = {"cpu": float(dice.pick((0, 10, 35, 50, 65, 100))), "memory": float(dice.pick((0, 128, 500, 1024)))}
    if dice.number(0, 9) == 9:
        demand["gpu"] = 1.0
    return Component(
        id=f"c{index}",
        kind=Kind.BOLT if index else Kind.SPOUT,
        parallelism=dice.number(1, size.parallelism),
        demand=Resources(demand),
        heap=dice.pick((None, None, 64.0)),
        rate=None if index else dice.pick((100.0, 0.0, None, 1000.0 / 3)),
        selectivity=dice.pick((1.0, 0.1, 2.5)),
        movable=dice.pick((True, True, True, False)),
    )


def _stream(dice: Dice, components: tuple[Component, ...], index: int, name: str = "default") -> Stream:
    return Stream(
        source=components[dice.number(0, index - 1)].id,
        target=components[index].id,
        name=name,
        grouping=dice.pick(GROUPINGS),
        fanout=dice.pick(("copy", "split")),
        tuple_bytes=dice.pick((None, 64.0)),
    )


def build_request(dice: Dice, size: Size = MEDIUM, *, fresh: bool = False) -> Request:
    """A valid request: clusters, topologies and, unless it is `fresh`, what runs, metrics and limits."""
    cluster = build_cluster(dice, size)
    count = dice.number(1, size.topologies)
    topologies = tuple(build_topology(dice, number, size) for number in range(count))
    if fresh:
        return Request(cluster=cluster, topologies=topologies)
    return Request(
        cluster=cluster,
        topologies=topologies,
        assignment=_running(dice, cluster, topologies),
        metrics=_metrics(dice, cluster, topologies),
        limits=Limits(max_moves=dice.pick((None, None, 0, 1, 3))),
        seed=dice.number(0, 3),
    )


def _running(dice: Dice, cluster: Cluster, topologies: tuple[Topology, ...]) -> FrozenMap[str, Slot]:
    """Some tasks on slots: a slot has one topology and its heap limit holds; a node may be overloaded, or gone."""
    share = dice.pick((0, 1, 2, 3))
    slots = [Slot(node.id, port) for node in cluster.nodes for port in node.slots] + [Slot("gone", 6700)]
    tenant: dict[Slot, str] = {}
    heap: dict[Slot, float] = defaultdict(float)
    found = {}
    for topology in topologies:
        need = {component.id: component.task_heap for component in topology.components}
        limit = float("inf") if topology.worker_heap is None else topology.worker_heap
        for task in topology.tasks():
            slot = slots[dice.number(0, len(slots) - 1)]
            fits = tenant.get(slot, topology.id) == topology.id and heap[slot] + need[task.component] <= limit
            if dice.number(1, 3) <= share and fits:
                tenant[slot] = topology.id
                heap[slot] += need[task.component]
                found[task.id] = slot
    return FrozenMap(found)


def _metrics(dice: Dice, cluster: Cluster, topologies: tuple[Topology, ...]) -> Metrics:
    if not dice.number(0, 1):
        return Metrics()
    tasks = [task for topology in topologies for task in topology.tasks()]
    return Metrics(
        window=10.0,
        tasks=tuple(_sample(dice, task) for task in tasks if dice.number(0, 1)),
        flows=tuple(flow for topology in topologies if dice.number(0, 1) for flow in _flows(dice, topology)),
        nodes=tuple(NodeSample(node=node.id, cpu=float(dice.number(0, 100))) for node in cluster.nodes),
    )


def _sample(dice: Dice, task: Task) -> TaskSample:
    return TaskSample(task=task.id, cpu=dice.pick((None, 5.0, 33.25, 120.0)), memory=dice.pick((None, 200.0, 900.0)))


def _flows(dice: Dice, topology: Topology) -> list[Flow]:
    by_component = defaultdict(list)
    for task in topology.tasks():
        by_component[task.component].append(task.id)
    pairs = {(stream.source, stream.target) for stream in topology.streams}
    return [
        Flow(source=source, target=target, tuples=dice.pick((10.0, 1.5, 1000.0)), bytes=dice.pick((None, 4096.0)))
        for first, second in sorted(pairs)
        for source in by_component[first]
        for target in by_component[second]
        if dice.number(0, 3)
    ]
