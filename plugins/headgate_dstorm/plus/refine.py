"""Simulated annealing of small problems, step by step: tasks move to their peers' nodes or change places."""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from headgate_dstorm.plus.placement import Placement

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from headgate.problem import Problem

LEVELS = 32
"""Temperatures; after each the placement is noted if it is the best so far. More of them cool more smoothly."""

HOT, COLD = 0.3, 0.02
"""First and last temperature, as shares of the mean traffic of a task; a larger first one forgets the start, a larger
last one ends in a placement that further steps would still improve."""

ASTRAY = 0.1
"""Share of steps that lead to a random node of the placement, not to a peer's; a larger one wastes more steps."""


def refine(
    problem: Problem, node_of: NDArray[np.int64], *, steps: int, seed: int, ended: Callable[[], bool] = bool
) -> NDArray[np.int64]:
    """Anneal a placement; the result has no more traffic between nodes, on nodes that the placement uses.

    A step draws a task that exchanges tuples and the node of one of its peers. The task moves there if there is
    room, else it may change places with a task from there. A step that costs c units is taken with probability
    exp(-c / temperature).

    Args:
        problem: The problem.
        node_of: Where it begins, feasible; tasks at -1 stay there.
        steps: How many steps to make.
        seed: Of all that is random.
        ended: Whether to end now, with the best placement so far; asked once a temperature.
    """
    walk = _StepByStep(problem, node_of, Random(seed))
    best, least = node_of, problem.traffic.inter_node(node_of)
    if not walk.tasks or not least or len(walk.nodes) < 2:
        return best
    mean = 2.0 * problem.traffic.total / len(walk.tasks)
    traffic = least
    for level in range(LEVELS):
        traffic -= walk.go(steps // LEVELS, mean * HOT * (COLD / HOT) ** (level / (LEVELS - 1)))
        if traffic < least:
            best, least = np.array(walk.placement.node_of, dtype=np.int64), traffic
        if not least or ended():
            break
    return best


class _StepByStep:
    def __init__(self, problem: Problem, node_of: NDArray[np.int64], dice: Random) -> None:
        self.placement = Placement(problem, node_of)
        self.dice = dice
        self.nodes: list[int] = np.unique(node_of[node_of >= 0]).tolist()
        self._peers = _Peers(self.placement)
        free = (problem.fixed < 0) & (node_of >= 0)
        self.tasks = [task for task in np.flatnonzero(free).tolist() if self._peers.any(task)]

    def go(self, steps: int, heat: float) -> int:
        """Make steps at one temperature; the units that no longer cross nodes."""
        place, tasks, nodes, random = self.placement, self.tasks, self.nodes, self.dice.random
        node_of, of, draw, won = place.node_of, place.of, self._peers.draw, 0
        for _ in range(steps):
            task = tasks[int(random() * len(tasks))]
            there = nodes[int(random() * len(nodes))] if random() < ASTRAY else node_of[draw(task, random())]
            if there == node_of[task] or there < 0:
                continue
            gain = place.gain(task, there)
            if place.fits(task, there):
                if gain >= 0 or random() < math.exp(gain / heat):
                    place.move(task, there)
                    won += gain
            elif others := place.on[there]:
                other = others[int(random() * len(others))]
                if of[other] == of[task]:
                    continue
                gain += place.gain(other, node_of[task]) - 2 * place.between(task, other)
                if (gain >= 0 or random() < math.exp(gain / heat)) and place.swap(task, other):
                    won += gain
        return won


class _Peers:
    """Peers of each task, drawn by their share of its traffic."""

    def __init__(self, placement: Placement) -> None:
        self._of = placement.of
        self._near = [[placement.members[peer] for peer in rates] for rates in placement.rates]
        self._ends = [
            list(accumulate(rate * len(placement.members[peer]) for peer, rate in rates.items()))
            for rates in placement.rates
        ]

    def any(self, task: int) -> bool:
        """Whether the free task has any that is free."""
        ends = self._ends[self._of[task]]
        return bool(ends and ends[-1] > 0)

    def draw(self, task: int, share: float) -> int:
        """The peer at a share of the task's traffic, 0 <= share < 1."""
        group = self._of[task]
        ends = self._ends[group]
        units = share * ends[-1]
        number = min(bisect_right(ends, units), len(ends) - 1)
        members, before = self._near[group][number], ends[number - 1] if number else 0
        return members[min(len(members) - 1, int((units - before) / (ends[number] - before) * len(members)))]
