"""Annealing of large placements: many changes are weighed at once, and those on different nodes are made at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headgate_dstorm.plus.crowd import Crowd

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from headgate.problem import Problem
    from headgate_dstorm.groups import Groups
    from headgate_dstorm.plus.crowd import Floats, Ints

LEVELS = 32
"""Temperatures; after each the placement is noted if it is the best so far. More of them cool more smoothly."""

HOT, COLD = 0.3, 0.02
"""First and last temperature, as shares of the traffic that a task can have on its node; a larger first one forgets the
start, a larger last one ends in a placement that further steps would still improve."""

ASTRAY = 0.02
"""Share of steps that lead to a random node of the placement, not to a peer's; a larger one wastes more steps."""

FEWEST, MOST = 512, 1024
"""Steps weighed at once: two for each node within these bounds, so that few of them meet on a node."""

CELLS = 2**24
"""Pairs of a node and a group up to which a placement is kept as arrays; 2**24 of them take 128 MB."""


def suits(problem: Problem, groups: Groups) -> bool:
    """Whether the arrays are small enough."""
    return problem.m * (groups.count + 1) <= CELLS


def anneal(
    problem: Problem, groups: Groups, node_of: Ints, *, steps: int, seed: int, ended: Callable[[], bool] = bool
) -> Ints:
    """Anneal a placement; the result has no more traffic between nodes, on nodes that the placement uses.

    A step draws a task that exchanges tuples and the node of one of its peers. The task moves there if there is
    room, else it may change places with a task from there. A step that costs c units is taken with probability
    exp(-c / heat), where the heat is a share of what such a task can have on its node: streams of any rate and width
    are sorted out at the same time.

    Args:
        problem: The problem.
        groups: Its groups, nothing of them taken.
        node_of: Where it begins, feasible; tasks at -1 stay there.
        steps: How many steps to make, about.
        seed: Of all that is random.
        ended: Whether to end now, with the best placement so far.
    """
    walk = _ManyAtOnce(problem, groups, node_of, seed, ended)
    best, least = node_of, problem.traffic.inter_node(node_of)
    if not len(walk.tasks) or not least or len(walk.nodes) < 2:
        return best
    for level in range(LEVELS):
        walk.go(steps // LEVELS, HOT * (COLD / HOT) ** (level / (LEVELS - 1)))
        traffic = problem.traffic.inter_node(walk.crowd.node_of)
        if traffic < least:
            best, least = walk.crowd.node_of.copy(), traffic
        if not least or ended():
            break
    return best


class _ManyAtOnce:
    def __init__(self, problem: Problem, groups: Groups, node_of: Ints, seed: int, ended: Callable[[], bool]) -> None:
        self._ended = ended
        self.crowd = Crowd(problem, groups, node_of)
        self.nodes = np.unique(node_of[node_of >= 0])
        self._dice = np.random.Generator(np.random.PCG64(seed))
        self._of = groups.of
        self._size = np.array([len(left) for left in groups.left], dtype=np.int64)
        self._reach = self._reaches()
        self.tasks = self.crowd.tasks[self._reach[groups.of[self.crowd.tasks]] > 0]
        members = [task for left in groups.left for task in left]
        self._members, self._first = np.array(members, dtype=np.int64), np.cumsum(self._size) - self._size
        exchange = self.crowd.exchange
        self._weight = np.cumsum(exchange.rate * self._size[exchange.peer])
        self._ends = np.append(0.0, self._weight)[exchange.start]

    def _reaches(self) -> Floats:
        """Units that a task of each group exchanges with its best peers, as many as share a node on average."""
        exchange = self.crowd.exchange
        room = max(1.0, (self.crowd.node_of >= 0).sum() / max(1, len(self.nodes)))
        reach = np.zeros(len(self._size) + 1)
        for group, (start, stop) in enumerate(zip(exchange.start[:-2], exchange.start[1:-1], strict=True)):
            order = start + np.argsort(-exchange.rate[start:stop], kind="stable")
            near = np.minimum(np.cumsum(self._size[exchange.peer[order]]), room)
            reach[group] = exchange.rate[order] @ np.diff(near, prepend=0.0)
        return reach

    def go(self, steps: int, temperature: float) -> None:
        """Make steps at one temperature."""
        heat = self._reach * temperature
        width = min(MOST, max(FEWEST, 2 * len(self.nodes)), max(1, steps))
        for _ in range(steps // width):
            if self._ended():
                break
            self._step(width, heat)

    def _step(self, width: int, heat: Floats) -> None:
        """Weigh as many changes as the width says, and make those that are taken."""
        crowd, of = self.crowd, self._of
        share = self._dice.random((4, width))
        task = self.tasks[_draw(share[0], len(self.tasks))]
        there = self._targets(task, share[1], share[2])
        keep = (there >= 0) & (there != crowd.node_of[task])
        task, there, share = task[keep], there[keep], share[:, keep]
        luck = self._dice.standard_exponential(len(task))
        fits = crowd.fits(task, there)
        gain, most = crowd.gain(task, there), heat[of[task]]
        other = np.full(len(task), -1, dtype=np.int64)
        swaps = np.flatnonzero(~fits & (crowd.count[there] > 0))
        one, two = task[swaps], crowd.on[there[swaps], _draw(share[3, swaps], crowd.count[there[swaps]])]
        other[swaps] = two
        gain[swaps] += crowd.gain(two, crowd.node_of[one]) - crowd.twice(one, two)
        cold = heat[of[two]]
        most[swaps] = np.where(cold > 0, np.minimum(most[swaps], cold), most[swaps])
        fits[swaps] = (of[one] != of[two]) & crowd.fit_changed(one, two)
        taken = np.flatnonzero(fits & (gain >= -luck * most))
        taken = taken[crowd.apart(task[taken], there[taken])]
        crowd.change(task[taken], there[taken], other[taken])

    def _targets(self, task: Ints, peer: Floats, astray: Floats) -> Ints:
        """The node of a peer of each task, drawn by its share of the task's traffic; now and then any node."""
        group, exchange = self._of[task], self.crowd.exchange
        begin, end = self._ends[group], self._ends[group + 1]
        entry = np.searchsorted(self._weight, begin + peer * (end - begin), side="right")
        near = exchange.peer[np.minimum(entry, exchange.start[group + 1] - 1)]
        lost = astray < ASTRAY
        member = (astray - ASTRAY) / (1.0 - ASTRAY)
        member = self._members[self._first[near] + _draw(np.where(lost, 0.0, member), self._size[near])]
        found: Ints = np.where(
            lost, self.nodes[_draw(np.where(lost, astray / ASTRAY, 0.0), len(self.nodes))], self.crowd.node_of[member]
        )
        return found


def _draw(share: Floats, count: int | NDArray[np.int64]) -> Ints:
    """Numbers below a count, at shares 0 <= share < 1 of it."""
    found: Ints = np.minimum((share * count).astype(np.int64), np.asarray(count) - 1)
    return found
