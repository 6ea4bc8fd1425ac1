"""From a decision on nodes to a whole plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headgate.model import FrozenMap, Plan, Reason, Status
from headgate.moves import order_moves
from headgate.score import score
from headgate.slots import assign_slots

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate.problem import Problem

SHOWN = 5
"""Unplaced tasks that get a reason of their own; one more reason counts the others."""


def make_plan(problem: Problem, node_of: NDArray[np.int64], explanation: str = "") -> Plan:
    """Make a plan of node indices; see `Problem.plan`."""
    if node_of.shape != (problem.n,):
        raise ValueError(f"node_of has shape {node_of.shape}, the problem has {problem.n} tasks")
    if problem.n and (node_of.min() < -1 or node_of.max() >= problem.m):
        raise ValueError(f"node_of holds {node_of.min()}..{node_of.max()}, the nodes are 0..{problem.m - 1}")
    node_of = np.where(problem.fixed >= 0, problem.fixed, node_of)
    target, reasons = assign_slots(problem, node_of)
    reasons = _unplaced(problem, node_of) + reasons
    route = order_moves(problem, target)
    if route.dropped:
        reasons += [_limited(problem, route.dropped)]
    ids = problem.task_ids
    assignment = FrozenMap({ids[task]: slot for task, slot in sorted(route.slots.items())})
    complete = len(assignment) == problem.n
    if not complete and not reasons:
        reasons = [_no_way(problem, len(assignment))]
    return Plan(
        status=Status.OK if complete else Status.INFEASIBLE,
        reasons=tuple(reasons),
        assignment=assignment,
        moves=route.moves,
        scores=score(problem, assignment),
        measured=problem.measured,
        explanation=explanation,
    )


def _unplaced(problem: Problem, node_of: NDArray[np.int64]) -> list[Reason]:
    missing = np.flatnonzero(node_of < 0).tolist()
    if not missing:
        return []
    free = problem.capacity.copy()
    placed = node_of >= 0
    np.subtract.at(free, node_of[placed], problem.demand[placed])
    reasons = [_why(problem, task, free) for task in missing[:SHOWN]]
    if len(missing) > SHOWN:
        message = f"{len(missing) - SHOWN} more of {problem.n} tasks are unplaced"
        reasons.append(Reason(code="unplaced", subject="tasks", message=message))
    return reasons


def _why(problem: Problem, task: int, free: NDArray[np.float64]) -> Reason:
    """Name the resource that is shortest for the task on the node with the most left of it."""
    name = problem.task_ids[task]
    if not problem.m:
        return Reason(code="nodes", subject=name, message=f"{name} has no node to go to: the cluster is empty")
    limit = problem.heap_limit[problem.topology[task]]
    if problem.heap[task] > limit:
        message = f"{name} needs {problem.heap[task]:g} MB of heap, a worker of its topology may have {limit:g}"
        need, have = float(problem.heap[task]), float(limit)
        return Reason(code="heap", subject=name, message=message, resource="heap", need=need, have=have)
    demand = problem.demand[task]
    ratio = np.divide(free, demand, out=np.full(free.shape, np.inf), where=demand > 0).min(axis=1)
    node = int(ratio.argmax())
    if ratio[node] >= 1:
        message = f"{name} has room on node {problem.node_ids[node]}, but the scheduler did not place it"
        return Reason(code="slots", subject=name, message=f"{message} (slots or heap are used up)")
    short = int(np.where(demand > 0, free[node] / np.where(demand > 0, demand, 1), np.inf).argmin())
    resource, need, have = problem.resources[short], float(demand[short]), float(free[node, short])
    message = f"{name} needs {need:g} {resource}, the node with most room, {problem.node_ids[node]}, has {have:g}"
    return Reason(code="capacity", subject=name, message=message, resource=resource, need=need, have=have)


def _limited(problem: Problem, dropped: int) -> Reason:
    limit = problem.request.limits.max_moves
    message = f"{dropped} more tasks would move, the limit is {limit}; the next round continues"
    return Reason(code="move-limit", subject="moves", message=message, need=dropped, have=limit)


def _no_way(problem: Problem, placed: int) -> Reason:
    message = f"{problem.n - placed} tasks wait for room that only further moves would free"
    return Reason(code="order", subject="moves", message=message)
