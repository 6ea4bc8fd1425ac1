"""Placements for streams that stay in their worker, whose load no sum over pairs of tasks says.

Placements are found by pairs, judged by the work that gets done (`headworks.problem.plan.close`), and then improved by
single moves and swaps that lighten the fullest node. A spread of each component is one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.problem import Problem
from headworks.problem.plan.close import CloseStreams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

CHANGES = 60
"""Changes of one placement at most; each takes one try for every pair of nodes and components."""
DIGITS = 9
"""Digits of figures that are compared. With more, placements that are equal would differ by how sums are rounded."""
LEAST = 1e-6
"""A change that lightens the fullest node by less is none."""


@attrs.frozen(eq=False)
class Relief:
    """Placements that bear more where streams stay in their worker.

    Attributes:
        problem: The problem.
        close: What nodes get of a placement of it.
    """

    problem: Problem
    close: CloseStreams

    def spread(self) -> Ints:
        """A placement with each component spread over nodes by their CPU; -1 where a task finds no room."""
        problem = self.problem
        room, weight = problem.room(), np.maximum(problem.capacity[:, 0], LEAST)
        for part in self.close.parts:
            for tasks in part.tasks:
                count = np.zeros(problem.m)
                for task in range(tasks.start, tasks.stop):
                    if room.node_of[task] >= 0:
                        continue
                    fits = np.flatnonzero(room.fits(task))
                    if len(fits):
                        rank = np.lexsort((-room.free[fits, 0] / weight[fits], (count[fits] + 1) / weight[fits]))
                        node = int(fits[rank[0]])
                        room.place(task, node)
                        count[node] += 1
        return np.array(room.node_of)

    def improved(self, node_of: Ints, ended: Callable[[], bool]) -> Ints:
        """The placement after changes that each lighten the fullest node most, or leave it and save traffic."""
        now = np.array(node_of)
        loads = self.close.loads(now)
        for _ in range(CHANGES):
            best: tuple[tuple[float, float], Ints] | None = None
            total = loads.sum(axis=0)
            at = self._worth(total)
            for tried in self._changes(now, int(self.close.use(total).max(axis=0).argmax())):
                if ended():
                    return now
                worth = self._worth(self._changed(loads, now, tried).sum(axis=0))
                if worth < (at if best is None else best[0]) and self._fits(tried, now):
                    best = worth, tried
            if best is None or best[0][0] > at[0] - LEAST:
                return now
            loads, now = self._changed(loads, now, best[1]), best[1]
        return now

    def _worth(self, loads: Floats) -> tuple[float, float]:
        """Used share of the fullest node, and what goes between nodes as a share of all; rounded."""
        share = float(loads[1].sum()) / max(self.problem.traffic.total, 1)
        return round(float(self.close.use(loads).max(initial=0.0)), DIGITS), round(share, DIGITS)

    def _changed(self, loads: Floats, now: Ints, tried: Ints) -> Floats:
        """Loads of another placement: those of topologies of which no task moves stay."""
        found = loads.copy()
        for index in np.unique(self.problem.topology[now != tried]).tolist():
            found[index] = self.close.parts[index].loads(tried, self.problem.m)
        return found

    def _changes(self, now: Ints, fullest: int) -> Iterator[Ints]:
        """Placements with a task of the fullest node elsewhere, alone or for one of there; one of each component."""
        free = self.problem.fixed < 0
        by_node = [self._kinds(np.flatnonzero((now == node) & free)) for node in range(self.problem.m)]
        for task in by_node[fullest]:
            for node, others in enumerate(by_node):
                if node == fullest:
                    continue
                moved = now.copy()
                moved[task] = node
                yield moved
                for other in others:
                    if self.problem.component[other] != self.problem.component[task]:
                        swapped = moved.copy()
                        swapped[other] = fullest
                        yield swapped

    def _kinds(self, tasks: Ints) -> list[int]:
        """One task of each component."""
        _, first = np.unique(self.problem.component[tasks], return_index=True)
        return [int(each) for each in tasks[first]]

    def _fits(self, tried: Ints, now: Ints) -> bool:
        problem = self.problem
        nodes = np.unique(tried[tried != now])
        over = problem.used(tried)[nodes] > problem.capacity[nodes]
        return not over.any() and not problem.breaks(tried)
