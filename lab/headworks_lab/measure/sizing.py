"""Sizes of a real experiment: the request as this machine can run it, and the nodes that it is run on.

Nodes and tasks are made smaller by one factor, so that what a task takes of its node stays the same; rates are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError
from headworks.model import Resources
from headworks_local.isolated.limits import LEAST_CORES, NodeLimits, Rack

if TYPE_CHECKING:
    from headworks.model import Component, Node, Request

POINTS = 100.0
"""CPU points of one core."""
SHARE = 0.75
"""Part of this machine's processor time that the nodes have together. With more, the engine's master and the collector
of figures take some of it from them; with less, an experiment is smaller than it could be."""


def factor(request: Request, cores: float) -> float:
    """The factor by which nodes and tasks have to be smaller to fit this machine; 1 if they do as they are.

    Args:
        request: The request.
        cores: Cores of this machine.
    """
    asked = sum(node.capacity.cpu for node in request.cluster.nodes)
    return min(1.0, SHARE * cores * POINTS / asked) if asked else 1.0


def fitted(request: Request, cores: float) -> Request:
    """The request with CPU of nodes, demands and profiles made smaller by one factor.

    Args:
        request: The request.
        cores: Cores of this machine.

    Raises:
        EngineError: It has no node, or one that would be too small to start a JVM.
    """
    by = factor(request, cores)
    nodes = tuple(attrs.evolve(each, capacity=_smaller(each.capacity, by)) for each in _in_order(request))
    if not nodes:
        raise EngineError("an experiment on a real cluster needs a request with nodes")
    smallest = min(nodes, key=lambda each: each.capacity.cpu)
    if smallest.capacity.cpu < LEAST_CORES * POINTS:
        raise EngineError(
            f"{smallest.id} would have {smallest.capacity.cpu:.1f} points, as {len(nodes)} nodes share "
            f"{cores:g} cores, and needs {LEAST_CORES * POINTS:g}: take fewer nodes, or nodes that differ less"
        )
    topologies = tuple(
        attrs.evolve(
            each, components=tuple(attrs.evolve(part, demand=_smaller(part.demand, by)) for part in each.components)
        )
        for each in request.topologies
    )
    profiles = tuple(attrs.evolve(each, e=each.e * by, met=each.met * by) for each in request.profiles)
    cluster = attrs.evolve(request.cluster, nodes=nodes)
    return attrs.evolve(request, cluster=cluster, topologies=topologies, profiles=profiles)


def fed(request: Request, rate: float) -> Request:
    """The request whose spouts emit so many tuples/s together, in the proportion of the rates that they state.

    CPU demands follow the rate: what a tuple costs stays the same.

    Args:
        request: Of spouts that state a rate.
        rate: Tuples/s.
    """
    by = rate / sum(part.rate or 0.0 for topology in request.topologies for part in topology.components)
    topologies = tuple(
        attrs.evolve(topology, components=tuple(_fed(part, by) for part in topology.components))
        for topology in request.topologies
    )
    return attrs.evolve(request, topologies=topologies)


def _fed(part: Component, by: float) -> Component:
    return attrs.evolve(part, rate=None if part.rate is None else part.rate * by, demand=_smaller(part.demand, by))


def limits(request: Request, *, cores: bool = True) -> tuple[NodeLimits, ...]:
    """Bounds of each node: its processor time, its bandwidth where it has one, and its rack, whose link has no bound.

    Args:
        request: From `fitted`.
        cores: Whether this machine can bound processor time.
    """
    return tuple(
        NodeLimits(
            cores=node.capacity.cpu / POINTS if cores else None,
            rate=None if node.bandwidth is None else node.bandwidth * 8,
            rack=None if node.rack is None else Rack(node.rack),
        )
        for node in request.cluster.nodes
    )


def fixed(request: Request) -> tuple[Node, ...]:
    """The nodes without the rates of their networks, which a cluster that stands can change.

    Args:
        request: From `fitted`.
    """
    return tuple(attrs.evolve(each, bandwidth=None) for each in request.cluster.nodes)


def _in_order(request: Request) -> list[Node]:
    return sorted(request.cluster.nodes, key=lambda each: each.id)


def _smaller(amounts: Resources, by: float) -> Resources:
    return Resources({**amounts, "cpu": amounts.cpu * by})
