"""Loads of the nodes' networks in an annealing: what leaves each node and comes to it, and what is too much."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from headworks_dstorm.plus.exchange import Floats, Ints
    from headworks_dstorm.plus.state import AnnealingState

DEAR = 4
"""Units between nodes that a unit beyond the limit of a link counts as. With less, links stay overloaded that need not
be; with more, the annealing stays where it begins."""


class LinkLoads:
    """What leaves each node and comes to it, kept by every change; all in whole units.

    A node sends what its tasks send, less what stays on it. So a change needs no more than what a task exchanges with
    the tasks of two nodes, whatever the direction.

    Attributes:
        loads: float64 (2, m), units out of each node, and in.
        limit: float64 (m,), units that each node may send, and as many that it may receive; inf where that is unknown.
    """

    def __init__(self, state: AnnealingState, limit: Floats) -> None:
        traffic = state.problem.traffic
        self._state, self.limit = state, np.floor(limit)
        self.loads: Floats = traffic.links(state.node_of, state.problem.m).astype(np.float64)
        # of no task, at the end, which stands for the task that does not come back
        self._of_tasks = np.append(traffic.of_tasks, [[0], [0]], axis=1).astype(np.float64)

    def excess(self) -> int:
        """Units beyond the limits, in sum over nodes and both ways."""
        return int(np.maximum(self.loads - self.limit, 0.0).sum())

    def relief(self, task: Ints, there: Ints, other: Ints) -> Floats:
        """Units beyond the limits less than now, float64 (c,), for each change by itself.

        Args:
            task: Task of each change, int64 (c,).
            there: Node that it moves to, int64 (c,).
            other: Task that comes back in its place, -1 for none, int64 (c,).
        """
        here = self._state.node_of[task]
        left, come = self._after(task, there, other)
        now = self._over(self.loads[:, here], here) + self._over(self.loads[:, there], there)
        return now - self._over(left, here) - self._over(come, there)

    def change(self, task: Ints, there: Ints, other: Ints) -> None:
        """Note changes on different nodes, before they are made."""
        here = self._state.node_of[task]
        self.loads[:, here], self.loads[:, there] = self._after(task, there, other)

    def _over(self, loads: Floats, node: Ints) -> Floats:
        found: Floats = np.maximum(loads - self.limit[node], 0.0).sum(axis=0)
        return found

    def _after(self, task: Ints, there: Ints, other: Ints) -> tuple[Floats, Floats]:
        """Loads of the node that each task leaves, and of the one that it comes to, float64 (2, c) each."""
        state, here = self._state, self._state.node_of[task]
        back = np.flatnonzero(other >= 0)
        left, come = state.near(task, here), state.near(task, there)
        # what the two exchange stays between nodes, and is counted by `near` as if it did not
        left[back] += state.exchange.between(task[back], other[back]) - state.near(other[back], here[back])
        come[back] -= state.near(other[back], there[back]) + state.exchange.between(task[back], other[back])
        moved = self._of_tasks[:, task] - self._of_tasks[:, other]
        return self.loads[:, here] - moved + left, self.loads[:, there] + moved - come
