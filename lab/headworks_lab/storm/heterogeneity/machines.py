"""The requests: unequal machines as nodes with more or less processor time, of one machine whose processor is the same.

A tuple costs the same processor time wherever it is processed, and takes longer where there is less of it in a second.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

import attrs

from headworks.model import Cluster, Resources

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.model import Profile, Request

POINTS = 100.0
"""Processor time of the fastest machine; what the experiment runs on is smaller by one factor."""
MEMORY = 2048.0
"""MB of a node, for which the papers print none that counts."""


def unequal(request: Request) -> Request:
    """The request with nodes whose processor time says how fast their machine type is, and profiles that follow.

    The papers' costs on two machine types have nearly one ratio whatever the component; here it is their mean.

    Args:
        request: Of one topology, with a profile of each component for each machine type.
    """
    ratio = ratios(request.profiles)
    fastest = min(ratio, key=ratio.__getitem__)
    cost = {each.component: each.e for each in request.profiles if each.machine_type == fastest}
    nodes = tuple(
        attrs.evolve(each, capacity=Resources(cpu=POINTS / ratio[each.machine_type or ""], memory=MEMORY))
        for each in request.cluster.nodes
    )
    profiles = tuple(attrs.evolve(each, e=cost[each.component] * ratio[each.machine_type]) for each in request.profiles)
    # With fewer workers than nodes Storm's own scheduler would leave nodes without a task.
    topologies = tuple(attrs.evolve(each, workers=len(nodes)) for each in request.topologies)
    return attrs.evolve(request, cluster=Cluster(nodes=nodes), topologies=topologies, profiles=profiles)


def ratios(profiles: tuple[Profile, ...]) -> Mapping[str, float]:
    """By how much a tuple costs more on each machine type than on the fastest, in the mean of the components.

    Args:
        profiles: Of every component for every machine type.
    """
    costs: dict[str, dict[str, float]] = {}
    for each in profiles:
        costs.setdefault(each.machine_type, {})[each.component] = each.e
    fastest = costs[min(costs, key=lambda name: sum(costs[name].values()))]
    return {name: fmean(cost[part] / fastest[part] for part in fastest) for name, cost in costs.items()}
