"""Simulated annealing of a placement: many changes are weighed at once, and those on different nodes made at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks_dstorm.plus.exchange import draw
from headworks_dstorm.plus.links import DEAR
from headworks_dstorm.plus.state import AnnealingState

if TYPE_CHECKING:
    from collections.abc import Callable

    from headworks.problem import Problem
    from headworks_dstorm.plus.exchange import Exchange, Floats, Ints
    from headworks_dstorm.plus.links import LoadLimits

HOT, COLD = 0.3, 0.02
"""First and last temperature, as shares of the traffic that a task can have on its node; a larger first one forgets the
start, a larger last one ends in a placement that further steps would still improve."""

ASTRAY = 0.1
"""Share of steps that lead to a random node of the placement, not to a peer's; a larger one wastes more steps."""

POWER = 0.5
"""Tasks are drawn by this power of the traffic that they can have on a node: in production clusters a hundredth of the
tasks has half of all traffic. With 0 most steps go to tasks that hardly count, with 1 nearly none to the others."""

FEWEST, FOR_A_NODE, MOST = 16, 4, 1024
"""Steps weighed at once: so many for each node, within bounds. The more there are, the more of them are in vain, for of
those that touch one node one is made; the fewer, the longer the same number of steps takes."""


def anneal(
    problem: Problem,
    exchange: Exchange,
    node_of: Ints,
    *,
    steps: int,
    seed: int,
    node_cost: float | Floats = 0,
    limits: LoadLimits | None = None,
    hot: float = HOT,
    ended: Callable[[], bool] = bool,
) -> Ints:
    """Anneal a placement; the result costs no more, in traffic between nodes and nodes in use.

    A step draws a task that exchanges tuples and the node of one of its peers. The task moves there if there is
    room, else it may change places with a task from there. A step that costs c units is taken with probability
    exp(-c / heat), where the heat is a share of what such a task can have on its node: streams of any rate and width
    are sorted out at the same time.

    Args:
        problem: The problem.
        exchange: Units that pairs of its tasks exchange.
        node_of: Where it begins, feasible, int64 (n,); tasks at -1 stay there.
        steps: How many steps to make, about.
        seed: Of all that is random.
        node_cost: Units of traffic that a node in use counts as, whole numbers; one, or one of each node, (m,).
        limits: Loads that what crosses nodes is not to exceed; a unit beyond counts as `links.DEAR` of traffic.
        hot: First temperature; with a low one what is good about the start stays.
        ended: Whether to end now, with the best placement so far.

    Returns:
        Node index of each task, int64 (n,), -1 where it was -1.
    """
    cold = COLD * min(hot / HOT * 2, 1.0)
    walk = _Walk(AnnealingState(problem, exchange, node_of, limits), seed, node_cost)
    best = node_of
    least = cost = walk.cost()
    if not len(walk.tasks) or len(walk.nodes) < 2 or not steps:
        return best
    width = min(max(FEWEST, FOR_A_NODE * len(walk.nodes)), MOST, steps)
    rounds = steps // width
    for done in range(rounds):
        if not least or ended():
            break
        # from hot to cold in equal ratios; what was won is exact, so that the cost is never counted anew
        cost -= walk.step(width, hot * (cold / hot) ** (done / rounds))
        if cost < least:
            best, least = walk.state.node_of.copy(), cost
    return best


class _Walk:
    """Random changes of a placement.

    Attributes:
        nodes: int64, nodes that the placement uses, and those with slots where a task may be worth a node.
        tasks: int64, tasks that may move and exchange tuples.
    """

    def __init__(self, state: AnnealingState, seed: int, node_cost: float | Floats) -> None:
        self.state, self._node_cost = state, np.zeros(state.problem.m) + node_cost
        used = np.flatnonzero(state.held > 0)
        # as many peers as tasks share a node on average: more of its traffic a task cannot have there
        self._reach = state.exchange.best(max(1.0, float(state.held.sum()) / max(1, len(used))))
        opens = self._reach.max(initial=0.0) > self._node_cost.min(initial=np.inf)
        self.nodes = np.flatnonzero((state.held > 0) | (state.problem.slots > 0)) if opens else used
        self.tasks = state.tasks[self._reach[state.tasks] > 0]
        self._sums = np.cumsum(self._reach[self.tasks] ** POWER)
        self._dice = np.random.Generator(np.random.PCG64(seed))

    def cost(self) -> int:
        """Units of traffic that the placement costs."""
        state, links = self.state, self.state.links
        nodes = int(self._node_cost[state.held > 0].sum())
        beyond = 0 if links is None else DEAR * links.excess()
        return state.problem.traffic.inter_node(state.node_of) + nodes + beyond

    def step(self, width: int, temperature: float) -> int:
        """Weigh changes and make those that are taken.

        Args:
            width: Number of changes to weigh.
            temperature: Share of what a task can have on its node that a step may cost, on average.

        Returns:
            Units that no longer cross nodes, and those of nodes that are in use no longer.
        """
        state = self.state
        shares = self._dice.random((5, width))
        at = np.searchsorted(self._sums, shares[0] * self._sums[-1], side="right")
        task = self.tasks[np.minimum(at, len(self.tasks) - 1)]
        there = self._targets(task, shares[1], shares[2])
        keep = np.flatnonzero((there >= 0) & (there != state.node_of[task]))
        task, there, share, coin = task[keep], there[keep], shares[3, keep], shares[4, keep]
        fits, gain, reach = state.fits(task, there), state.gain(task, there), self._reach[task]
        here = state.node_of[task]
        nodes = self._node_cost[here] * (state.held[here] == 1) - self._node_cost[there] * (state.held[there] == 0)
        other = np.full(len(task), -1, dtype=np.int64)
        # where there is no room a task from there may come here; where heap limits may leave none, every other time
        swaps = np.flatnonzero(~(fits & (state.plenty(there) | (coin < 0.5))) & (state.count[there] > 0))
        one, two = task[swaps], state.on[there[swaps], draw(share[swaps], state.count[there[swaps]])]
        other[swaps] = two
        nodes[swaps] = 0.0
        gain[swaps] += state.gain(two, state.node_of[one])  # and less what both count
        # the heat is that of the one with less traffic, unless it has none
        theirs = self._reach[two]
        reach[swaps] = np.where(theirs > 0, np.minimum(reach[swaps], theirs), reach[swaps])
        gain += nodes
        if state.links is not None:
            gain += DEAR * state.links.relief(task, there, other)
        # Metropolis: u < exp(gain / heat) for a uniform u is gain > -heat * e for an exponential e
        least = -temperature * reach * self._dice.standard_exponential(len(task))
        fits[swaps] = gain[swaps] >= least[swaps]  # few are: the others need not be looked at
        some = swaps[fits[swaps]]
        one, two = task[some], other[some]
        gain[some] -= state.twice(one, two)
        fits[some] = state.fit_swapped(one, two) & ~state.exchange.alike(one, two)
        taken = np.flatnonzero(fits & (gain >= least))
        taken = taken[state.apart(task[taken], there[taken])]
        made = state.change(task[taken], there[taken], other[taken])
        return int(gain[taken[made]].sum())

    def _targets(self, task: Ints, share: Floats, astray: Floats) -> Ints:
        """The node of a peer of each task, now and then any node of the placement."""
        member = np.maximum(astray - ASTRAY, 0.0) / (1.0 - ASTRAY)
        found: Ints = self.state.node_of[self.state.exchange.peer(task, share, member)]
        lost = np.flatnonzero(astray < ASTRAY)
        found[lost] = self.nodes[draw(astray[lost] / ASTRAY, len(self.nodes))]
        return found
