"""Gains of migrations: C[e, n] is the traffic of executor e with all executors on node n.

Eq. 4 and 5 follow from it, for any number of nodes: AS = 2 C[e, n] - (all traffic of e), and ASC of a move from n0 to n
is C[e, n] - C[e, n0]: by so much falls the traffic between nodes. All numbers are integers, in units of the problem.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem import Problem

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

CELLS = 4_000_000
"""Numbers of C that are computed together."""


class Gains:
    """C of executors with nodes under one deployment, computed when asked for."""

    def __init__(self, problem: Problem, node_of: Ints) -> None:
        """Count once for every uniform stream how many of its executors each node has."""
        self._problem = problem
        self.node_of = node_of
        self._flows = problem.traffic.symmetric
        blocks = problem.traffic.blocks
        sides = zip(*(getattr(blocks, name).tolist() for name in ("source_start", "source_stop")), strict=True)
        others = zip(*(getattr(blocks, name).tolist() for name in ("target_start", "target_stop")), strict=True)
        pairs = list(zip(sides, others, blocks.rate.tolist(), strict=True))
        self._streams = [*pairs, *((b, a, rate) for a, b, rate in pairs)]
        self._counts = {other: self._count(*other) for _, other, _ in self._streams}

    def _count(self, start: int, stop: int) -> Ints:
        nodes = self.node_of[start:stop]
        return np.bincount(nodes[nodes >= 0], minlength=self._problem.m).astype(np.int64)

    def rows(self, executors: Ints) -> Ints:
        """C of some executors, ascending, shape (k, m)."""
        made = np.zeros((len(executors), self._problem.m), dtype=np.int64)
        for (start, stop), other, rate in self._streams:
            first, last = np.searchsorted(executors, (start, stop))
            made[first:last] += rate * self._counts[other]
            both = np.arange(*np.searchsorted(executors, (max(start, other[0]), min(stop, other[1]))))
            at = self.node_of[executors[both]]
            made[both[at >= 0], at[at >= 0]] -= rate  # an executor sends nothing to itself
        for row, executor in enumerate(executors.tolist()) if len(self._flows.rate) else ():
            span = slice(*self._flows.indptr[executor : executor + 2])
            nodes = self.node_of[self._flows.indices[span]]
            np.add.at(made[row], nodes[nodes >= 0], self._flows.rate[span][nodes >= 0])
        return made

    def best(self, executors: Ints, allowed: Bools) -> tuple[Ints, Ints]:
        """For each executor what it gains at its best allowed node, and that node; at least one is allowed.

        Args:
            executors: Executors, ascending, int64 (k,).
            allowed: Nodes that they may go to, bool (m,).
        """
        step = max(1, CELLS // max(self._problem.m, 1))
        parts = [self._best(executors[at : at + step], allowed) for at in range(0, len(executors), step)]
        gains, nodes = (np.concatenate(each) for each in zip(*parts, strict=True))
        return gains, nodes

    def _best(self, executors: Ints, allowed: Bools) -> tuple[Ints, Ints]:
        table = self.rows(executors)
        # Eq. 5: ASC = C[e, n] - C[e, n0], n0 being where the executor runs
        own = table[np.arange(len(executors)), self.node_of[executors]]
        nodes = np.flatnonzero(allowed)
        at = table[:, nodes].argmax(axis=1)
        return table[np.arange(len(executors)), nodes[at]] - own, nodes[at]
