"""Annealing: tasks go where their traffic is, or change places with a task there."""

from __future__ import annotations

import math
from bisect import bisect_right
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from headgate_dstorm.placement import Placement

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate.problem import Problem

LEVELS = 32
"""Temperatures; after each the placement is noted if it is the best so far."""

HOT, COLD = 0.5, 0.005
"""The first and the last temperature, as shares of what a task exchanges on average."""

ASTRAY = 0.1
"""Share of steps that lead to any node of the placement, not to a peer's."""


def refine(problem: Problem, node_of: NDArray[np.int64], *, steps: int, seed: int) -> NDArray[np.int64]:
    """Anneal a placement; the result has no more traffic between nodes, on nodes that the placement uses.

    A step draws a task that exchanges tuples and the node of one of its peers. The task moves there if there is
    room, else it may change places with a task from there. A step that costs c units is taken with probability
    exp(-c / temperature).

    Args:
        problem: The problem.
        node_of: Where it begins, feasible; tasks at -1 stay there.
        steps: How many steps to make.
        seed: Of all that is random.
    """
    walk = _Walk(problem, node_of, Random(seed))
    best, least = node_of, problem.traffic.inter_node(node_of)
    if not walk.tasks or not least or len(walk.nodes) < 2:
        return best
    mean = 2.0 * problem.traffic.total / len(walk.tasks)
    for level in range(LEVELS):
        heat = mean * HOT * (COLD / HOT) ** (level / (LEVELS - 1))
        walk.go(steps // LEVELS, heat)
        found = np.array(walk.placement.node_of, dtype=np.int64)
        traffic = problem.traffic.inter_node(found)
        if traffic < least:
            best, least = found, traffic
        if not least:
            break
    return best


class _Walk:
    def __init__(self, problem: Problem, node_of: NDArray[np.int64], dice: Random) -> None:
        self.placement = Placement(problem, node_of)
        self.dice = dice
        self.nodes: list[int] = np.unique(node_of[node_of >= 0]).tolist()
        self._peers = _Peers(problem, self.placement)
        free = (problem.fixed < 0) & (node_of >= 0)
        self.tasks = [task for task in np.flatnonzero(free).tolist() if self._peers.any(task)]

    def go(self, steps: int, heat: float) -> None:
        """Make steps at one temperature."""
        place, tasks, nodes, random = self.placement, self.tasks, self.nodes, self.dice.random
        node_of, draw = place.node_of, self._peers.draw
        for _ in range(steps):
            task = tasks[int(random() * len(tasks))]
            here = node_of[task]
            there = nodes[int(random() * len(nodes))] if random() < ASTRAY else node_of[draw(task, random())]
            if there == here or there < 0:
                continue
            gain = place.pull(task, there) - place.pull(task, here)
            if place.fits(task, there):
                if gain >= 0 or random() < math.exp(gain / heat):
                    place.move(task, there)
            elif others := place.on[there]:
                other = others[int(random() * len(others))]
                gain += place.pull(other, here) - place.pull(other, there) - 2 * place.between(task, other)
                if gain >= 0 or random() < math.exp(gain / heat):
                    place.swap(task, other)


class _Peers:
    """Peers of each task, drawn by their share of its traffic."""

    def __init__(self, problem: Problem, placement: Placement) -> None:
        self._segment, self._flows = placement.segment, placement.flows
        starts = np.searchsorted(self._segment, np.arange(len(placement.exchange))).tolist()
        stops = [*starts[1:], problem.n]
        self._spans = [
            [(starts[peer], stops[peer] - starts[peer]) for peer, _ in peers] for peers in placement.exchange
        ]
        weights = [[rate * (stops[peer] - starts[peer]) for peer, rate in peers] for peers in placement.exchange]
        self._uniform = [np.cumsum(each).tolist() for each in weights]
        self._single = {task: np.cumsum([rate for _, rate in flows]).tolist() for task, flows in self._flows.items()}

    def any(self, task: int) -> bool:
        """Whether the task has any."""
        uniform = self._uniform[self._segment[task]]
        return task in self._single or bool(uniform and uniform[-1] > 0)

    def draw(self, task: int, share: float) -> int:
        """The peer at a share of the task's traffic, 0 <= share < 1."""
        segment = self._segment[task]
        uniform, single = self._uniform[segment], self._single.get(task)
        at = uniform[-1] if uniform else 0.0
        units = share * (at + (single[-1] if single else 0.0))
        if single and units >= at:
            return self._flows[task][min(bisect_right(single, units - at), len(single) - 1)][0]
        number = min(bisect_right(uniform, units), len(uniform) - 1)
        start, width = self._spans[segment][number]
        before = uniform[number - 1] if number else 0.0
        return int(start + min(width - 1, int((units - before) / (uniform[number] - before) * width)))
