"""Reasons for tasks that constraints leave without a node, and the smallest relaxation that gives it one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks.model import ConstraintKind, Reason
from headworks.problem.arrays.constraints import CountRule, binds
from headworks.problem.repair.constraints import ConstraintRule
from headworks.problem.room.room import Room

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem.arrays.arrays import Arrays
    from headworks.problem.arrays.constraints import LabelRule

FURTHER = 16
"""Limits above its own that are tried for `at_most`; beyond them it is left out as a whole."""


def constraint_reason(problem: Arrays, task: int, node_of: NDArray[np.int64]) -> Reason:
    """Reason for a task that would have room, but only where hard constraints forbid it."""
    name, part, constraints = problem.task_ids[task], int(problem.component[task]), problem.constraints
    binding = [rule for rule in constraints.hard if binds(rule, part)]
    alike = np.flatnonzero((problem.component == part) & (node_of < 0)).tolist()
    for rule in binding:
        found = _relaxed(problem, rule, alike, node_of)
        if found is not None:
            limit, node = found
            where = f"{name} fits on {problem.node_ids[node]}"
            what = f"with {limit} in place of {_limit(rule)}" if limit is not None else "without this constraint"
            message = f"{name} has room only where a constraint forbids it: {rule.constraint}{_short(problem, rule)}"
            return Reason(
                code="constraint",
                subject=name,
                message=f"{message}; {what} {where}",
                resource=str(rule.constraint),
                need=1.0 if limit is None else float(limit),
                have=0.0 if limit is None else float(_limit(rule) or 0),
            )
    named = "; ".join(str(rule.constraint) for rule in binding)
    message = f"{name} has room only where constraints forbid it: {named}; to relax one is not enough"
    return Reason(code="constraint", subject=name, message=message, resource=named, need=1.0, have=0.0)


def _limit(rule: LabelRule | CountRule) -> int | None:
    counts = isinstance(rule, CountRule) and rule.kind is ConstraintKind.AT_MOST
    return rule.limit if counts and isinstance(rule, CountRule) else None


def _short(problem: Arrays, rule: LabelRule | CountRule) -> str:
    """For a set that has to be together, the resource of which the largest domain has too little."""
    if not isinstance(rule, CountRule) or rule.kind is not ConstraintKind.TOGETHER:
        return ""
    most = np.zeros((len(rule.names), len(problem.resources)))
    np.add.at(most, rule.domain, problem.capacity)
    lacking = np.flatnonzero(rule.need > most.max(axis=0, initial=0.0)).tolist()
    amounts = [f"{rule.need[at]:g} {problem.resources[at]} of {most[:, at].max():g}" for at in lacking]
    return f" (they need {', '.join(amounts)} that one {rule.constraint.scope} has)" if amounts else ""


def _relaxed(
    problem: Arrays,
    rule: LabelRule | CountRule,
    tasks: list[int],
    node_of: NDArray[np.int64],
) -> tuple[int | None, int] | None:
    """The smallest limit in place of a constraint's own, None for none, with which all of some tasks find nodes.

    Returns:
        The limit, and the node of the first task; None if it is not this constraint alone that keeps them out.
    """
    own = _limit(rule)
    limits: list[int | None] = [] if own is None else [own + more for more in range(1, min(FURTHER, len(tasks)) + 1)]
    for limit in [*limits, None]:
        room = Room(problem, (ConstraintRule(problem, problem.constraints.without(rule, limit=limit)),))
        for task in np.flatnonzero((node_of >= 0) & (problem.fixed < 0)).tolist():
            room.place(task, int(node_of[task]))
        nodes = [_place(room, task) for task in tasks]
        if nodes and min(nodes) >= 0:
            return limit, nodes[0]
    return None


def _place(room: Room, task: int) -> int:
    """Place a task on the first node that fits; its index, -1 if there is none."""
    fits = room.fits(task)
    if not fits.any():
        return -1
    room.place(task, int(fits.argmax()))
    return int(fits.argmax())
