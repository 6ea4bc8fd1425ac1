"""What runs, as a plan without moves: it is explained and compared as plans are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.model import FrozenMap, Plan, Status
from headworks.problem.plan.problem import Problem
from headworks.problem.plan.score import score

if TYPE_CHECKING:
    from headworks.model import Request


def as_it_runs(request: Request) -> Plan:
    """The running assignment as a plan that no scheduler made; tasks of a node that is gone run nowhere."""
    problem = Problem.of(request)
    live = zip(problem.task_ids, problem.current.tolist(), strict=True)
    assignment = FrozenMap({task: request.assignment[task] for task, node in live if node >= 0})
    scores = score(problem, assignment)
    return Plan(status=Status.INFEASIBLE if scores.unplaced else Status.OK, assignment=assignment, scores=scores)
