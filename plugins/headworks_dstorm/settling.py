"""Plans that stay as they are when they are planned on again, though tasks that may not move become fixed by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import FrozenMap, Status
from headworks.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from headworks.model import Plan

ROUNDS = 3
"""Times at most that a plan is planned on; one is enough unless slots and heap limits are short at
once, a larger number settles more of these and costs a plan each."""


def settled(problem: Problem, schedule: Callable[[Problem], Plan]) -> Plan:
    """Schedule, and again where that fixes tasks: Algorithm 1 begins with fixed tasks in their places.

    A task that may not move and runs nowhere is placed like any other, once and for all. Had the next round begun with
    it in its place, others could go elsewhere than where they were just sent; they are sent there at once.

    Args:
        problem: The problem.
        schedule: Makes a plan that depends on what runs through fixed tasks alone.
    """
    plan = schedule(problem)
    if problem.request.limits.max_moves is not None or not _fixes(problem):
        return plan
    for _ in range(ROUNDS):
        if plan.status is not Status.OK:
            break
        done = attrs.evolve(problem.request, assignment=FrozenMap(plan.assignment))
        again = schedule(Problem.of(done, measured=problem.measured))
        if not again.moves or again.status is not Status.OK:
            break
        plan = problem.plan_again(again, plan.explanation)
    return plan


def runs(problem: Problem) -> bool:
    """Check that every task runs, on nodes that hold what runs there; what fixed tasks alone exceed is not counted."""
    if (problem.current < 0).any():
        return False
    used = np.zeros_like(problem.capacity)
    np.add.at(used, problem.current, problem.demand)
    shared = np.unique(problem.current[problem.fixed < 0])
    return bool((used[shared] <= problem.capacity[shared]).all())


def _fixes(problem: Problem) -> bool:
    """Check for a task that may not move and runs nowhere."""
    movable = {
        (topology.id, component.id): component.movable
        for topology in problem.request.topologies
        for component in topology.components
    }
    stays = np.array([not movable[pair] for pair in problem.components], dtype=bool)
    return bool(problem.n and (stays[problem.component] & (problem.current < 0)).any())
