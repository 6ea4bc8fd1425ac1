"""A round of a journal as plain data for the page: a summary for its timeline, and a scene, which it draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headworks.control.forecast import sentences
from headworks.errors import DocumentError
from headworks.model.scaling import rescaled
from headworks.problem import Problem
from headworks.problem.plan.score import score
from headworks.problem.plan.why import explain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from headworks.control.journal import Round
    from headworks.model import Request, Scores
    from headworks.report.decisions import Decision

BANDS = 60
"""With more nodes, a page shows no traffic between two of them: nobody could tell the lines apart."""
ROWS = 8
"""Nodes in a reason: the one of the task and the best others."""


def summary(decision: Decision) -> dict[str, Any]:
    """A round in a line: when, how it ended, what was measured, and what its plan promises or was expected to bring."""
    done = decision.round
    return {
        "record": decision.record,
        "round": done.number,
        "at": done.at,
        "outcome": done.outcome,
        "message": done.message,
        "scheduler": decision.scheduler,
        "warnings": list(done.warnings),
        "reasons": [] if done.plan is None else [[each.code, each.message] for each in done.plan.reasons],
        "measured": None if done.request is None else _figures(_running(done.request)),
        "planned": None if done.plan is None or done.request is None else _figures(done.plan.scores),
        "forecast": None if done.forecast is None else done.forecast.figures.get("share"),
        "said": sentences(done.forecast, done.checked),
        "hits": done.check.hits,
        "asked": done.check.asked,
    }


def _running(request: Request) -> Scores:
    return score(Problem.of(request), request.assignment)


def _figures(scores: Scores) -> dict[str, Any]:
    return {
        "share": round(scores.share, 4),
        "fullest": round(scores.fullest_node, 4),
        "nodes": scores.nodes_used,
        "moves": scores.moves,
        "unplaced": scores.unplaced,
    }


def scene(decision: Decision) -> dict[str, Any]:
    """The placement of a round, before it and as planned, in arrays; nodes and components are numbers.

    Returns:
        `nodes`, `components`, `tasks` (one array a column), `flows` between nodes as planned, and what was done. A
        round without a request has no nodes.
    """
    done = decision.round
    found: dict[str, Any] = {
        "record": decision.record,
        "explanation": "" if done.plan is None else done.plan.explanation,
        "steps": list(_steps(done)),
        "notes": list(done.notes),
    }
    if done.request is None:
        return found
    problem = Problem.of(done.request if done.plan is None else rescaled(done.request, done.plan))
    before = problem.node_of(done.request.assignment)
    after = before if done.plan is None else problem.node_of(done.plan.assignment)
    return found | {
        "unit": problem.traffic.unit,
        "components": ["/".join(each) for each in problem.components],
        "nodes": list(_nodes(problem, before, after)),
        "tasks": {
            "component": problem.component.tolist(),
            "index": [each.index for each in problem.tasks],
            "before": before.tolist(),
            "after": after.tolist(),
        },
        "flows": list(_flows(problem, after)),
    }


def _steps(done: Round) -> Iterator[list[str]]:
    """What was done, and which tasks were dropped as their places held no more, a row each."""
    for step in () if done.receipt is None else done.receipt.steps:
        yield [step.action, step.subject, "done" if step.done else "failed", step.message]
    for task, why in done.dropped.items():
        yield ["drop", task, "done", why]


def _nodes(problem: Problem, before: NDArray[np.int64], after: NDArray[np.int64]) -> Iterator[dict[str, Any]]:
    now, then = (problem.used(each)[:, 0] for each in (before, after))
    hosts = {each.id: each.hostname for each in problem.request.cluster.nodes}
    for index, node in enumerate(problem.node_ids):
        yield {
            "id": node,
            "host": hosts[node],
            "cpu": round(float(problem.capacity[index, 0]), 1),
            "before": round(float(now[index]), 1),
            "after": round(float(then[index]), 1),
        }


def _flows(problem: Problem, node_of: NDArray[np.int64]) -> Iterator[tuple[int, int, float]]:
    """Two nodes, and the traffic both ways."""
    if problem.m > BANDS:
        return
    matrix = problem.traffic.between(node_of, problem.m)
    for one, other in np.argwhere(np.triu(matrix + matrix.T, 1) > 0).tolist():
        yield one, other, round(float(matrix[one, other] + matrix[other, one]), 3)


def why(decision: Decision, task: str) -> dict[str, Any]:
    """The reasons for a task's place in the plan of a round: a sentence, and a row for each of some nodes.

    Raises:
        DocumentError: The round has no plan, or no such task.
    """
    done = decision.round
    if done.request is None or done.plan is None:
        raise DocumentError("", f"round {done.number} made no plan")
    found = explain(done.request, done.plan, task)
    return {
        "task": task,
        "sentence": found.sentence,
        "unit": found.unit,
        "rows": [
            {
                "node": row.node,
                "fits": row.fits,
                "traffic": round(row.inter_node, 3),
                "fullest": round(row.fullest_node, 4),
                "restarts": row.restarts,
                "reasons": [each.message for each in row.reasons],
            }
            for row in found.alternatives[:ROWS]
        ],
        "more": max(len(found.alternatives) - ROWS, 0),
    }


def moved(done: Round) -> list[str]:
    """Ids of the tasks that a plan moves or places, in the order of its moves."""
    return [] if done.plan is None else list(dict.fromkeys(each.task for each in done.plan.moves))
