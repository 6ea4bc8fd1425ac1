"""What executors exchange with nodes: C[e, n], the traffic of executor e with all executors on node n.

Eq. 4 and 5 follow from it, for any number of nodes: AS = 2 C[e, n] - (all traffic of e), and ASC of a move from n0 to n
is C[e, n] - C[e, n0]: by so much falls the traffic between nodes. All numbers are integers, in units of the problem.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate.problem import Problem

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

CELLS = 4_000_000
"""Numbers that are computed at a time where no table is kept."""


class FreshGains:
    """Computes C when asked; for a single decision, however large."""

    def __init__(self, problem: Problem, node_of: Ints) -> None:
        """Count once for every uniform stream how many of its executors each node has."""
        self._problem = problem
        self._node_of = node_of
        self._flows = problem.traffic.symmetric
        blocks = problem.traffic.blocks
        sides = zip(*(getattr(blocks, name).tolist() for name in ("source_start", "source_stop")), strict=True)
        others = zip(*(getattr(blocks, name).tolist() for name in ("target_start", "target_stop")), strict=True)
        pairs = list(zip(sides, others, blocks.rate.tolist(), strict=True))
        self._streams = [*pairs, *((b, a, rate) for a, b, rate in pairs)]
        self._counts = {other: self._count(*other) for _, other, _ in self._streams}

    def _count(self, start: int, stop: int) -> Ints:
        nodes = self._node_of[start:stop]
        return np.bincount(nodes[nodes >= 0], minlength=self._problem.m).astype(np.int64)

    def rows(self, executors: Ints) -> Ints:
        """C of some executors, ascending, shape (k, m)."""
        made = np.zeros((len(executors), self._problem.m), dtype=np.int64)
        for (start, stop), other, rate in self._streams:
            first, last = np.searchsorted(executors, (start, stop))
            made[first:last] += rate * self._counts[other]
            both = np.arange(*np.searchsorted(executors, (max(start, other[0]), min(stop, other[1]))))
            at = self._node_of[executors[both]]
            made[both[at >= 0], at[at >= 0]] -= rate  # an executor sends nothing to itself
        for row, executor in enumerate(executors.tolist()) if len(self._flows.rate) else ():
            span = slice(*self._flows.indptr[executor : executor + 2])
            nodes = self._node_of[self._flows.indices[span]]
            np.add.at(made[row], nodes[nodes >= 0], self._flows.rate[span][nodes >= 0])
        return made

    def best(self, executors: Ints, allowed: Bools) -> tuple[Ints, Ints]:
        """For each executor what it gains at its best allowed node, and that node; at least one is allowed."""
        step = max(1, CELLS // max(self._problem.m, 1))
        parts = [self._best(executors[at : at + step], allowed) for at in range(0, len(executors), step)]
        gains, nodes = (np.concatenate(each) for each in zip(*parts, strict=True))
        return gains, nodes

    def _best(self, executors: Ints, allowed: Bools) -> tuple[Ints, Ints]:
        table = self.rows(executors)
        own = table[np.arange(len(executors)), self._node_of[executors]]
        nodes = np.flatnonzero(allowed)
        at = table[:, nodes].argmax(axis=1)
        return table[np.arange(len(executors)), nodes[at]] - own, nodes[at]


class GainTable:
    """Keeps C, and for every executor its best allowed node, while executors move one by one.

    When the best node of an executor becomes worse or is no target any more, the executor is only marked: its gain is
    then an upper bound, and its row is looked through when the bound is the highest of all.
    """

    def __init__(self, problem: Problem, node_of: Ints, allowed: Bools) -> None:
        """Compute all of C: int64 (n, m). Every executor is on a node."""
        self._problem = problem
        self._node_of = node_of.copy()
        self._allowed = allowed.copy()
        self._flows = problem.traffic.symmetric
        everyone = np.arange(problem.n)
        self.table = FreshGains(problem, node_of).rows(everyone)
        self._own = self.table[everyone, node_of]
        self._value = np.full(problem.n, -1, dtype=np.int64)
        self._node = np.full(problem.n, -1, dtype=np.int64)
        self._stale = np.zeros(problem.n, dtype=bool)
        self._closed = int((~allowed).sum())
        self._ranges = _ranges(problem)
        step = max(1, CELLS // max(problem.m, 1))
        for at in range(0, problem.n, step):
            self._look(everyone[at : at + step])

    def rows(self, executors: Ints) -> Ints:
        """C of some executors, shape (k, m)."""
        found: Ints = self.table[executors]
        return found

    def bounds(self) -> Ints:
        """What every executor gains at its best allowed node, or more: int64 (n,), a new array."""
        found: Ints = self._value - self._own
        return found

    def is_bound(self, executor: int) -> bool:
        """Whether the gain of an executor in `bounds` may be too high."""
        return bool(self._stale[executor])

    def settle(self, gains: Ints, executor: int) -> None:
        """Put the true gain of an executor in place of its bound, and of all others whose bound is as high."""
        some = np.flatnonzero(self._stale & (gains >= gains[executor]))
        self._look(some)
        gains[some] = self._value[some] - self._own[some]

    def _look(self, executors: Ints) -> None:
        """Look through rows for the best allowed node; without one the value is -1, below any."""
        part = self.table[executors]
        if self._closed:
            part[:, ~self._allowed] = -1
        at = part.argmax(axis=1)
        self._value[executors], self._node[executors] = part[np.arange(len(executors)), at], at
        self._stale[executors] = False

    def best_node(self, executor: int) -> int:
        """The best allowed node of an executor whose gain is no mere bound; ties go to the lowest."""
        return int(self._node[executor])

    def move(self, executor: int, node: int) -> None:
        """An executor goes to a node: C of all that talk to it changes in two columns."""
        old = int(self._node_of[executor])
        self._node_of[executor] = node
        span = slice(*self._flows.indptr[executor : executor + 2].tolist())
        if span.stop > span.start:
            self._shift(self._flows.indices[span], self._flows.rate[span], old, node)
        for mine, start, stop, rate in self._ranges[int(self._problem.component[executor])]:
            if executor in mine:
                others = np.arange(start, stop)
                self._shift(others[others != executor], rate, old, node)
        self._own[executor] = self.table[executor, node]

    def allow(self, node: int, *, allowed: bool) -> None:
        """A node becomes a target, or ceases to be one."""
        if bool(self._allowed[node]) == allowed:
            return
        self._allowed[node] = allowed
        self._closed += -1 if allowed else 1
        if allowed:
            self._offer(np.arange(self._problem.n), self.table[:, node], node)
        else:
            self._stale |= self._node == node

    def _shift(self, others: Ints, rate: Ints | int, old: int, new: int) -> None:
        """Traffic with some executors, each once, now goes to `new` instead of to `old`."""
        flat, first = self.table.reshape(-1), others * self.table.shape[1]
        flat[first + old] -= rate
        raised = flat[first + new] + rate
        flat[first + new] = raised
        at = self._node_of[others]
        self._own[others] += rate * ((at == new).astype(np.int64) - (at == old))
        self._stale[others] |= self._node[others] == old
        if self._allowed[new]:
            self._offer(others, raised, new)

    def _offer(self, others: Ints, value: Ints, node: int) -> None:
        """Let a node be the best of those for whom it is; what is a bound stays one unless the node exceeds it."""
        known = self._value[others]
        best = self._node[others]
        better = (value > known) | ((value == known) & (node <= best) & ~self._stale[others])
        hits = others[better]
        self._value[hits], self._node[hits], self._stale[hits] = value[better], node, False


def _ranges(problem: Problem) -> list[list[tuple[range, int, int, int]]]:
    """For each component its uniform streams: which executors, with whom (from, to), and the rate of a pair."""
    blocks = problem.traffic.blocks
    found: list[list[tuple[range, int, int, int]]] = [[] for _ in problem.components]
    for a0, a1, b0, b1, rate in zip(
        *(getattr(blocks, name).tolist() for name in ("source_start", "source_stop", "target_start", "target_stop")),
        blocks.rate.tolist(),
        strict=True,
    ):
        found[int(problem.component[a0])].append((range(a0, a1), b0, b1, rate))
        found[int(problem.component[b0])].append((range(b0, b1), a0, a1, rate))
    return found
