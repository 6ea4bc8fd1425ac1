"""A request as it would be after a change: nodes that go or come, another load, a constraint less."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.errors import DocumentError, known_names
from headworks.model.parts import known_metrics
from headworks.model.scaling import scaled
from headworks.model.spoken import node_named
from headworks.model.topology import Constraint, ConstraintKind
from headworks.model.values import FrozenMap, Resources

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headworks.model.cluster import Node, Slot
    from headworks.model.request import Request, TopologySample
    from headworks.model.topology import Component, Topology


@attrs.frozen(kw_only=True)
class RequestChange:
    """A change of a request; one that has only defaults changes nothing.

    Attributes:
        drain: Nodes on which no task may stay, by id or host; tasks run there until they move.
        lose: Nodes that are gone, by id or host; their tasks run nowhere.
        add: Numbers of nodes that come, each with the machine type, the id or the host of a node that is there.
        load: Factor of every rate and CPU demand.
        without: Constraints that are left out, in words as `str` gives them.
    """

    drain: tuple[str, ...] = ()
    lose: tuple[str, ...] = ()
    add: tuple[tuple[str, int], ...] = ()
    load: float = 1.0
    without: tuple[str, ...] = ()


def changed(request: Request, change: RequestChange) -> Request:
    """The request after a change.

    Raises:
        DocumentError: A node, a machine type or a constraint is not there.
    """
    nodes = request.cluster.nodes
    drain, lose = ([node_named(nodes, name) for name in names] for names in (change.drain, change.lose))
    new = [node for kind, count in change.add for node in _copies(nodes, kind, count)]
    found = _with_load(_without_constraints(request, change.without), change.load)
    found = _without_nodes(found, lose)
    found = attrs.evolve(found, cluster=attrs.evolve(found.cluster, nodes=(*found.cluster.nodes, *new)))
    return _kept_off(found, drain) if drain else found


def _copies(nodes: Iterable[Node], kind: str, count: int) -> list[Node]:
    """New nodes like the first of a machine type, or like a node that is named."""
    nodes = tuple(nodes)
    like = next((node for node in nodes if node.machine_type == kind), None)
    if like is None:
        like = next(node for node in nodes if node.id == _named(nodes, kind))
    return [attrs.evolve(like, id=f"new-{kind}-{number + 1}", host=None) for number in range(count)]


def _named(nodes: tuple[Node, ...], kind: str) -> str:
    try:
        return node_named(nodes, kind)
    except DocumentError:
        types = {node.machine_type for node in nodes if node.machine_type}
        known = known_names(kind, {*types, *(node.id for node in nodes)})
        raise DocumentError("", f"there is no machine type and no node {kind!r}{known}") from None


def _without_constraints(request: Request, texts: Iterable[str]) -> Request:
    known = {str(each) for topology in request.topologies for each in topology.constraints}
    left_out = {*texts}
    if strange := sorted(left_out - known):
        raise DocumentError("", f"there is no constraint {strange[0]!r}{known_names(strange[0], known)}")
    if not left_out:
        return request
    kept = (
        tuple(each for each in topology.constraints if str(each) not in left_out) for topology in request.topologies
    )
    pairs = zip(request.topologies, kept, strict=True)
    return attrs.evolve(request, topologies=tuple(attrs.evolve(each, constraints=rules) for each, rules in pairs))


def _with_load(request: Request, factor: float) -> Request:
    """The request at another load: what was measured, and what is declared, for where nothing was."""
    if factor == 1:
        return request
    found = scaled(request, factor)
    samples = tuple(_offered(each, factor) for each in found.metrics.topologies)
    return attrs.evolve(
        found,
        topologies=tuple(_declared(each, factor) for each in found.topologies),
        metrics=attrs.evolve(found.metrics, topologies=samples),
    )


def _offered(sample: TopologySample, factor: float) -> TopologySample:
    """The sample with more offered to it; how much of that is completed, and when, was not measured."""
    before = sample.offered if sample.offered is not None else sample.throughput
    return attrs.evolve(
        sample, offered=None if before is None else before * factor, throughput=None, latency=None, interval=None
    )


def _declared(topology: Topology, factor: float) -> Topology:
    streams = tuple(
        attrs.evolve(each, rate=None if each.rate is None else each.rate * factor) for each in topology.streams
    )
    return attrs.evolve(topology, components=tuple(_at(part, factor) for part in topology.components), streams=streams)


def _at(part: Component, factor: float) -> Component:
    demand = Resources({**part.demand, "cpu": part.demand.cpu * factor}) if part.demand.cpu else part.demand
    return attrs.evolve(part, demand=demand, rate=None if part.rate is None else part.rate * factor)


def _without_nodes(request: Request, names: Iterable[str]) -> Request:
    gone = {*names}
    if not gone:
        return request
    nodes = tuple(node for node in request.cluster.nodes if node.id not in gone)
    found = attrs.evolve(
        request,
        cluster=attrs.evolve(request.cluster, nodes=nodes),
        assignment=_elsewhere(request.assignment, gone),
    )
    return attrs.evolve(found, metrics=known_metrics(request.metrics, found))


def _elsewhere(assignment: FrozenMap[str, Slot], gone: set[str]) -> FrozenMap[str, Slot]:
    return FrozenMap({task: slot for task, slot in assignment.items() if slot.node not in gone})


def _kept_off(request: Request, nodes: Iterable[str]) -> Request:
    """The request with a hard constraint of every topology that keeps it off some nodes."""
    labels = FrozenMap(node=tuple(sorted({*nodes})))
    rule = Constraint(kind=ConstraintKind.NEVER_ON, labels=labels)
    topologies = (attrs.evolve(each, constraints=(*each.constraints, rule)) for each in request.topologies)
    return attrs.evolve(request, topologies=tuple(topologies))
