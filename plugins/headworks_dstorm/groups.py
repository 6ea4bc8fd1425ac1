"""Groups of tasks that Algorithm 1 cannot tell apart, and what a task exchanges with each group."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem import Problem

    GroupRow = tuple[NDArray[np.int64], NDArray[np.float64]]


CELLS = 2**21
"""Rates between groups that are kept at once, 8 bytes each: 16 MB."""


class Groups:
    """Free tasks in G groups: successive ones with one topology, one demand, one heap and the same streams.

    A task with flows of its own (sparse traffic) is a group of one. All members of a group have the same room and the
    same priority, so that the lowest index comes first; groups are numbered in the order of their tasks. Index G
    stands for no group: fixed tasks have it, and arrays have an entry for it.

    Attributes:
        count: G.
        of: int64 (n,), group of each task.
        heads: First member of each group.
        left: For each group its unplaced members, the lowest last.
        waiting: bool (G + 1,), whether any member is unplaced.
        demand: float64 (r, G + 1), demand of one member.
        needs: The same as lists, for each group its r amounts.
        heap: float64 (G + 1,), MB of worker heap of one member.
        topology: int64 (G + 1,), topology of each group, t for no group.
        opens: bool (G + 1,), whether a new worker may hold a member.
        rho2: float64 (G + 1,), rho2 of Eq. 5.5: units that one member exchanges with unplaced tasks.
    """

    def __init__(self, problem: Problem) -> None:
        free = np.flatnonzero(problem.fixed < 0)
        streams = Streams(problem)
        starts = _starts(problem, free, streams)
        heads = free[starts]
        self.count = len(starts)
        self.heads: list[int] = heads.tolist()
        self.waiting = np.arange(self.count + 1) < self.count
        self.of = np.full(problem.n, self.count, dtype=np.int64)
        self.of[free] = np.repeat(np.arange(self.count), np.diff(starts, append=len(free)))
        self.left: list[list[int]] = [part[::-1].tolist() for part in np.split(free, starts[1:])] if len(free) else []
        self.demand = np.pad(problem.demand[heads].T.copy(), ((0, 0), (0, 1)))  # a row in one piece is read faster
        self.needs: list[list[float]] = problem.demand[heads].tolist()
        self.heap = np.append(problem.heap[heads], 0.0)
        self.topology = np.append(problem.topology[heads], len(problem.heap_limit))
        self.opens = np.append(problem.heap[heads] <= problem.heap_limit[problem.topology[heads]], False)
        self.rho2 = np.append(streams.waiting(problem, heads), 0.0)
        self._segment: list[int] = streams.segment.tolist()
        self._uniform: list[GroupRow] = streams.rows(self)
        flows = problem.traffic.symmetric
        self._peers: NDArray[np.int64] = self.of[flows.indices]
        self._rates = flows.rate.astype(np.float64)
        self._indptr: list[int] = flows.indptr.tolist()
        self._rows: dict[int, NDArray[np.float64]] = {}

    def peers(self, task: int) -> GroupRow:
        """Groups that a task exchanges tuples with, each once, and units with *one* member of each."""
        uniform = self._uniform[self._segment[task]]
        span = slice(self._indptr[task], self._indptr[task + 1])
        if span.start == span.stop:
            return uniform
        flows: GroupRow = self._peers[span], self._rates[span]
        return _merged(uniform, flows) if len(uniform[0]) else flows

    def peers_of(self, group: int) -> GroupRow:
        """Groups that one member of a group exchanges tuples with, and units, as `peers`."""
        return self.peers(self.heads[group])

    def exchange(self, group: int, others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Units that a task of a group exchanges with one of each of some groups, float64 (k,).

        Args:
            group: The group.
            others: The other groups, int64 (k,).
        """
        row = self._rows.get(group)
        if row is None:
            if len(self._rows) * self.count > CELLS:
                self._rows.clear()
            row = self._rows[group] = np.zeros(self.count + 1)
            peers, rates = self.peers_of(group)
            row[peers] = rates
        found: NDArray[np.float64] = row[others]
        return found


class Streams:
    """Uniform streams between segments: ranges of tasks that no stream divides.

    Two segments exchange a rate that is the same for every pair of their tasks, so that a stream between two
    components of any width is one number.
    """

    def __init__(self, problem: Problem) -> None:
        blocks = problem.traffic.blocks
        ends = (blocks.source_start, blocks.source_stop, blocks.target_start, blocks.target_stop)
        cuts = np.unique(np.concatenate([np.zeros(1, dtype=np.int64), *ends]))
        self.segment: NDArray[np.int64] = np.searchsorted(cuts, np.arange(problem.n), side="right") - 1
        self.rates: list[dict[int, int]] = [defaultdict(int) for _ in cuts]
        a0, a1, b0, b1 = (np.searchsorted(cuts, end).tolist() for end in ends)
        for number, rate in enumerate(blocks.rate.tolist()):
            for source in range(a0[number], a1[number]):
                for target in range(b0[number], b1[number]):
                    self.rates[source][target] += rate
                    self.rates[target][source] += rate

    def rows(self, groups: Groups) -> list[GroupRow]:
        """For each segment, the groups that its tasks exchange with, and the rate with one member."""
        pairs = np.unique(np.stack([self.segment, groups.of]), axis=1)
        pairs = pairs[:, pairs[1] < groups.count]
        members = [pairs[1, pairs[0] == segment] for segment in range(len(self.rates))]
        return [_row(peers, members) for peers in self.rates]

    def waiting(self, problem: Problem, tasks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Units that each of some free tasks exchanges with free tasks.

        Args:
            problem: The request as arrays.
            tasks: Index of each task asked for, int64 (k,).
        """
        free = problem.fixed < 0
        counts = np.bincount(self.segment[free], minlength=len(self.rates)).tolist()
        uniform = np.array(
            [
                sum(rate * (counts[peer] - (peer == own)) for peer, rate in peers.items())
                for own, peers in enumerate(self.rates)
            ]
        )
        flows = problem.traffic.symmetric
        single = np.bincount(flows.sources, weights=flows.rate * free[flows.indices], minlength=problem.n)
        waiting: NDArray[np.float64] = uniform[self.segment[tasks]] + single[tasks]
        return waiting


def _starts(problem: Problem, free: NDArray[np.int64], streams: Streams) -> NDArray[np.int64]:
    """Positions among the free tasks at which a group starts: each that differs from the one before."""
    flows = np.diff(problem.traffic.symmetric.indptr)[free] > 0
    differs = np.append(np.ones(min(1, len(free)), dtype=bool), flows[1:] | flows[:-1])
    keys = (streams.segment, problem.topology, problem.heap, *problem.demand.T)
    if problem.constraints:  # these bind components
        keys += (problem.component,)
    for key in keys:
        differs[1:] |= key[free][1:] != key[free][:-1]
    return np.flatnonzero(differs)


def _row(peers: dict[int, int], members: list[NDArray[np.int64]]) -> GroupRow:
    groups = [members[peer] for peer in peers]
    rates = [np.full(len(members[peer]), float(rate)) for peer, rate in peers.items()]
    return np.concatenate([np.zeros(0, dtype=np.int64), *groups]), np.concatenate([np.zeros(0), *rates])


def _merged(*rows: GroupRow) -> GroupRow:
    groups, inverse = np.unique(np.concatenate([groups for groups, _ in rows]), return_inverse=True)
    rates = np.zeros(len(groups))
    np.add.at(rates, inverse.reshape(-1), np.concatenate([rates for _, rates in rows]))
    return groups, rates
