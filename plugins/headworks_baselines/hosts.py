"""Hosts kept for one topology alone: the claims of Storm's IsolationScheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks.model import Reason
from headworks.toolbox.holding import nodes_that_hold, one_of_each
from headworks_baselines.start import counts, waiting

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
    claims it or runs on it, and if it can hold one of its tasks. A topology claims no more hosts than it has tasks.
    Those on which it runs already come first, then those with most slots, with most
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
        asked = topology.isolated_nodes or 0
        if not asked:
            continue
        usable = nodes_that_hold(problem, room, index) | (counts(problem, room, index) > 0)
        wanted = min(asked, int((problem.topology == index).sum()))
        # a host on which another topology runs is not free to be claimed
        strangers = tenants.sum(axis=0) - tenants[index] > 0
        order = np.lexsort((np.arange(len(names)), -free, -slots, tenants[index] == 0))
        of_use = np.bincount(host, usable, len(names)) > 0
        taken = order[((owner == SHARED) & ~strangers & of_use)[order]][:wanted]
        owner[taken] = index
        if len(taken) < wanted:
            short.append(f"{topology.id} asks for {asked} hosts of its own and gets {len(taken)}")
    return owner[host], tuple(short)


def reserved(problem: Problem, room: Room, topologies: list[Topology], owner: NDArray[np.int64]) -> list[Reason]:
    """A reason for each topology of which a task waits that would have room on a node which another one owns.

    Args:
        problem: The problem.
        room: Holds the tasks that were placed.
        topologies: All topologies, by id.
        owner: Index of the topology that owns each node, int64 (m,), `SHARED` where none does.
    """
    found = []
    for index, topology in enumerate(topologies):
        left = waiting(problem, room, index)
        mine = owner == (index if topology.isolated_nodes else SHARED)
        closed = np.zeros(problem.m, dtype=bool)
        for task in one_of_each(problem, left):
            closed |= room.fits(task) & ~mine
        if closed.any():
            found.append(_reservation(problem, topologies, index, len(left), owner, closed))
    return found


def _reservation(
    problem: Problem,
    topologies: list[Topology],
    index: int,
    left: int,
    owner: NDArray[np.int64],
    closed: NDArray[np.bool_],
) -> Reason:
    """Name the node with room that a topology may not use, and for whom it is reserved."""
    topology, node = topologies[index], int(closed.argmax())
    mine = int((owner == (index if topology.isolated_nodes else SHARED)).sum())
    if topology.isolated_nodes:
        message = f"{topology.id} has {mine} nodes of its own (isolated_nodes), without room for {left} of its tasks"
        advice = "raise isolated_nodes, or add a host"
    else:
        holder = topologies[int(owner[node])].id
        message = f"{topology.id} finds no room for {left} of its tasks: {problem.node_ids[node]} is kept for {holder}"
        advice = f"lower the isolated_nodes of {holder}, or add a host"
    return Reason(
        code="reserved",
        subject=topology.id,
        message=f"{message}; {advice}",
        resource="nodes",
        need=float(mine + 1),
        have=float(mine),
    )


def _hosts(problem: Problem) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Host names in order, and the index of each node's host."""
    nodes = sorted(problem.request.cluster.nodes, key=lambda node: node.id)
    names = sorted({node.hostname for node in nodes})
    position = {name: index for index, name in enumerate(names)}
    return tuple(names), np.array([position[node.hostname] for node in nodes], dtype=np.int64)
