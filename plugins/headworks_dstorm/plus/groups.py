"""Moves of groups: all tasks of a topology on a node, or those of one of its components, go to another node together.

Single tasks gather there only by way of placements that are worse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks.problem.arrays.workers import Workers
from headworks_dstorm.plus.state import AnnealingState

if TYPE_CHECKING:
    from collections.abc import Callable

    from headworks.problem import Problem
    from headworks_dstorm.plus.exchange import Exchange, Floats, Ints

WHOLE, NEAR = 0.5, 0.6
"""Shares of the steps in which a group is of a topology, not of a component, and goes to a node that its topology uses
already, not to any."""

NOBODY = np.array([-1])


def regroup(
    problem: Problem,
    exchange: Exchange,
    node_of: Ints,
    *,
    steps: int,
    seed: int,
    node_cost: float | Floats = 0,
    ended: Callable[[], bool] = bool,
) -> Ints:
    """Move groups as long as that wins traffic or nodes; where there is no room, a group from there comes back.

    Constraints and heap limits are those of single tasks: a problem with any is left as it is.

    Args:
        problem: The problem.
        exchange: Units that pairs of its tasks exchange.
        node_of: Where it begins, feasible, int64 (n,); tasks at -1 stay there.
        steps: Changes to weigh.
        seed: Of all that is random.
        node_cost: Units of traffic that a node in use counts as; one, or one of each node, float64 (m,).
        ended: Whether to end now, with what was won.

    Returns:
        Node index of each task, int64 (n,), of a placement that costs no more.
    """
    if problem.constraints or not Workers(problem).plain:
        return node_of
    groups = _Groups(AnnealingState(problem, exchange, node_of), seed, node_cost)
    for _ in range(steps if len(groups.state.tasks) else 0):
        if ended():
            break
        groups.step()
    return groups.state.node_of


class _Groups:
    """Random changes of a placement by groups, of which those that win are made."""

    def __init__(self, state: AnnealingState, seed: int, node_cost: float | Floats) -> None:
        self.state, self._node_cost = state, np.zeros(state.problem.m) + node_cost
        self._dice = np.random.Generator(np.random.PCG64(seed))
        self._first = np.searchsorted(state.problem.topology, np.arange(len(state.problem.topology_ids) + 1))

    def step(self) -> None:
        """Weigh a change, and make it if it wins."""
        state, task = self.state, self._pick(self.state.tasks)
        here = int(state.node_of[task])
        group, there = self._group(task), self._target(task, here)
        if there == here or not state.problem.slots[there]:
            return
        back = group[:0] if self._has_room(group, there) else self._back(group, here, there)
        if back is not None and self._gain(group, back, here, there) > 0:
            for tasks, node in ((group, there), (back, here)):
                for each in tasks.tolist():
                    state.change(np.array([each]), np.array([node]), NOBODY)

    def _pick(self, tasks: Ints) -> int:
        return int(tasks[int(self._dice.random() * len(tasks))])

    def _group(self, task: int) -> Ints:
        """The free tasks on a task's node that are of its topology, or of its component."""
        state, node = self.state, int(self.state.node_of[task])
        kind = state.problem.topology if self._dice.random() < WHOLE else state.problem.component
        here = state.on[node, : state.count[node]]
        group: Ints = here[kind[here] == kind[task]]
        return group

    def _target(self, task: int, here: int) -> int:
        topology = int(self.state.problem.topology[task])
        near = np.unique(self.state.node_of[self._first[topology] : self._first[topology + 1]])
        near = near[(near >= 0) & (near != here)]
        if len(near) and self._dice.random() < NEAR:
            return self._pick(near)
        return int(self._dice.random() * self.state.problem.m)

    def _has_room(self, group: Ints, there: int) -> bool:
        """Check whether a node has the capacity for a group, and a slot or a worker of its topology."""
        state = self.state
        need, topology = state.problem.demand[group].sum(axis=0), state.problem.topology[group[0]]
        slot = state.of_topology[there, topology] > 0 or state.slots_left[there] > 0
        return bool(slot and (need <= state.free[there]).all())

    def _back(self, group: Ints, here: int, there: int) -> Ints | None:
        """A group that may come back in the place of one, None if there is no room for that."""
        state, demand = self.state, self.state.problem.demand
        if not state.count[there]:
            return None
        back = self._group(self._pick(state.on[there, : state.count[there]]))
        need, gives = demand[group].sum(axis=0), demand[back].sum(axis=0)
        room = (need <= state.free[there] + gives).all() and (gives <= state.free[here] + need).all()
        return back if room and self._slots_suffice(group, back, here, there) else None

    def _slots_suffice(self, group: Ints, back: Ints, here: int, there: int) -> bool:
        state, topology = self.state, self.state.problem.topology
        for comes, node in ((group, there), (back, here)):
            if not state.of_topology[node, topology[comes[0]]] and state.slots_left[node] <= 0:
                return False
        return True

    def _gain(self, group: Ints, back: Ints, here: int, there: int) -> float:
        """Units that no longer cross nodes, and those of nodes that are in use no longer."""
        state = self.state
        gain = -2.0 * self._between(group, back)
        for tasks, node in ((group, there), (back, here)):
            # what tasks of a group exchange stays on one node, though each by itself would leave it
            gain += float(state.gain(tasks, np.full(len(tasks), node)).sum()) + self._between(tasks, tasks)
        if not len(back):
            gain += float(self._node_cost[here] * (state.held[here] == len(group)))
            gain -= float(self._node_cost[there] * (state.held[there] == 0))
        return gain

    def _between(self, some: Ints, others: Ints) -> float:
        """Units that tasks of two groups exchange, those of one group counted for each of both ends."""
        one, other = np.repeat(some, len(others)), np.tile(others, len(some))
        different = one != other
        return float(self.state.exchange.between(one[different], other[different]).sum())
