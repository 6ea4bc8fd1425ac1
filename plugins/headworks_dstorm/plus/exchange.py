"""Exchange of tuples between tasks, as arrays for many lookups at once: streams by segment, measured flows by task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks_dstorm.groups import Streams

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem import Problem

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


class PairRates:
    """Symmetric rates in rows (CSR): row i holds what one of i exchanges with one of each of its peers.

    Attributes:
        start: int64 (k + 1,), begin of each row.
        source: int64 (e,), row of each entry.
        peer: int64 (e,), column of each entry, ascending within a row.
        rate: float64 (e,), whole units.
    """

    def __init__(self, source: Ints, peer: Ints, rate: Floats, size: Ints) -> None:
        """Keep the entries, which are sorted by row and column.

        Args:
            source: Row of each entry.
            peer: Column of each entry.
            rate: Rate of each entry, in units.
            size: Number of tasks that each column stands for, int64 (k,).
        """
        self.source, self.peer, self.rate = source, peer, rate
        self.start: Ints = np.searchsorted(source, np.arange(len(size) + 1))
        self._size = size
        self._keys = source * len(size) + peer
        self._sum = np.append(0.0, np.cumsum(rate * size[peer]))

    def __len__(self) -> int:
        return len(self._keys)

    def between(self, one: Ints, other: Ints) -> Floats:
        """Rates of some pairs, 0 where there is no entry.

        Args:
            one: Row of each pair, int64 (w,).
            other: Column of each pair, int64 (w,).
        """
        if not len(self):
            return np.zeros(len(one))
        keys = one * len(self._size) + other
        at = np.minimum(np.searchsorted(self._keys, keys), len(self) - 1)
        return np.where(self._keys[at] == keys, self.rate[at], 0.0)

    def entries(self, rows: Ints) -> tuple[Ints, Ints]:
        """Entries of some rows, one row after the other: position in `rows`, and index of the entry."""
        start = self.start[rows]
        length = self.start[rows + 1] - start
        at = np.repeat(np.arange(len(rows)), length)
        return at, np.arange(len(at)) - np.repeat(np.cumsum(length) - length - start, length)

    def total(self, rows: Ints) -> Floats:
        """Units that one of each row exchanges with all."""
        found: Floats = self._sum[self.start[rows + 1]] - self._sum[self.start[rows]]
        return found

    def entry_at(self, rows: Ints, units: Floats) -> Ints:
        """Entry of each row at which its sum passes some units.

        Args:
            rows: Rows with at least one entry, int64 (w,).
            units: Units for each, 0 <= units < `total`, float64 (w,).
        """
        begin = self.start[rows]
        at: Ints = np.searchsorted(self._sum, self._sum[begin] + units, side="right") - 1
        return np.clip(at, begin, self.start[rows + 1] - 1)  # a sum that was rounded may reach the next row

    def best(self, room: float) -> Floats:
        """Units that one of each row exchanges with its best peers, as many as have room, float64 (k,)."""
        order = np.lexsort((-self.rate, self.source))
        width = self._size[self.peer[order]].astype(np.float64)
        ends = np.cumsum(width)
        ends -= np.append(0.0, ends)[self.start[self.source]]
        counted = np.minimum(ends, room) - np.minimum(ends - width, room)
        units = np.bincount(self.source, self.rate[order] * counted, minlength=len(self._size))
        return units.astype(np.float64)  # of no entries numpy counts in integers


class Exchange:
    """Both parts of the traffic: two tasks exchange what their segments do, and what was measured between them.

    A segment is a range of tasks that no uniform stream divides, so that a stream between two components of any width
    is one entry. Of measured flows each is one.

    Attributes:
        segment: int64 (n,), segment of each task.
        segments: s.
        streams: Rates between a task of each segment and one of another.
        flows: Rates between single tasks.
        own: float64 (s,), units that two tasks of one segment exchange.
    """

    def __init__(self, problem: Problem) -> None:
        streams, flows = Streams(problem), problem.traffic.symmetric
        rows = [sorted(peers.items()) for peers in streams.rates]
        table = np.array([pair for row in rows for pair in row], dtype=np.int64).reshape(-1, 2)
        source = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        every = np.arange(len(rows))
        self.segment, self.segments = streams.segment, len(rows)
        self._first: Ints = np.searchsorted(self.segment, every)
        self._size: Ints = np.bincount(self.segment, minlength=len(rows))
        one = np.ones(problem.n, dtype=np.int64)
        self.streams = PairRates(source, table[:, 0], table[:, 1].astype(np.float64), self._size)
        self.flows = PairRates(flows.sources, flows.indices, flows.rate.astype(np.float64), one)
        self.own = self.streams.between(every, every)

    def between(self, one: Ints, other: Ints) -> Floats:
        """Units that pairs of different tasks exchange.

        Args:
            one: A task of each pair, int64 (w,).
            other: The other one, int64 (w,).
        """
        found = self.streams.between(self.segment[one], self.segment[other])
        return found + self.flows.between(one, other) if len(self.flows) else found

    def best(self, room: float) -> Floats:
        """Units that each task exchanges with its best peers, as many as have room on a node, float64 (n,)."""
        found: Floats = self.streams.best(room)[self.segment]
        return found + self.flows.best(room) if len(self.flows) else found

    def alike(self, one: Ints, other: Ints) -> Flags:
        """Check which pairs exchange the same with everybody: nothing is won where they change places.

        Args:
            one: A task of each pair, int64 (w,).
            other: The other one, int64 (w,).
        """
        same: Flags = self.segment[one] == self.segment[other]
        return same & (self.flows.total(one) + self.flows.total(other) == 0) if len(self.flows) else same

    def peer(self, task: Ints, share: Floats, member: Floats) -> Ints:
        """A peer of each task, drawn by its share of the task's traffic, int64 (w,).

        Args:
            task: Tasks that exchange tuples, int64 (w,).
            share: Random numbers, 0 <= share < 1, that choose the segment or the flow, float64 (w,).
            member: Random numbers, 0 <= member < 1, that choose the task of the segment, float64 (w,).
        """
        segment = self.segment[task]
        streamed, measured = self.streams.total(segment), self.flows.total(task)
        units = share * (streamed + measured)
        of_flow = (units >= streamed) & (measured > 0)
        found = np.empty(len(task), dtype=np.int64)
        stream, flow = np.flatnonzero(~of_flow), np.flatnonzero(of_flow)
        near = self.streams.peer[self.streams.entry_at(segment[stream], units[stream])]
        found[stream] = self._first[near] + draw(member[stream], self._size[near])
        found[flow] = self.flows.peer[self.flows.entry_at(task[flow], units[flow] - streamed[flow])]
        return found


def draw(share: Floats, count: int | Ints) -> Ints:
    """Random numbers below a count, int64 (w,).

    Args:
        share: Random numbers, 0 <= share < 1, float64 (w,).
        count: The count, one or for each, at least 1.
    """
    found: Ints = np.minimum((share * count).astype(np.int64), np.asarray(count) - 1)
    return found
