"""The load that is planned for (Eq. 5.1): what was measured, or what arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.model import Status
from headworks.model.scaling import at_offered_load
from headworks.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from headworks.model import Plan, Request
    from headworks_dstorm.options import Options


def planned(request: Request, options: Options, schedule: Callable[[Problem], Plan]) -> Plan:
    """Schedule for the load that the options name; where what is offered has no room, for what was measured.

    Args:
        request: The request.
        options: Whether demands are those measured, or those at the offered load.
        schedule: Makes the plan of a problem.
    """
    problem = Problem.of(request, measured=options.measured)
    if options.demand == "measured" or not options.measured:
        return schedule(problem)
    grown = at_offered_load(request, memory=options.memory == "linear")
    if grown is request:
        return schedule(problem)
    plan = schedule(Problem.of(grown))
    if plan.status is Status.OK:
        said = "; ".join(filter(None, (plan.explanation, "planned for the load that is offered")))
        return problem.plan_again(plan, said)
    plan = schedule(problem)
    said = "; ".join(filter(None, (plan.explanation, "the load that is offered has no room: planned for the measured")))
    return attrs.evolve(plan, explanation=said)
