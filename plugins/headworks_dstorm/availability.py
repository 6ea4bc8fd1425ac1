"""Resource availability of nodes (Eq. 5.4), the order in which Algorithm 1 opens them, and fixed tasks by node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from headworks.problem import Problem


def by_availability(problem: Problem) -> list[int]:
    """Nodes in descending order of Eq. 5.4, equal ones by index; a resource that no task needs is skipped."""
    total = problem.demand.sum(axis=0)
    needed = total > 0
    if not needed.any():
        return list(range(problem.m))
    availability = (problem.n * problem.capacity[:, needed] / total[needed]).min(axis=1)
    order: list[int] = np.argsort(-availability, kind="stable").tolist()
    return order


def residents(problem: Problem) -> dict[int, list[int]]:
    """The fixed tasks of each node that has any."""
    found: dict[int, list[int]] = {}
    for task in np.flatnonzero(problem.fixed >= 0).tolist():
        found.setdefault(int(problem.fixed[task]), []).append(task)
    return found
