"""The graph of a problem, for partitioners: what vertices of tasks exchange, coarsened by heavy edges.

Coarsening follows Karypis, Kumar: A Fast and High Quality Multilevel Scheme for Partitioning Irregular Graphs (1998).
The rating of an edge is that of Sanders, Schulz (KaFFPa, 2011): its rate over the sizes of both ends.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.problem import Problem
from headworks.problem.arrays.traffic import Sparse

if TYPE_CHECKING:
    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

LARGEST = 0.5
"""Share of a node's capacity that a coarse vertex may need, so that a node holds two of them."""
MATCHINGS = 3
"""Rounds of a matching: each time those that chose each other are joined, and others choose again."""


def graph(problem: Problem, vertex: Ints | None = None) -> Graph:
    """Build the graph of a problem.

    A stream has an edge for each pair of vertices: 250,000 where 500 tasks send to 500. Take `segments` as vertices
    then.

    Args:
        vertex: Vertex of each task, int64 (n,), every number from 0 on; by default each task is one.
    """
    vertex = np.arange(problem.n) if vertex is None else vertex
    blocks, sparse = problem.traffic.blocks, problem.traffic.sparse
    rows = [np.stack([vertex[sparse.sources], vertex[sparse.indices], sparse.rate])]
    for a0, a1, b0, b1, rate in blocks:
        one, senders = np.unique(vertex[a0:a1], return_counts=True)
        two, receivers = np.unique(vertex[b0:b1], return_counts=True)
        pairs = (rate * np.outer(senders, receivers)).ravel()
        rows.append(np.stack([np.repeat(one, len(two)), np.tile(two, len(one)), pairs]))
    source, target, units = np.concatenate(rows, axis=1)
    count = int(vertex.max(initial=-1)) + 1
    edges = sparse.of(count, np.append(source, target), np.append(target, source), np.append(units, units))
    return Graph(problem=problem, vertex=vertex, edges=edges)


def segments(problem: Problem, most: int) -> Ints:
    """Vertices of several tasks: those of a component in equal runs; a task that may not move is by itself.

    Args:
        most: Tasks of a vertex, at most.

    Returns:
        Vertex of each task, int64 (n,).
    """
    width = np.bincount(problem.component)
    rank = np.arange(problem.n) - (np.cumsum(width) - width)[problem.component]
    runs = -(-width // most)
    run = rank * runs[problem.component] // width[problem.component]
    alone, first = problem.fixed >= 0, np.ones(problem.n, dtype=bool)
    same = (np.diff(problem.component) == 0) & (np.diff(run) == 0)
    first[1:] = ~same | alone[1:] | alone[:-1]
    found: Ints = np.cumsum(first) - 1
    return found


@attrs.frozen(eq=False, kw_only=True)
class Graph:
    """Vertices of v tasks or sets of tasks, and what each pair of them exchanges.

    Attributes:
        problem: The problem that it is of.
        vertex: int64 (n,), vertex of each task.
        edges: Units of traffic that vertices exchange, both ways added, as rows (CSR): `indptr` int64 (v + 1,),
            `indices` and `rate` int64 (e,). Each edge has an entry in the rows of both ends.
    """

    problem: Problem
    vertex: NDArray[np.int64]
    edges: Sparse

    def __len__(self) -> int:
        """Number of vertices."""
        return len(self.edges.indptr) - 1

    @cached_property
    def first(self) -> Ints:
        """The first task of each vertex, int64 (v,)."""
        return np.unique(self.vertex, return_index=True)[1].astype(np.int64)

    @cached_property
    def weights(self) -> Floats:
        """Need of each vertex, the sum of its tasks' demands, float64 (v, r)."""
        columns = [np.bincount(self.vertex, column, minlength=len(self)) for column in self.problem.demand.T]
        return np.stack(columns, axis=1).astype(np.float64)

    @cached_property
    def heap(self) -> Floats:
        """MB of its worker's heap that each vertex needs, float64 (v,)."""
        return np.bincount(self.vertex, self.problem.heap, minlength=len(self)).astype(np.float64)

    def coarsen(self, largest: float = LARGEST) -> Graph:
        """Join pairs of vertices that exchange most for their size; the numbers of vertices ascend with tasks.

        Vertices of different topologies are not joined, nor one that may not move.

        Args:
            largest: Share of the capacity of the largest node, and of a worker's heap, that a pair may need.
        """
        mate = self._mates(largest)
        _, group = np.unique(np.minimum(mate, np.arange(len(self))), return_inverse=True)
        group = group.reshape(-1).astype(np.int64)
        edges = self.edges
        joined = edges.of(int(group.max(initial=-1)) + 1, group[edges.sources], group[edges.indices], edges.rate)
        return Graph(problem=self.problem, vertex=group[self.vertex], edges=joined)

    def _mates(self, largest: float) -> Ints:
        """The vertex that each is joined with, itself where it stays single, int64 (v,)."""
        one, two, rating = self._ratings(largest)
        mate = np.arange(len(self))
        for _ in range(MATCHINGS):
            free = (mate[one] == one) & (mate[two] == two)
            one, two, rating = one[free], two[free], rating[free]
            if not len(one):
                break
            choice = _best(one, two, rating, len(self))
            chose = np.flatnonzero(choice >= 0)
            both = chose[choice[choice[chose]] == chose]
            mate[both] = choice[both]
        return mate

    def _ratings(self, largest: float) -> tuple[Ints, Ints, Floats]:
        """Pairs that may be joined, and the rating of each."""
        problem, one, two = self.problem, self.edges.sources, self.edges.indices
        most = problem.capacity.max(axis=0, initial=0.0) * largest
        sizes = (self.weights / np.where(most > 0, most, 1.0)).max(axis=1, initial=0.0)
        weight = np.maximum(sizes, (sizes.sum() / max(len(self), 1) or 1.0) / 8)
        topology, fixed = problem.topology[self.first], problem.fixed[self.first] >= 0
        may = ~fixed[one] & ~fixed[two] & (topology[one] == topology[two])
        may &= (self.weights[one] + self.weights[two] <= most).all(axis=1)
        may &= self.heap[one] + self.heap[two] <= problem.heap_limit[topology[one]] * largest
        rating = self.edges.rate / (weight[one] * weight[two])
        return one[may], two[may], rating[may]


def _best(one: Ints, two: Ints, rating: Floats, count: int) -> Ints:
    """Best peer of each vertex, -1 for none; of equals that of a pair with the least key, the same for both."""
    key = np.minimum(one, two) * np.int64(2654435761) % 1_000_003 + np.maximum(one, two)
    order = np.lexsort((key, -rating, one))
    first = order[np.flatnonzero(np.diff(one[order], prepend=-1))]
    found = np.full(count, -1, dtype=np.int64)
    found[one[first]] = two[first]
    return found
