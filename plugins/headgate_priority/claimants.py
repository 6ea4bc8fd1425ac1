"""What the topologies of a request claim: desired and minimum nodes, by priority."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import attrs
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headgate.problem import Problem
    from headgate_priority.options import Undeclared


@attrs.frozen(kw_only=True)
class Claimant:
    """A topology that has tasks (Table 1).

    Attributes:
        topology: Its index, by id.
        id: Its id.
        priority: Its level; lower numbers are more important.
        desired: Nodes it would like to use (sd).
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
    """Every topology that has tasks, by priority, then by id."""
    found = []
    for index, topology in enumerate(sorted(problem.request.topologies, key=lambda each: each.id)):
        mine = problem.topology == index
        if not mine.any():
            continue
        desired = topology.desired_nodes
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
    """Nodes as large as the largest that the tasks fill; all of them where a resource is nowhere to be had."""
    total, largest = problem.demand[mine].sum(axis=0), problem.capacity.max(axis=0, initial=0.0)
    if (total > 0)[largest == 0].any():
        return int(mine.sum())
    parts = np.divide(total, largest, out=np.zeros_like(total), where=largest > 0)
    return int(np.ceil(parts.max(initial=0.0)))
