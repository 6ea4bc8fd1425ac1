"""Nodes that can hold a task of a topology at all: others are no use to it, however many it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    if not len(mine):
        return holds
    holds[problem.fixed[mine][problem.fixed[mine] >= 0]] = True
    # Most nodes hold the first task, and no task is asked about a node that lacks what each of them needs.
    least = problem.demand[mine].min(axis=0)
    open_nodes = holds | (room.free >= least).all(axis=1)
    for task in one_of_each(problem, mine):
        if holds[open_nodes].all():
            break
        holds |= room.fits(task)
    return holds


def one_of_each(problem: Problem, tasks: NDArray[np.int64]) -> Iterator[int]:
    """The first task of each kind: those of a component that need the same.

    Args:
        problem: The request as arrays.
        tasks: Indices of tasks.
    """
    seen = set()
    for task in tasks.tolist():
        kind = kind_of(problem, task)
        if kind not in seen:
            seen.add(kind)
            yield task


def kind_of(problem: Problem, task: int) -> tuple[int, bytes]:
    """The component of a task and what it needs: where one of a kind has no room, no other has."""
    return int(problem.component[task]), problem.demand[task].tobytes()
