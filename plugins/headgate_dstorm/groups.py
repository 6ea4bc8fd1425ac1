"""Tasks that Algorithm 1 cannot tell apart, taken together."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate.problem import Problem

    Row = tuple[NDArray[np.int64], NDArray[np.float64]]


class Groups:
    """Free tasks in G groups: one topology, one demand, one heap, the same streams.

    A task with flows of its own (sparse traffic) is a group of one. Every member of a group has the same fit and
    the same priority, so that the lowest index comes first. Index G stands for no group; arrays have a place for it.

    Attributes:
        count: G.
        of: int64 (n,), group of each task, G for fixed tasks.
        left: Unplaced members of each group, the next one last.
        first: int64 (G + 1,), lowest unplaced member.
        alive: bool (G + 1,), whether any member is unplaced.
        demand: float64 (r, G + 1), what one member needs.
        heap, topology, opens: (G + 1,), heap of one member, its topology (t for no group), and whether a new
            worker may hold it.
        waiting: float64 (G + 1,), rho2 of Eq. 5.5 of one member: whole units, exact.
    """

    def __init__(self, problem: Problem) -> None:
        streams = Streams(problem)
        free = np.flatnonzero(problem.fixed < 0)
        order, starts = _sort(problem, free, streams)
        self.count = len(starts)
        stops = np.append(starts, len(order))[1:]
        ranges = zip(starts.tolist(), stops.tolist(), strict=True)
        self.left = [order[start:stop][::-1].tolist() for start, stop in ranges]
        heads = order[starts]
        self.of = np.full(problem.n, self.count, dtype=np.int64)
        self.of[order] = np.repeat(np.arange(self.count), stops - starts)
        self.first = np.append(heads, problem.n)
        self.alive = np.append(np.ones(self.count, dtype=bool), False)
        demand = problem.demand[heads].T
        self.demand = np.ascontiguousarray(np.concatenate([demand, np.zeros((len(demand), 1))], axis=1))
        self.heap = np.append(problem.heap[heads], 0.0)
        self.topology = np.append(problem.topology[heads], len(problem.heap_limit))
        self.opens = np.append(problem.heap[heads] <= problem.heap_limit[problem.topology[heads]], False)
        self._streams = streams
        self._rows = [[row] if len(row[0]) else [] for row in streams.rows(self)]
        self._peers = self.of[problem.traffic.symmetric.indices]
        self._rates = problem.traffic.symmetric.rate.astype(np.float64)
        self._indptr = problem.traffic.symmetric.indptr.tolist()
        self.waiting = np.append(streams.waiting(problem, heads), 0.0)

    def peers(self, task: int) -> list[Row]:
        """What one task exchanges: (groups, units with *one* member of each), by streams and by flows."""
        rows = self._rows[self._streams.segment[task]]
        start, stop = self._indptr[task], self._indptr[task + 1]
        return [*rows, (self._peers[start:stop], self._rates[start:stop])] if stop > start else rows

    def partners(self, task: int) -> list[tuple[int, float]]:
        """What one task exchanges, as `peers`, pair by pair."""
        links = self._links[self._streams.segment[task]]
        start, stop = self._indptr[task], self._indptr[task + 1]
        if stop == start:
            return links
        return [*links, *zip(self._peers[start:stop].tolist(), self._rates[start:stop].tolist(), strict=True)]

    def mean_peers(self) -> float:
        """How many groups a free task exchanges with, on average."""
        widths = np.array([sum(len(peers) for peers, _ in rows) for rows in self._rows])
        uniform = np.bincount(self._streams.segment, minlength=len(widths)) @ widths if self.count else 0
        return float(uniform + len(self._peers)) / max(1, len(self.of))

    @cached_property
    def _links(self) -> list[list[tuple[int, float]]]:
        return [
            [pair for peers, rates in rows for pair in zip(peers.tolist(), rates.tolist(), strict=True)]
            for rows in self._rows
        ]

    def take(self, group: int) -> int:
        """Take the lowest unplaced member out."""
        members = self.left[group]
        task: int = members.pop()
        if members:
            self.first[group] = members[-1]
        else:
            self.alive[group] = False
        return task


class Streams:
    """Uniform streams between segments: ranges of tasks that no stream divides.

    Two segments exchange a rate that is the same for every pair of their tasks, so that a stream between two
    components of any size is one number.
    """

    def __init__(self, problem: Problem) -> None:
        blocks = problem.traffic.blocks
        ends = (blocks.source_start, blocks.source_stop, blocks.target_start, blocks.target_stop)
        self.cuts = np.unique(np.concatenate([np.zeros(1, dtype=np.int64), *ends]))
        self.segment: list[int] = (np.searchsorted(self.cuts, np.arange(problem.n), side="right") - 1).tolist()
        self.exchange: list[dict[int, int]] = [defaultdict(int) for _ in self.cuts]
        a0, a1, b0, b1 = (np.searchsorted(self.cuts, end).tolist() for end in ends)
        for number, rate in enumerate(blocks.rate.tolist()):
            for source in range(a0[number], a1[number]):
                for target in range(b0[number], b1[number]):
                    self.exchange[source][target] += rate
                    self.exchange[target][source] += rate

    def rows(self, groups: Groups) -> list[Row]:
        """For each segment, the groups that its tasks exchange with, and the rate with one member."""
        inside: list[set[int]] = [set() for _ in self.cuts]
        for segment, group in zip(self.segment, groups.of.tolist(), strict=True):
            if group < groups.count:
                inside[segment].add(group)
        members = [np.array(sorted(each), dtype=np.int64) for each in inside]
        return [_row(peers, members) for peers in self.exchange]

    def waiting(self, problem: Problem, tasks: NDArray[np.int64]) -> NDArray[np.float64]:
        """Units that each of some free tasks exchanges with free tasks."""
        segment, free = np.array(self.segment, dtype=np.int64), problem.fixed < 0
        counts = np.bincount(segment[free], minlength=len(self.cuts)).tolist()
        uniform = np.array(
            [
                sum(rate * (counts[peer] - (peer == own)) for peer, rate in peers.items())
                for own, peers in enumerate(self.exchange)
            ]
        )
        flows = problem.traffic.symmetric
        single = np.bincount(flows.sources, weights=flows.rate * free[flows.indices], minlength=problem.n)
        waiting: NDArray[np.float64] = uniform[segment[tasks]] + single[tasks]
        return waiting


def _row(peers: dict[int, int], members: list[NDArray[np.int64]]) -> Row:
    parts = [members[peer] for peer in peers]
    rates = [np.full(len(members[peer]), float(rate)) for peer, rate in peers.items()]
    if not parts:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    return np.concatenate(parts), np.concatenate(rates)


def _sort(problem: Problem, free: NDArray[np.int64], streams: Streams) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Free tasks ordered group by group, and where each group starts."""
    flows = problem.traffic.symmetric
    lone = np.diff(flows.indptr) > 0
    own = np.where(lone, np.arange(problem.n) + 1, 0)
    keys = [own, np.array(streams.segment, dtype=np.int64), problem.topology, problem.heap, *problem.demand.T]
    keys = [key[free] for key in keys]
    order = np.lexsort(keys[::-1])
    differs = np.zeros(len(order), dtype=bool)
    for key in keys:
        sorted_key = key[order]
        differs[1:] |= sorted_key[1:] != sorted_key[:-1]
    differs[:1] = True
    return free[order], np.flatnonzero(differs)
