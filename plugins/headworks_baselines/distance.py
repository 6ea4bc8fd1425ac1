"""R-Storm's node choice: the node nearest to the task in the space of resources and network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks_baselines.start import counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks.problem.room.room import Room
    from headworks_baselines.rules import Racks

SAME_RACK, OTHER_RACK = 0.5, 1.0
"""Network distance to another node, as in Storm 1.x: larger ones keep a topology on fewer nodes, at the price of nodes
that fit its tasks less well."""


class Distance:
    """Least Euclidean distance over CPU, memory and network, among the nodes with room (R-Storm, Algorithm 4).

    For CPU and memory the distance is (need - free) / (free + 1), which makes amounts of different units alike
    (as in Storm 1.x, the form that its authors contributed); for the network it is the distance from the
    reference node: 0, `SAME_RACK` or `OTHER_RACK`. The reference node is the one that took the last task. At first
    it is the node with most tasks of the topology, else the richest node of the richest rack (memory and CPU
    free). R-Storm holds memory alone for a hard limit; here every resource is one. Ties go to the lower index.
    """

    def __init__(self, problem: Problem, room: Room, topology: int, racks: Racks) -> None:
        self._demand = problem.demand
        self._room = room
        self._rack = racks.rack
        self._reference = self._first(counts(problem, room, topology))
        self._network = self._from_reference()

    def choose(self, task: int) -> int:
        """Choose the nearest node; see `NodeSelection`."""
        fits = self._room.fits(task)
        if not fits.any():
            return -1
        free = np.maximum(self._room.free[:, :2], 0.0)
        # Algorithm 4: squared distance over memory, CPU and network; squares order nodes as their roots do
        gap = (self._demand[task, :2] - free) / (free + 1.0)
        distance = gap[:, 0] ** 2 + gap[:, 1] ** 2 + self._network
        distance[~fits] = np.inf
        node = int(distance.argmin())
        if node != self._reference:  # the node that took a task is the reference of the next one
            self._reference = node
            self._network = self._from_reference()
        return node

    def _first(self, count: NDArray[np.int64]) -> int:
        if count.any():
            return int(count.argmax())
        free = self._room.free[:, :2].sum(axis=1)
        rack = int(np.bincount(self._rack, weights=free).argmax()) if len(free) else -1
        return int(np.where(self._rack == rack, free, -np.inf).argmax()) if len(free) else -1

    def _from_reference(self) -> NDArray[np.float64]:
        """Square of the network distance of each node, float64 (m,)."""
        if self._reference < 0:
            return np.zeros(0)
        away = np.where(self._rack == self._rack[self._reference], SAME_RACK, OTHER_RACK) ** 2
        away[self._reference] = 0.0
        return away
