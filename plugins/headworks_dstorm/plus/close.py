"""Placements for streams that stay in their worker, whose load no sum over pairs of tasks says.

Placements are found by pairs, judged by the work that gets done (`headworks.problem.plan.close`), and then improved by
single moves and swaps: first those that lighten the fullest node, then those that get more done. A spread of each
component is one of them.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.problem import Problem
from headworks.problem.plan.close import CloseStreams
from headworks.toolbox.repair import repair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Sources = Sequence[tuple[Floats, Floats]]
    Worth = Callable[[Sources], tuple[float, float]]

CHANGES = 60
"""Changes of one placement at most."""
TRIES = 3_000
"""Changes of one placement that are tried at most; one of 600 tasks on 30 nodes takes two milliseconds."""
DIGITS = 9
"""Digits of figures that are compared. With more, placements that are equal would differ by how sums are rounded."""
LEAST = 1e-6
"""A change that is worth less is none."""


@attrs.frozen(eq=False)
class Relief:
    """Placements that bear more, or get more done, where streams stay in their worker.

    Attributes:
        problem: The problem.
        close: What nodes get of a placement of it.
    """

    problem: Problem
    close: CloseStreams

    def spread(self, nodes: Sequence[int]) -> Ints:
        """A placement with each component spread over nodes by their CPU; -1 where a task finds no room.

        Args:
            nodes: Nodes in the order of the first fit, by which tasks find room that no spread has room for.
        """
        problem = self.problem
        room, weight = problem.room(), np.maximum(problem.capacity[:, 0], LEAST)
        for tasks in chain.from_iterable(part.tasks for part in self.close.parts):
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
        return np.array(repair(problem, room.node_of, nodes))

    def lighter(self, node_of: Ints, ended: Callable[[], bool]) -> Ints:
        """The placement after changes that each lighten the fullest node most."""
        return self._climbed(node_of, self._fullest, 1, ended)

    def busier(self, node_of: Ints, ended: Callable[[], bool]) -> Ints:
        """The placement after changes that each get more work done."""
        return self._climbed(node_of, self.close.work, self.problem.m, ended)

    def _climbed(self, node_of: Ints, worth: Worth, nodes: int, ended: Callable[[], bool]) -> Ints:
        """The placement after changes that are each worth most.

        Args:
            worth: What is least for the best placement.
            nodes: So many of the fullest nodes change; the first one that can change for the better does.
        """
        now, left = np.array(node_of), TRIES
        sources: Sources = self.close.sources(now)
        for _ in range(CHANGES):
            at = worth(sources)
            use = self.close.use(_total(sources)).max(axis=0)
            for node in np.argsort(-use, kind="stable")[:nodes].tolist():
                best: tuple[tuple[float, float], Ints] | None = None
                for tried in self._changes(now, node):
                    left -= 1
                    if ended() or left < 0:
                        return now
                    found = worth(self._changed(sources, now, tried))
                    if found < (at if best is None else best[0]) and self._fits(tried, now):
                        best = found, tried
                if best is not None and at[0] - best[0][0] >= LEAST:
                    break
            if best is None or at[0] - best[0][0] < LEAST:
                return now
            sources, now = self._changed(sources, now, best[1]), best[1]
        return now

    def _fullest(self, sources: Sources) -> tuple[float, float]:
        """Used share of the fullest node, and what goes between nodes as a share of all; rounded."""
        loads = _total(sources)
        share = float(loads[1].sum()) / max(self.problem.traffic.total, 1)
        return round(float(self.close.use(loads).max(initial=0.0)), DIGITS), round(share, DIGITS)

    def _changed(self, sources: Sources, now: Ints, tried: Ints) -> Sources:
        """Loads of another placement: those of topologies of which no task moves stay."""
        found = list(sources)
        for index in np.unique(self.problem.topology[now != tried]).tolist():
            found[index] = self.close.parts[index].by_source(tried, self.problem.m)
        return found

    def _changes(self, now: Ints, fullest: int) -> Iterator[Ints]:
        """Placements with a task of a full node elsewhere, alone or for one of there; one of each component."""
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


def _total(sources: Sources) -> Floats:
    """CPU points, units out and units in of each node, float64 (3, m)."""
    found: Floats = np.sum([loads.sum(axis=0) for _, loads in sources], axis=0)
    return found
