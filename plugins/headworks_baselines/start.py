"""The state from which a baseline starts."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks.problem.room.room import Room


def start(problem: Problem, *, rebalance: bool) -> Room:
    """Make the room that is left beside running tasks; with `rebalance`, beside those that cannot move.

    Args:
        problem: The request as arrays.
        rebalance: Whether running tasks that may move are placed anew.
    """
    return problem.room(None if rebalance else problem.current)


def waiting(problem: Problem, room: Room, topology: int) -> NDArray[np.int64]:
    """Tasks of a topology that have no node yet, ascending.

    Args:
        problem: The request as arrays.
        room: Tasks placed so far.
        topology: Index of the topology.
    """
    return np.flatnonzero((problem.topology == topology) & (room.node_of < 0))


def waiting_by_component(problem: Problem, room: Room, topology: int) -> dict[str, list[int]]:
    """Tasks of a topology that have no node yet, ascending, by component id.

    Args:
        problem: The request as arrays.
        room: Tasks placed so far.
        topology: Index of the topology.
    """
    tasks: dict[str, list[int]] = defaultdict(list)
    for task in waiting(problem, room, topology).tolist():
        tasks[problem.tasks[task].component].append(task)
    return tasks


def counts(problem: Problem, room: Room, topology: int) -> NDArray[np.int64]:
    """Number of tasks of a topology on each node, int64 (m,).

    Args:
        problem: The request as arrays.
        room: Tasks placed so far.
        topology: Index of the topology.
    """
    nodes = room.node_of[problem.topology == topology]
    return np.bincount(nodes[nodes >= 0], minlength=problem.m)


def topologies_by_task_size(problem: Problem) -> list[int]:
    """Indices of the topologies, those with the largest single task first, then by id.

    Storm deals topologies in the order of a hash table, so any order is Storm's; this one leaves whole nodes to the
    tasks that need them. A task's size is its largest share of a node of full size, over the resources.
    """
    most = problem.capacity.max(axis=0, initial=0.0)
    share = np.divide(problem.demand, most, out=np.zeros_like(problem.demand), where=most > 0)
    largest = np.zeros(len(problem.topology_ids))
    np.maximum.at(largest, problem.topology, share.max(axis=1, initial=0.0))
    order: list[int] = np.argsort(-largest, kind="stable").tolist()
    return order
