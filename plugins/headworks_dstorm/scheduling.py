"""A plan by Algorithm 1, and by what follows its Failure."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headworks.model import Status
from headworks.toolbox.move_limit import plan_within_limit
from headworks.toolbox.repair import repair
from headworks_dstorm.availability import by_availability
from headworks_dstorm.demand import planned
from headworks_dstorm.fast import place
from headworks_dstorm.settling import runs, settled

if TYPE_CHECKING:
    from headworks.model import Plan, Request
    from headworks.problem import Problem
    from headworks_dstorm.options import Options


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
    if runs(problem) and (kept := problem.plan(problem.current, f"{said}; what runs stays")).status is Status.OK:
        return kept
    node_of = repair(problem, node_of, by_availability(problem))
    return plan_within_limit(problem, node_of, f"{said}; repair placed {left - int((node_of < 0).sum())} of them")
