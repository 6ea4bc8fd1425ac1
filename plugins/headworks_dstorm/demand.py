"""The load that is planned for (Eq. 5.1): what was measured, or what arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import Status
from headworks.model.scaling import at_offered_load
from headworks.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

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
    offered = Problem.of(grown)
    plan = schedule(offered)
    if plan.status is Status.OK and has_room(offered, offered.node_of(plan.assignment)):
        said = "; ".join(filter(None, (plan.explanation, "planned for the load that is offered")))
        return problem.plan_again(plan, said)
    plan = schedule(problem)
    said = "; ".join(filter(None, (plan.explanation, "the load that is offered has no room: planned for the measured")))
    return attrs.evolve(plan, explanation=said)


def has_room(problem: Problem, node_of: NDArray[np.int64]) -> bool:
    """Check that nodes hold what is on them; what fixed tasks alone exceed is not counted.

    Args:
        problem: The problem.
        node_of: Node index of each task, all of which have one.
    """
    shared = np.unique(node_of[problem.fixed < 0])
    return bool((problem.used(node_of)[shared] <= problem.capacity[shared]).all())
