"""What nodes can hold of a topology: any task of it, one more of its tasks, and how much of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks.problem.room.room import Room


def nodes_that_hold(problem: Problem, room: Room, topology: int) -> NDArray[np.bool_]:
    """Nodes that can hold a task of a topology or hold one that cannot leave, bool (m,).

    Args:
        problem: The request as arrays.
        room: Holds the tasks that cannot leave.
        topology: Index of the topology.
    """
    mine = np.flatnonzero(problem.topology == topology)
    holds = np.zeros(problem.m, dtype=bool)
    holds[problem.fixed[mine][problem.fixed[mine] >= 0]] = True
    # Most nodes hold the first task, and no task is asked about a node that lacks what each of them needs.
    least = problem.demand[mine].min(axis=0)
    open_nodes = holds | (room.free >= least).all(axis=1)
    for task in _one_of_each(problem, mine):
        if holds[open_nodes].all():
            break
        holds |= room.fits(task)
    return holds


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
    for task in _one_of_each(problem, mine[(count[room.node_of[mine]] > 1) & (problem.fixed[mine] < 0)]):
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


def _one_of_each(problem: Problem, tasks: NDArray[np.int64]) -> Iterator[int]:
    """The first task of each kind: those of a component that need the same."""
    seen = set()
    for task in tasks.tolist():
        kind = (int(problem.component[task]), problem.demand[task].tobytes())
        if kind not in seen:
            seen.add(kind)
            yield task
