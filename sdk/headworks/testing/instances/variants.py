"""The same request said differently: what a scheduler must not care about."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, TypeVar

import attrs

from headworks.model import FrozenMap, Node, Request, Resources, Slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from headworks.model import Constraint

T = TypeVar("T")


def shuffled(request: Request, seed: int) -> Request:
    """The request with everything that has no order in another order."""
    dice = random.Random(seed)

    def mixed(values: tuple[T, ...]) -> tuple[T, ...]:
        return tuple(dice.sample(values, len(values)))

    topologies = [
        attrs.evolve(
            each,
            components=mixed(each.components),
            streams=mixed(each.streams),
            constraints=mixed(tuple(attrs.evolve(one, components=mixed(one.components)) for one in each.constraints)),
        )
        for each in request.topologies
    ]
    metrics = request.metrics
    return attrs.evolve(
        request,
        cluster=attrs.evolve(request.cluster, nodes=mixed(request.cluster.nodes)),
        topologies=mixed(tuple(topologies)),
        assignment=FrozenMap(mixed(tuple(request.assignment.items()))),
        metrics=attrs.evolve(
            metrics,
            tasks=mixed(metrics.tasks),
            flows=mixed(metrics.flows),
            nodes=mixed(metrics.nodes),
            topologies=mixed(metrics.topologies),
        ),
        profiles=mixed(request.profiles),
    )


def doubled(request: Request) -> Request:
    """The request with twice the demand and twice the capacity: exact for amounts that are multiples of `STEP`."""
    nodes = tuple(attrs.evolve(node, capacity=_twice(node.capacity)) for node in request.cluster.nodes)
    topologies = tuple(
        attrs.evolve(
            topology,
            worker_heap=_double(topology.worker_heap),
            components=tuple(
                attrs.evolve(part, demand=_twice(part.demand), heap=_double(part.heap), threads=2 * part.threads)
                for part in topology.components
            ),
        )
        for topology in request.topologies
    )
    metrics = attrs.evolve(
        request.metrics,
        tasks=tuple(
            attrs.evolve(sample, cpu=_double(sample.cpu), memory=_double(sample.memory))
            for sample in request.metrics.tasks
        ),
        nodes=tuple(
            attrs.evolve(sample, cpu=_double(sample.cpu), memory=_double(sample.memory))
            for sample in request.metrics.nodes
        ),
    )
    return attrs.evolve(
        request, cluster=attrs.evolve(request.cluster, nodes=nodes), topologies=topologies, metrics=metrics
    )


def _twice(amounts: Resources) -> Resources:
    return Resources({name: 2 * amount for name, amount in amounts.items()})


def _double(amount: float | None) -> float | None:
    return None if amount is None else 2 * amount


def renamed(request: Request, rename: Callable[[str], str]) -> Request:
    """The request with other node ids."""
    nodes = tuple(attrs.evolve(node, id=rename(node.id), host=node.host or node.id) for node in request.cluster.nodes)
    topologies = tuple(
        attrs.evolve(each, constraints=tuple(_renamed(one, rename) for one in each.constraints))
        for each in request.topologies
    )
    samples = tuple(attrs.evolve(sample, node=rename(sample.node)) for sample in request.metrics.nodes)
    return attrs.evolve(
        request,
        cluster=attrs.evolve(request.cluster, nodes=nodes),
        topologies=topologies,
        assignment=moved(request.assignment, rename),
        metrics=attrs.evolve(request.metrics, nodes=samples),
    )


def _renamed(constraint: Constraint, rename: Callable[[str], str]) -> Constraint:
    labels = {
        name: tuple(map(rename, values)) if name == "node" else values for name, values in constraint.labels.items()
    }
    return attrs.evolve(constraint, labels=FrozenMap(labels))


def moved(assignment: FrozenMap[str, Slot], rename: Callable[[str], str]) -> FrozenMap[str, Slot]:
    """An assignment with other node ids."""
    return FrozenMap({task: Slot(rename(slot.node), slot.port) for task, slot in assignment.items()})


def with_extra_node(request: Request) -> Request:
    """The request and one more node, as large as the largest in every resource, with a slot for every topology."""
    capacity: dict[str, float] = {}
    for node in request.cluster.nodes:
        for name, amount in node.capacity.items():
            capacity[name] = max(amount, capacity.get(name, 0.0))
    ports = tuple(range(6700, 6700 + max(1, len(request.topologies))))
    extra = Node(id="n~", capacity=Resources(capacity), slots=ports)
    return attrs.evolve(request, cluster=attrs.evolve(request.cluster, nodes=(*request.cluster.nodes, extra)))
