"""Simulated annealing of small problems: many Markov chains side by side, which may overload nodes at a price.

Where nodes, slots and heaps are nearly full, no single change leads from one feasible placement to a better one. So a
chain may pass through placements that exceed what nodes have: each unit of excess has a price, another one in each
chain, from less than a task's traffic to several times as much. All chains make a step together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks_dstorm.plus.node_costs import NodeCosts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks_dstorm.plus.links import LoadLimits
    from headworks_dstorm.plus.node_costs import Flags, Floats, Ints

__all__ = ["CHAINS", "anneal_chains"]

CHAINS = 64
"""Chains side by side. With more, a step takes longer; with fewer, more steps are needed to find as much."""

HOT, COLD = 1.0, 0.02
"""First and last temperature, as shares of the traffic that a task can have on its node: at the first one a chain
forgets where it began, at the last one hardly any step makes a placement worse."""

CHEAP, DEAR = 0.3, 6.0
"""Least and largest price of excess, as multiples of the traffic that a mean task can have on its node. Below the first
one chains end in placements that no node holds, above the last one they never leave those that fit."""

KINDS = (0.45, 0.75, 0.9)
"""Shares of the steps, added up, in which a task moves, changes places with one of the other node, or all tasks of its
topology on its node move with it; in the others, they change places with those of a topology there."""

ASTRAY = 0.4
"""Share of steps that lead to a random node, used or not, instead of a peer's; with fewer, nodes are seldom opened."""

VAIN, MOST = 2, 8
"""Annealings in vain after which the search ends, and annealings at all; more find a little more now and then."""


def anneal_chains(
    problem: Problem,
    starts: Sequence[NDArray[np.int64]],
    *,
    node_cost: float | Floats,
    limits: LoadLimits | None = None,
    steps: int,
    seed: int,
    ended: Callable[[], bool] = bool,
) -> NDArray[np.int64] | None:
    """Search for a placement of all tasks with least traffic between nodes, from some placements, whole or not.

    It is annealed again, from what was found, until `VAIN` annealings in a row find nothing better.

    Args:
        problem: The problem, small enough for `NodeCosts.of`.
        starts: Node index of each task, int64 (n,), -1 for a task without one; at least one.
        node_cost: Units of traffic that a node in use counts as; one, or one of each node, float64 (m,).
        limits: Loads that what crosses nodes is not to exceed.
        steps: Steps of each chain in an annealing.
        seed: Of all that is random.
        ended: Whether to end now, with the best placement so far.

    Returns:
        Node index of each task, int64 (n,), of the best placement found in which nodes hold what is there; None if none
        was found, or the problem is not small.
    """
    costs = NodeCosts.of(problem, limits)
    if costs is None or not costs.movable.any() or not len(costs.nodes) or _overfull(problem):
        return None
    best, least, vain = None, np.inf, 0
    for number in range(MOST if steps else 0):
        dice = np.random.Generator(np.random.PCG64([seed, number]))
        chains = _Chains(problem, costs, [*starts] if best is None else [best, *starts], node_cost, dice)
        if best is None:
            best, least = chains.cheapest()
        found, cost = chains.cool(steps, ended)
        vain = 0 if cost < least else vain + 1
        if cost < least:
            best, least = found, cost
        if vain >= VAIN or best is None or ended():
            break
    return best


