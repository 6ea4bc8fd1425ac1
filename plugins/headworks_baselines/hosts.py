"""Hosts kept for one topology alone: the claims of Storm's IsolationScheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks_baselines.start import counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.model import Topology
    from headworks.problem import Problem
    from headworks.problem.room.room import Room

SHARED = -1
"""Owner of a node that serves any topology."""


def claim_hosts(problem: Problem, room: Room, topologies: list[Topology]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Give every isolated topology its hosts.

    The unit is the host: all its nodes are claimed together. A host is open to a topology while no other topology
    claims it or runs on it. Those on which it runs already come first, then those with most slots, with most
    free slots, by name.

    Args:
        problem: The problem.
        room: Holds the tasks that stay.
        topologies: All topologies, by id.

    Returns:
        Index of the topology that owns each node, int64 (m,), `SHARED` where none does; and a sentence for every
        topology that got fewer hosts than it asked for.
    """
    names, host = _hosts(problem)
    slots = np.bincount(host, weights=problem.slots, minlength=len(names))
    free = np.bincount(host, weights=room.free_slots, minlength=len(names))
    tenants = np.array(
        [np.bincount(host, counts(problem, room, index), len(names)) for index in range(len(topologies))]
    ).reshape(len(topologies), len(names))
    owner = np.full(len(names), SHARED, dtype=np.int64)
    short = []
    for index, topology in enumerate(topologies):
        wanted = topology.isolated_nodes or 0
        # a host on which another topology runs is not free to be claimed
        strangers = tenants.sum(axis=0) - tenants[index] > 0
        order = np.lexsort((np.arange(len(names)), -free, -slots, tenants[index] == 0))
        taken = order[((owner == SHARED) & ~strangers)[order]][:wanted]
        owner[taken] = index
        if len(taken) < wanted:
            short.append(f"{topology.id} asks for {wanted} hosts of its own and gets {len(taken)}")
    return owner[host], tuple(short)


def _hosts(problem: Problem) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Host names in order, and the index of each node's host."""
    nodes = sorted(problem.request.cluster.nodes, key=lambda node: node.id)
    names = sorted({node.hostname for node in nodes})
    position = {name: index for index, name in enumerate(names)}
    return tuple(names), np.array([position[node.hostname] for node in nodes], dtype=np.int64)
