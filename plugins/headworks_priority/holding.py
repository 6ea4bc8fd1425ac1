"""What nodes have room for: one more node for a topology, and how much of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks.toolbox.holding import one_of_each

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks.problem.room.room import Room


def another_node(problem: Problem, room: Room, mine: NDArray[np.int64], nodes: Sequence[int]) -> tuple[int, int] | None:
    """A task that is not alone on its node, and the first node without any of its topology that could take it.

    Args:
        problem: The request as arrays.
        room: Tasks placed so far.
        mine: The tasks of the topology.
        nodes: Nodes to look at, in order.
    """
    count = np.bincount(room.node_of[mine][room.node_of[mine] >= 0], minlength=problem.m)
    empty = [node for node in nodes if not count[node]]
    if not empty:
        return None
    for task in one_of_each(problem, mine[(count[room.node_of[mine]] > 1) & (problem.fixed[mine] < 0)]):
        node = int(room.node_of[task])
        room.remove(task)
        fits = room.fits(task)
        room.place(task, node)
        found = next((each for each in empty if fits[each]), None)
        if found is not None:
            return task, found
    return None


def by_room(problem: Problem, room: Room, mine: NDArray[np.int64], nodes: Sequence[int]) -> tuple[int, ...]:
    """The nodes by the share of a topology that each has room for, the largest first.

    Args:
        problem: The request as arrays.
        room: Tasks placed so far.
        mine: The tasks of the topology; those that cannot leave are where they are.
        nodes: Nodes to sort; where they are alike, their order stays.
    """
    stay = set(problem.fixed[mine].tolist())
    need = problem.demand[mine[room.node_of[mine] < 0]].sum(axis=0)
    share = (room.free[:, need > 0] / need[need > 0]).min(axis=1, initial=1.0)
    return tuple(sorted(nodes, key=lambda node: (node not in stay, -share[node])))
