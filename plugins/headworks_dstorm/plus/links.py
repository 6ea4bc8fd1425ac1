"""Loads of nodes by what crosses them in an annealing: what leaves each node and comes to it, and what is too much."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from headworks.problem import Problem
    from headworks_dstorm.plus.exchange import Floats, Ints
    from headworks_dstorm.plus.state import AnnealingState

DEAR = 4
"""Units between nodes that a unit beyond the limit of a node counts as. With less, nodes stay overloaded that need not
be; with more, the annealing stays where it begins."""


@attrs.frozen(eq=False)
class LoadLimits:
    """Loads of nodes that are not to be exceeded by what crosses them.

    Attributes:
        links: float64 (m,), units that each node may send, and as many that it may receive; inf where that is unknown.
        cpu: float64 (m,), CPU points that tasks and transfers may take.
        transfer: float64 (2,), points of a unit that leaves a node, and of one that comes to it; 0 where unknown.
    """

    links: NDArray[np.float64]
    cpu: NDArray[np.float64]
    transfer: NDArray[np.float64]

    @classmethod
    def of(cls, problem: Problem) -> LoadLimits | None:
        """The limits of a problem, None where what crosses nodes has none."""
        if not problem.is_load_bounded:
            return None
        return cls(problem.link_limit, problem.capacity[:, 0], problem.transfer)

    def times(self, level: float) -> LoadLimits:
        """All limits multiplied."""
        return attrs.evolve(self, links=self.links * level, cpu=self.cpu * level)

    def beyond(self, links: Floats, points: Floats, node: Ints) -> Floats:
        """Whole units beyond the limits of nodes, in sum over all of these, float64 (c,).

        Args:
            links: Units out of each node and in, float64 (2, c).
            points: CPU points that its tasks take, float64 (c,).
            node: The nodes, int64 (c,).
        """
        found: Floats = np.maximum(links - np.floor(self.links[node]), 0.0).sum(axis=0)
        if self.transfer.any():
            over = np.maximum(points + self.transfer @ links - self.cpu[node], 0.0)
            found += np.floor(over / self.transfer.max())
        return found


class LinkLoads:
    """What leaves each node and comes to it, kept by every change; all in whole units.

    A node sends what its tasks send, less what stays on it. So a change needs no more than what a task exchanges with
    the tasks of two nodes, whatever the direction.

    Attributes:
        loads: float64 (2, m), units out of each node, and in.
    """

    def __init__(self, state: AnnealingState, limits: LoadLimits) -> None:
        traffic = state.problem.traffic
        self._state, self._limits = state, limits
        self.loads: Floats = traffic.links(state.node_of, state.problem.m).astype(np.float64)
        # of no task, at the end, which stands for the task that does not come back
        self._of_tasks = np.append(traffic.of_tasks, [[0], [0]], axis=1).astype(np.float64)
        self._points = np.append(state.problem.demand[:, 0], 0.0)

    def excess(self) -> int:
        """Units beyond the limits, in sum over nodes and both ways."""
        every = np.arange(self._state.problem.m)
        return int(self._limits.beyond(self.loads, self._taken(every), every).sum())

    def relief(self, task: Ints, there: Ints, other: Ints) -> Floats:
        """Units beyond the limits less than now, float64 (c,), for each change by itself.

        Args:
            task: Task of each change, int64 (c,).
            there: Node that it moves to, int64 (c,).
            other: Task that comes back in its place, -1 for none, int64 (c,).
        """
        here, beyond = self._state.node_of[task], self._limits.beyond
        left, come = self._after(task, there, other)
        moved = self._points[task] - self._points[other]
        at, to = self._taken(here), self._taken(there)
        now = beyond(self.loads[:, here], at, here) + beyond(self.loads[:, there], to, there)
        return now - beyond(left, at - moved, here) - beyond(come, to + moved, there)

    def change(self, task: Ints, there: Ints, other: Ints) -> None:
        """Note changes on different nodes, before they are made."""
        here = self._state.node_of[task]
        self.loads[:, here], self.loads[:, there] = self._after(task, there, other)

    def _taken(self, node: Ints) -> Floats:
        """CPU points that tasks take on nodes."""
        state = self._state
        taken: Floats = state.problem.capacity[node, 0] - state.free[node, 0]
        return taken

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
