"""A plan by Algorithm 1, and by what follows its Failure.

It stays as it is when it is planned on again, though tasks that may not move become fixed by it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import FrozenMap, Status
from headworks.problem import Problem
from headworks.toolbox.move_limit import plan_within_limit
from headworks.toolbox.repair import repair
from headworks_dstorm.availability import by_availability
from headworks_dstorm.demand import has_room, planned
from headworks_dstorm.fast import place

if TYPE_CHECKING:
    from collections.abc import Callable

    from headworks.model import Plan, Request
    from headworks_dstorm.options import Options

ROUNDS = 3
"""Times at most that a plan is planned on; one is enough unless slots and heap limits are short at
once, a larger number settles more of these and costs a plan each."""


def schedule_settled(request: Request, options: Options) -> Plan:
    """Schedule for the load that the options name, such that planning on the plan moves nothing."""
    return planned(request, options, lambda problem: settled(problem, partial(schedule, options=options)))


def schedule(problem: Problem, options: Options) -> Plan:
    """Run Algorithm 1, and where it fails what the option `fallback` says.

    Args:
        problem: The problem.
        options: Options of the algorithm, and of what follows its Failure.
    """
    node_of = place(problem, options)
    left = int((node_of < 0).sum())
    if not left:
        return plan_within_limit(problem, node_of)
    said = f"Algorithm 1 failed: {left} of {problem.n} tasks were left when the nodes ran out"
    if options.fallback == "none":
        return problem.plan(node_of, said)
    if runs(problem) and (kept := problem.plan(problem.current, f"{said}; running tasks stay")).status is Status.OK:
        return kept
    node_of = repair(problem, node_of, by_availability(problem))
    return plan_within_limit(problem, node_of, f"{said}; repair placed {left - int((node_of < 0).sum())} of them")


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
    return bool((problem.current >= 0).all()) and has_room(problem, problem.current)


def _fixes(problem: Problem) -> bool:
    """Check for a task that may not move and runs nowhere."""
    movable = {
        (topology.id, component.id): component.movable
        for topology in problem.request.topologies
        for component in topology.components
    }
    stays = np.array([not movable[pair] for pair in problem.components], dtype=bool)
    return bool(problem.n and (stays[problem.component] & (problem.current < 0)).any())
