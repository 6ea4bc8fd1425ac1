"""Bounds on the running tasks that move: of a topology and of a node in a round, and of all topologies in a day."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.control.cut import Cut, first
from headworks.control.guards import misplaced, overload
from headworks.control.recheck import Rechecked, without
from headworks.model.scaling import rescaled
from headworks.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.model import Plan, Request

    Ints = NDArray[np.int64]

REACHED = {
    "topology": "at most {most} running tasks of topology {name} move in a round",
    "node": "at most {most} running tasks leave node {name} or come to it in a round",
    "day": "at most {most} running tasks move in 24 hours",
}
"""Words for a bound that is reached, by its name."""
LARGEST = 2000
"""Moves of a plan among which those that gain most are looked for in a round: these take two seconds."""
ALONE = "its move would do harm without those that are held back"
"""Reason of a task that the bounds would let move."""


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

    def __str__(self) -> str:
        return ",".join(f"{name}={most}" for name, most in attrs.asdict(self).items() if most is not None)


def moving(request: Request, plan: Plan) -> tuple[str, ...]:
    """Running tasks that a plan moves or takes off their slots, in the order of its moves."""
    nodes = {node.id for node in request.cluster.nodes}
    runs = {task for task, slot in request.assignment.items() if slot.node in nodes}
    return tuple(dict.fromkeys(move.task for move in plan.moves if move.task in runs))


def within(request: Request, plan: Plan, bounds: MovesPer, *, today: int, traffic_aware: bool = False) -> Rechecked:
    """The part of a plan that bounds let be carried out in this round; each other task stays, and says why.

    The moves that are missed least stay undone: without them nodes are least crowded, and the least traffic is added.
    A task whose move does harm without those stays too. Of more than `LARGEST` moves, the last ones stay undone.

    Repairs are never held back: tasks that run nowhere, tasks of an overloaded node, and all moves of a plan that takes
    nodes from a topology on purpose, or that changes numbers of tasks. If fewer tasks had a slot, nodes were more
    overloaded, or constraints were broken by more, without the moves that are held back, they are made too.

    Args:
        today: Running tasks that moved in the last 24 hours.
        traffic_aware: Whether the scheduler lessens traffic; else traffic does not choose among moves.
    """
    changes = plan.starves or rescaled(request, plan).topologies != request.topologies
    if changes or not moving(request, plan):
        return Rechecked(plan=plan)
    counted = _Counted(request, plan, bounds, today)
    held = (
        counted.first_come() if len(moving(request, plan)) > LARGEST else counted.held_back(traffic_aware=traffic_aware)
    )
    if not held:
        return Rechecked(plan=plan)
    left = without(plan, request, held)
    problem = Problem.of(request)
    after, whole = (overload(problem, problem.node_of(each.assignment)) for each in (left.plan, plan))
    repairs = len(left.plan.assignment) < len(plan.assignment) or after > whole
    repairs = repairs or misplaced(problem, left.plan.assignment) > misplaced(problem, plan.assignment)
    return Rechecked(plan=plan) if repairs else left


def enough(request: Request, plan: Plan, bounds: MovesPer, *, today: int) -> MovesPer:
    """The least numbers for the bounds that are stated with which a plan would be carried out whole in this round."""
    numbers = _Counted(request, plan, bounds, today).numbers()
    return MovesPer(**{name: max(int(each.max()), getattr(bounds, name)) for name, each in numbers.items()})


class _Counted:
    """Moves of running tasks, as the bounds count them; those that leave an overloaded node come first."""

    def __init__(self, request: Request, plan: Plan, bounds: MovesPer, today: int) -> None:
        self._problem = problem = Problem.of(request)
        over = (problem.used(problem.current) > problem.capacity).any(axis=1)
        full = {problem.node_ids[index] for index in np.flatnonzero(over).tolist()}
        self._moved = sorted(moving(request, plan), key=lambda task: request.assignment[task].node not in full)
        self._bound = np.array([request.assignment[task].node not in full for task in self._moved], dtype=bool)
        self._topologies = [task.partition("/")[0] for task in self._moved]
        self._topology = np.unique(self._topologies, return_inverse=True)[1]
        self._cut = Cut(request, plan, self._moved)
        self._bounds, self._today = bounds, today

    def numbers(self) -> dict[str, Ints]:
        """Moves that are counted with each move, by the name of a bound that is stated."""
        cut, counts = self._cut, self._cut.left.astype(np.int64)
        topology = self._topology
        by_topology, by_node = np.zeros(len(counts), dtype=np.int64), np.zeros(self._problem.m + 1, dtype=np.int64)
        comes = np.where(cut.after == cut.before, -1, cut.after)  # the last entry is for no node
        np.add.at(by_topology, topology, counts)
        np.add.at(by_node, cut.before, counts)
        np.add.at(by_node, comes, counts)
        by_node[-1] = 0
        found = {
            "topology": by_topology[topology],
            "node": np.maximum(by_node[cut.before], by_node[comes]),
            "day": np.full(len(counts), self._today + counts.sum()),
        }
        return {name: each for name, each in found.items() if getattr(self._bounds, name) is not None}

    def first_come(self) -> dict[str, str]:
        """Tasks that stay if those before them go, each with the reason; linear in the moves."""
        held, done = dict[str, str](), Counter[tuple[str, str]]({("day", ""): self._today})
        ids = self._problem.node_ids
        for move, task in enumerate(self._moved):
            before, after = int(self._cut.before[move]), int(self._cut.after[move])
            counted = [("day", ""), ("topology", self._topologies[move])]
            counted += [("node", ids[node]) for node in sorted({before, after} - {-1})]
            why = next((said for kind, name in counted if (said := self._full(kind, name, done[kind, name]))), "")
            if why and self._bound[move]:
                held[task] = why
            else:
                done.update(counted)
        return held

    def _full(self, kind: str, name: str, done: int) -> str:
        """The bound that is reached by moves that are made, in words, "" if it is not."""
        most: int | None = getattr(self._bounds, kind)
        return "" if most is None or done < most else REACHED[kind].format(most=most, name=name)

    def held_back(self, *, traffic_aware: bool) -> dict[str, str]:
        """Tasks that stay, each with the reason."""
        cut, held = self._cut, dict[str, str]()
        while True:
            beyond = {name: each > getattr(self._bounds, name) for name, each in self.numbers().items()}
            broken = np.sum(list(beyond.values()), axis=0)
            costs = cut.costs() * traffic_aware
            move = first(cut.left & self._bound & (broken > 0), cut.crowds(), costs, -broken)
            if move is None:
                break
            held[self._moved[move]] = self._reached(next(name for name, each in beyond.items() if each[move]), move)
            cut.take_out(move)
        while held and traffic_aware and (move := cut.harmful(self._bound)) is not None:
            held[self._moved[move]] = ALONE
            cut.take_out(move)
        return {task: held[task] for task in self._moved if task in held}

    def _reached(self, bound: str, move: int) -> str:
        """A bound that is reached, in words."""
        most, cut = getattr(self._bounds, bound), self._cut
        at = int(cut.before[move])
        if np.count_nonzero(cut.left & ((cut.before == at) | (cut.after == at))) <= most:
            at = int(cut.after[move])
        name = self._topologies[move] if bound == "topology" else self._problem.node_ids[at]
        return REACHED[bound].format(most=most, name=name)
