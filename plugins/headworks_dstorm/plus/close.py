"""Streams that stay in their worker: the load of nodes as an engine spreads it, and placements that bear more of it.

A task sends such a stream to the targets on its own node, if there are any, and else to all. So work follows the
sources: targets without a source beside them have none, and few targets beside many sources have it all. No sum over
pairs of tasks says so. Placements are therefore found by pairs, judged by the load that they get, and then improved by
single moves and swaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import LOCAL, TUPLE_BYTES, Kind
from headworks.model.rates import stream_rates
from headworks.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from headworks.model import Stream, Topology

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

SHARES = 8
"""Times that shares of work are passed on from sources to targets: the longest path that is followed."""
CHANGES = 60
"""Changes of one placement at most; each takes one try for every pair of nodes and components."""
MOST = 1_000
"""Tasks up to which close streams are judged. A round waits for the spread of more, task after task."""
DIGITS = 9
"""Digits of figures that are compared. With more, placements that are equal would differ by how sums are rounded."""
LEAST = 1e-6
"""A change that lightens the fullest node by less is none."""


@attrs.frozen(eq=False)
class _Link:
    """A stream between two components: their numbers, units a second, and how it chooses among targets."""

    source: int
    target: int
    rate: float
    local: bool
    first: bool
    copies: bool


@attrs.frozen(eq=False)
class _Part:
    """A topology: tasks of each component as a slice, its CPU points, whether it is a spout; and streams."""

    tasks: tuple[slice, ...]
    cpu: tuple[float, ...]
    spout: tuple[bool, ...]
    links: tuple[_Link, ...]

    def loads(self, node_of: Ints, m: int) -> Floats:
        """CPU points, units sent to other nodes and units received from them, float64 (3, m)."""
        counts = [np.bincount(at[at >= 0], minlength=m).astype(float) for at in (node_of[each] for each in self.tasks)]
        shares = [each / max(each.sum(), 1.0) for each in counts]
        for _ in range(min(SHARES, len(counts))):
            shares = self._passed(shares, counts)
        found = np.zeros((3, m))
        for share, cpu in zip(shares, self.cpu, strict=True):
            found[0] += cpu * share
        for link in self.links:
            sent, come, _ = _delivered(link, shares[link.source], counts[link.target])
            found[1] += sent
            found[2] += come
        return found

    def _passed(self, shares: list[Floats], counts: list[Floats]) -> list[Floats]:
        taken = [np.zeros_like(each) for each in shares]
        for link in self.links:
            taken[link.target] += _delivered(link, shares[link.source], counts[link.target])[2]
        return [
            old if spout or not new.any() else new / new.sum()
            for old, new, spout in zip(shares, taken, self.spout, strict=True)
        ]


def _delivered(link: _Link, share: Floats, count: Floats) -> tuple[Floats, Floats, Floats]:
    """Units that each node sends to others, receives from them, and takes in all, by the sources' share of work."""
    if link.first:
        count = np.where(count > 0, np.arange(len(count)) == count.argmax(), 0.0)
    even = count / max(count.sum(), 1.0)
    if link.local:
        stays = np.where(count > 0, share, 0.0)
        come = (share - stays).sum() * even
        return link.rate * (share - stays), link.rate * come, link.rate * (stays + come)
    rate = link.rate * (count.sum() if link.copies else 1.0)
    taken = share.sum() * even
    return rate * share * (1 - even), rate * (taken - share * even), rate * taken


@attrs.frozen(eq=False)
class CloseStreams:
    """What nodes get of a placement, where streams stay in their worker."""

    problem: Problem
    parts: tuple[_Part, ...]

    @classmethod
    def of(cls, problem: Problem) -> CloseStreams | None:
        """Those of a problem of up to `MOST` tasks; None where there are none.

        Flows that were measured are what they are.
        """
        request = problem.request
        local = any(stream.grouping == LOCAL for each in request.topologies for stream in each.streams)
        if not local or problem.n > MOST or (problem.measured and (request.metrics.flows or request.metrics.streams)):
            return None
        return cls(problem, tuple(_parts(problem)))

    def loads(self, node_of: Ints) -> Floats:
        """CPU points, units out and units in of each node, by topology, float64 (t, 3, m)."""
        return np.array([each.loads(node_of, self.problem.m) for each in self.parts])

    def fullest(self, loads: Floats) -> Floats:
        """Used share of each node's CPU or network, whichever is larger, float64 (m,), of loads float64 (3, m)."""
        problem = self.problem
        cpu = (loads[0] + problem.transfer @ loads[1:]) / np.maximum(problem.capacity[:, 0], LEAST)
        found: Floats = np.maximum(cpu, loads[1:].max(axis=0) / problem.link_limit)
        return found

    def judge(self, node_of: Ints) -> tuple[float, int]:
        """Used share of the fullest node, and units between nodes."""
        fullest, share = self._worth(self.loads(node_of).sum(axis=0))
        return fullest, int(share * self.problem.traffic.total)

    def spread(self) -> Ints:
        """A placement with each component spread over nodes by their CPU; -1 where a task finds no room."""
        problem = self.problem
        room, weight = problem.room(), np.maximum(problem.capacity[:, 0], LEAST)
        for part in self.parts:
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
        loads = self.loads(now)
        for _ in range(CHANGES):
            best: tuple[tuple[float, float], Ints] | None = None
            total = loads.sum(axis=0)
            at = self._worth(total)
            for tried in self._changes(now, int(self.fullest(total).argmax())):
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
        return round(float(self.fullest(loads).max(initial=0.0)), DIGITS), round(share, DIGITS)

    def _changed(self, loads: Floats, now: Ints, tried: Ints) -> Floats:
        """Loads of another placement: those of topologies of which no task moves stay."""
        found = loads.copy()
        for index in np.unique(self.problem.topology[now != tried]).tolist():
            found[index] = self.parts[index].loads(tried, self.problem.m)
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


def _parts(problem: Problem) -> Iterator[_Part]:
    for topology in sorted(problem.request.topologies, key=lambda each: each.id):
        names = sorted(each.id for each in topology.components)
        kinds = {each.id: each.kind for each in topology.components}
        where = [_tasks(problem, topology.id, name) for name in names]
        yield _Part(
            tasks=tuple(where),
            cpu=tuple(float(problem.demand[each, 0].sum()) for each in where),
            spout=tuple(kinds[name] is Kind.SPOUT for name in names),
            links=tuple(_links(problem, topology, names)),
        )


def _tasks(problem: Problem, topology: str, component: str) -> slice:
    found = np.flatnonzero(problem.component == problem.components.index((topology, component)))
    return slice(int(found[0]), int(found[-1]) + 1) if len(found) else slice(0, 0)


def _links(problem: Problem, topology: Topology, names: list[str]) -> Iterator[_Link]:
    for stream, rate in zip(topology.streams, stream_rates(topology), strict=True):
        yield _Link(
            source=names.index(stream.source),
            target=names.index(stream.target),
            rate=rate * _weight(problem, stream) * problem.traffic.scale,
            local=stream.grouping == LOCAL,
            first=stream.grouping == "global",
            copies=stream.grouping == "all",
        )


def _weight(problem: Problem, stream: Stream) -> float:
    return (stream.tuple_bytes or TUPLE_BYTES) if problem.traffic.unit == "bytes/s" else 1.0
