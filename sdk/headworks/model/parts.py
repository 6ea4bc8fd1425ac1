"""Parts of what was seen, or asked: some topologies, with all that is known of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import attrs

from headworks.model.request import Metrics, Observation, Request
from headworks.model.values import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Collection

S = TypeVar("S", Observation, Request)


def without_topologies(seen: S, names: Collection[str]) -> S:
    """The same without some topologies, and without what runs of them, was measured of them, or is known of them.

    Args:
        names: Ids of topologies.
    """
    if not names:
        return seen
    left = attrs.evolve(
        seen,
        topologies=tuple(each for each in seen.topologies if each.id not in names),
        assignment=FrozenMap(
            {task: slot for task, slot in seen.assignment.items() if task.partition("/")[0] not in names}
        ),
        profiles=tuple(each for each in seen.profiles if each.topology not in names),
    )
    return attrs.evolve(left, metrics=known_metrics(seen.metrics, left))


def known_metrics(metrics: Metrics, seen: Observation | Request) -> Metrics:
    """The metrics without those of topologies, tasks and nodes that the observation does not have.

    What was measured may be older than the state of the cluster: a topology is killed, a node dies.

    Args:
        metrics: What was reported last.
        seen: The cluster and its topologies now; a request of these metrics and it has to be free of contradictions.
    """
    tasks = {task.id for topology in seen.topologies for task in topology.tasks()}
    nodes = {node.id for node in seen.cluster.nodes}
    topologies = {topology.id for topology in seen.topologies}
    return attrs.evolve(
        metrics,
        tasks=tuple(each for each in metrics.tasks if each.task in tasks),
        flows=tuple(each for each in metrics.flows if each.source in tasks and each.target in tasks),
        nodes=tuple(each for each in metrics.nodes if each.node in nodes),
        topologies=tuple(each for each in metrics.topologies if each.topology in topologies),
        streams=tuple(each for each in metrics.streams if each.topology in topologies),
    )
