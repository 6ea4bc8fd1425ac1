"""Claims of the topologies of a request on nodes: desired and minimum numbers, by priority."""

from __future__ import annotations

from itertools import groupby
from operator import sub
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from headworks.problem import Problem
    from headworks_priority.options import Undeclared


@attrs.frozen(kw_only=True)
class Claimant:
    """A topology that has tasks (Table 1).

    Attributes:
        topology: Its index, by id.
        id: Its id.
        priority: Its level; lower numbers are more important.
        desired: Nodes it would like to use (sd); where none are declared, the machines that it is to have alone.
        minimum: Nodes it must have (sm); 1 where none are declared.
        workers: Worker processes it asks for (W).
    """

    topology: int
    id: str
    priority: int
    desired: int
    minimum: int = 1
    workers: int = 1


def claimants(problem: Problem, undeclared: Undeclared) -> tuple[Claimant, ...]:
    """Every topology that has tasks, by priority, then by id.

    Args:
        problem: The request as arrays.
        undeclared: Reading of a topology that declares no desired nodes.
    """
    found = []
    for index, topology in enumerate(sorted(problem.request.topologies, key=lambda each: each.id)):
        mine = problem.topology == index
        if not mine.any():
            continue
        desired = topology.isolated_nodes if topology.desired_nodes is None else topology.desired_nodes
        if desired is None:
            needed = _needed(problem, mine) if undeclared == "demand" else 1
            desired = min(int(mine.sum()), max(topology.workers, needed, 1))
        minimum = min(1, desired) if topology.minimum_nodes is None else topology.minimum_nodes
        found.append(
            Claimant(
                topology=index,
                id=topology.id,
                priority=topology.priority,
                desired=desired,
                minimum=minimum,
                workers=topology.workers,
            )
        )
    return tuple(sorted(found, key=lambda each: (each.priority, each.topology)))


def levels(claims: Sequence[Claimant]) -> list[list[int]]:
    """Positions in `claims`, one list a priority level, most important first."""
    return [list(group) for _, group in groupby(range(len(claims)), key=lambda at: claims[at].priority)]


def _needed(problem: Problem, mine: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
    """Nodes as large as the largest that the tasks fill one after the other."""
    largest = problem.capacity.max(axis=0, initial=0.0).tolist()
    nodes, free = 0, [-1.0] * len(largest)
    for demand in problem.demand[mine].tolist():
        left = list(map(sub, free, demand))
        if min(left) < 0:
            nodes, left = nodes + 1, list(map(sub, largest, demand))
        free = left
    return nodes
