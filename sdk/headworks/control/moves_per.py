"""Bounds on the running tasks that move: of a topology and of a node in a round, and of all topologies in a day."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.control.guards import misplaced, overload
from headworks.control.recheck import Rechecked, without
from headworks.model.scaling import rescaled
from headworks.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headworks.model import Plan, Request

REACHED = {
    "topology": "at most {most} running tasks of topology {name} move in a round",
    "node": "at most {most} running tasks leave node {name} or come to it in a round",
    "day": "at most {most} running tasks move in 24 hours",
}
"""Words for a bound that is reached, by its name."""


@attrs.frozen(kw_only=True)
class MovesPer:
    """Most running tasks that move, None for any number.

    Attributes:
        topology: Of one topology in a round.
        node: From one node, or to it, in a round.
        day: In 24 hours.
    """

    topology: int | None = None
    node: int | None = None
    day: int | None = None

    @classmethod
    def parse(cls, text: str) -> MovesPer:
        """Read `topology=2,node=4,day=20`.

        Raises:
            ValueError: A name is unknown or comes twice, or a number is none or below 0.
        """
        pairs = [each.partition("=") for each in text.split(",")]
        bounds = {name.strip(): int(number) for name, _, number in pairs}
        if len(bounds) < len(pairs) or not bounds.keys() <= REACHED.keys() or min(bounds.values()) < 0:
            raise ValueError(f"{text!r} bounds no moves")
        return cls(**bounds)


def moving(request: Request, plan: Plan) -> tuple[str, ...]:
    """Running tasks that a plan moves or takes off their slots, in the order of its moves."""
    nodes = {node.id for node in request.cluster.nodes}
    runs = {task for task, slot in request.assignment.items() if slot.node in nodes}
    return tuple(dict.fromkeys(move.task for move in plan.moves if move.task in runs))


def within(request: Request, plan: Plan, bounds: MovesPer, *, today: int) -> Rechecked:
    """The part of a plan that bounds let be carried out in this round; each other task stays, and says why.

    Repairs are never held back: tasks that run nowhere, tasks of an overloaded node, and all moves of a plan that takes
    nodes from a topology on purpose, or that changes numbers of tasks. If fewer tasks had a slot, nodes were more
    overloaded, or constraints were broken by more, without the moves that are held back, they are made too.

    Args:
        today: Running tasks that moved in the last 24 hours.
    """
    if plan.starves or rescaled(request, plan).topologies != request.topologies:
        return Rechecked(plan=plan)
    held = dict(_held_back(request, plan, bounds, today))
    if not held:
        return Rechecked(plan=plan)
    left = without(plan, request, held)
    problem = Problem.of(request)
    after, whole = (overload(problem, problem.node_of(each.assignment)) for each in (left.plan, plan))
    repairs = len(left.plan.assignment) < len(plan.assignment) or after > whole
    repairs = repairs or misplaced(problem, left.plan.assignment) > misplaced(problem, plan.assignment)
    return Rechecked(plan=plan) if repairs else left


def _held_back(request: Request, plan: Plan, bounds: MovesPer, today: int) -> Iterator[tuple[str, str]]:
    """Tasks beyond the bounds, each with the reason; those that leave an overloaded node go first."""
    problem = Problem.of(request)
    over = (problem.used(problem.current) > problem.capacity).any(axis=1)
    full = {problem.node_ids[index] for index in np.flatnonzero(over).tolist()}
    tasks = sorted(moving(request, plan), key=lambda task: request.assignment[task].node not in full)
    moved: Counter[tuple[str, str]] = Counter({("day", ""): today})
    for task in tasks:
        slots = (request.assignment[task], plan.assignment.get(task))
        counted = [("day", ""), ("topology", task.partition("/")[0])]
        counted += [("node", node) for node in sorted({slot.node for slot in slots if slot is not None})]
        why = next((said for kind, name in counted if (said := _reached(bounds, kind, name, moved[kind, name]))), "")
        if why and slots[0].node not in full:
            yield task, why
        else:
            moved.update(counted)


def _reached(bounds: MovesPer, kind: str, name: str, moved: int) -> str:
    """The bound that is reached, in words, "" if it is not."""
    most: int | None = getattr(bounds, kind)
    return "" if most is None or moved < most else REACHED[kind].format(most=most, name=name)