class _Chains:
    """Placements, one for each of c chains, and what each of their nodes weighs.

    Attributes:
        at: int64 (c, n), node of each task, -1 for one that cannot be placed.
        local: float64 (c, m), units of traffic within each node.
        excess: float64 (c, m), what exceeds each node.
        used: bool (c, m), nodes in use.
    """

    def __init__(
        self,
        problem: Problem,
        costs: NodeCosts,
        starts: Sequence[Ints],
        node_cost: float | Floats,
        dice: np.random.Generator,
    ) -> None:
        self._costs, self._node_cost, self._dice = costs, np.zeros(problem.m) + node_cost, dice
        self._tasks = np.flatnonzero(costs.movable)
        self._topology = problem.topology
        self._sums = np.cumsum(costs.rates, axis=1)
        self._reach = _reach(problem, costs)
        self._rows = np.arange(CHAINS)
        self.at = np.stack([self._whole(starts[row % len(starts)]) for row in range(CHAINS)])
        self._weigh_all(problem.m)
        mean = float(self._reach[self._tasks].mean())
        self._price = max(mean, float(self._node_cost.max()), 1.0) * np.geomspace(CHEAP, DEAR, CHAINS)

    def _whole(self, start: Ints) -> Ints:
        """A start with the tasks that have no node on random ones."""
        lost = np.flatnonzero((start < 0) & self._costs.movable)
        whole = start.copy()
        whole[lost] = self._dice.choice(self._costs.nodes, len(lost))
        return whole

    def _weigh_all(self, m: int) -> None:
        self.local, self.excess = np.zeros((CHAINS, m)), np.zeros((CHAINS, m))
        self.used = np.zeros((CHAINS, m), dtype=bool)
        for node in range(m):
            sets = self.at == node
            self.used[:, node] = sets.any(axis=1)
            weighed = self._costs.weigh(sets.astype(np.float64), np.full(CHAINS, node))
            self.local[:, node], self.excess[:, node] = weighed

    def cool(self, steps: int, ended: Callable[[], bool]) -> tuple[Ints | None, float]:
        """Cool all chains down: the best placement without excess, None if there was none, and its cost.

        Args:
            steps: Steps of each chain.
            ended: Whether to end now.
        """
        best, least = None, np.inf
        for number in range(steps):
            if ended():
                break
            self._step(HOT * (COLD / HOT) ** (number / steps))
            found, cost = self.cheapest(least)
            if cost < least:
                best, least = found, cost
        return best, least

    def cheapest(self, least: float = np.inf) -> tuple[Ints | None, float]:
        """The placement without excess that costs least, and what it costs; None if none costs less than `least`."""
        fits = np.flatnonzero(~self.excess.any(axis=1))
        cost = self.used[fits] @ self._node_cost - self.local[fits].sum(axis=1)
        if not len(fits) or cost.min() >= least:
            return None, np.inf
        return self.at[fits[cost.argmin()]].copy(), float(cost.min())

    def _step(self, temperature: float) -> None:
        """Weigh a change of each chain, and make those that are taken."""
        rows = self._rows
        shares = self._dice.random((6, CHAINS))
        task = self._tasks[_draw(shares[0], len(self._tasks))]
        here = self.at[rows, task]
        there = self._target(task, here, shares[1:4])
        leaves, comes = self._exchanged(task, here, there, shares[4], shares[5])
        mine, theirs = self.at == here[:, None], self.at == there[:, None]
        sets = np.concatenate([(mine & ~leaves) | comes, (theirs & ~comes) | leaves])
        local, excess = (
            each.reshape(2, -1) for each in self._costs.weigh(sets.astype(np.float64), np.concatenate([here, there]))
        )
        used = sets.any(axis=1).reshape(2, -1)
        both = (self.local, self.excess, self.used)
        won, more = (
            new.sum(axis=0) - old[rows, here] - old[rows, there]
            for new, old in zip((local, excess), both[:2], strict=True)
        )
        opened = [new * 1.0 - self.used[rows, node] for new, node in zip(used, (here, there), strict=True)]
        nodes = self._node_cost[here] * opened[0] + self._node_cost[there] * opened[1]
        cost = nodes - won + self._price * more
        # Metropolis: u < exp(-cost / heat) for a uniform u is cost < heat * e for an exponential e
        heat = temperature * self._reach[task] * self._dice.standard_exponential(CHAINS)
        made = np.flatnonzero((cost <= heat) & (here != there))
        self.at[made] = np.where(
            leaves[made], there[made, None], np.where(comes[made], here[made, None], self.at[made])
        )
        for new, old in zip((local, excess, used), both, strict=True):
            old[made, here[made]], old[made, there[made]] = new[0, made], new[1, made]

    def _target(self, task: Ints, here: Ints, shares: Floats) -> Ints:
        """The node of a peer, drawn by its share of the task's traffic, or any node."""
        sums, nodes = self._sums[task], self._costs.nodes
        peer = np.minimum((sums <= (shares[0] * sums[:, -1])[:, None]).sum(axis=1), len(self._topology) - 1)
        found = self.at[self._rows, peer]
        any_node = nodes[_draw(shares[1], len(nodes))]
        astray = (shares[2] < ASTRAY) | (sums[:, -1] <= 0) | (found == here) | ~np.isin(found, nodes)
        return np.where(astray, any_node, found)

    def _exchanged(self, task: Ints, here: Ints, there: Ints, kind: Floats, share: Floats) -> tuple[Flags, Flags]:
        """Tasks that go there, and those that come here instead, bool (c, n) each; see `KINDS`."""
        rows, movable, topology = self._rows, self._costs.movable, self._topology
        number = np.searchsorted(KINDS, kind, side="right")[:, None]
        one = np.zeros(self.at.shape, dtype=bool)
        one[rows, task] = True
        together = (self.at == here[:, None]) & movable & (topology == topology[task][:, None])
        others = (self.at == there[:, None]) & movable
        count = others.sum(axis=1)
        rank = np.cumsum(others, axis=1) > _draw(share, np.maximum(count, 1))[:, None]
        other = rank.argmax(axis=1)
        single = np.zeros(self.at.shape, dtype=bool)
        single[rows, other] = count > 0
        group = others & (topology == topology[other][:, None])
        return np.where(number >= 2, together, one), np.where(number == 1, single, (number == 3) & group)


def _overfull(problem: Problem) -> bool:
    """Check whether all nodes together have less than all tasks need: no placement is whole."""
    return bool((problem.demand.sum(axis=0) > problem.capacity.sum(axis=0)).any())


def _reach(problem: Problem, costs: NodeCosts) -> Floats:
    """Traffic of each task with its best peers, twice as many as there are tasks for a node, float64 (n,)."""
    peers = 2 * -(-problem.n // max(1, min(len(costs.nodes), problem.m)))
    found: Floats = -np.sort(-costs.rates, axis=1)[:, :peers].sum(axis=1)
    return found


def _draw(share: Floats, count: int | Ints) -> Ints:
    """Random numbers below a count."""
    found: Ints = np.minimum((share * count).astype(np.int64), np.asarray(count) - 1)
    return found
