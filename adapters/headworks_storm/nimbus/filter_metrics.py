"""Metrics restricted to the topologies, tasks and nodes that a cluster has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from headworks.model import Metrics, Observation


def known_metrics(metrics: Metrics, seen: Observation) -> Metrics:
    """The metrics without those of topologies, tasks and nodes that the observation does not have.

    What was measured may be older than the state of the cluster: a topology is killed, a supervisor dies.

    Args:
        metrics: What workers reported last.
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
