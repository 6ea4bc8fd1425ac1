"""Streams that stay in their worker: the load of nodes as an engine spreads it, and placements that bear more of it.

A task sends such a stream to the targets on its own node, if there are any, and else to all. So work follows the
sources: targets without a source beside them have none, and few targets beside many sources have it all. No sum over
pairs of tasks says so. Placements are therefore found by pairs, judged by the work that gets done with the load that
nodes get, and then improved by single moves and swaps that lighten the fullest node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import LOCAL, TUPLE_BYTES, Kind
from headworks.model.rates import stream_rates
from headworks.problem import Problem
from headworks_dstorm.plus.served import served

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
WORTH = 3
"""Digits of the work that is left undone: less than a thousandth is not worth a unit of traffic."""
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
        found: Floats = self.by_source(node_of, m)[1].sum(axis=0)
        return found

    def by_source(self, node_of: Ints, m: int) -> tuple[Floats, Floats]:
        """Spouts of each node that has some, float64 (g,), and loads by their tuples, float64 (g, 3, m)."""
        counts = [np.bincount(at[at >= 0], minlength=m).astype(float) for at in (node_of[each] for each in self.tasks)]
        begin = [each for each, spout in zip(counts, self.spout, strict=True) if spout] or counts
        spouts: Floats = np.sum(begin, axis=0)
        at = np.flatnonzero(spouts)
        shares = self._shares(counts, spouts, at)
        found = np.zeros((len(at), 3, m))
        for share, cpu in zip(shares, self.cpu, strict=True):
            found[:, 0] += cpu * share
        for link in self.links:
            sent, come, _ = _delivered(link, shares[link.source], counts[link.target])
            found[:, 1] += sent
            found[:, 2] += come
        return spouts[at], found

    def _shares(self, counts: list[Floats], spouts: Floats, at: Ints) -> list[Floats]:
        """Share of each component's work by node, for tuples of spouts on each node of `at`, float64 (g, m)."""
        shares = []
        for count, spout in zip(counts, self.spout, strict=True):
            even = count / max(count.sum(), 1.0)
            shares.append(np.eye(len(count))[at] * even if spout else np.outer(spouts[at] / spouts.sum(), even))
        for _ in range(min(SHARES, len(counts))):
            shares = self._passed(shares, counts)
        return shares

    def _passed(self, shares: list[Floats], counts: list[Floats]) -> list[Floats]:
        taken = [np.zeros_like(each) for each in shares]
        for link in self.links:
            taken[link.target] += _delivered(link, shares[link.source], counts[link.target])[2]
        return [
            old if spout or not new.any() else new / new.sum()
            for old, new, spout in zip(shares, taken, self.spout, strict=True)
        ]


def _delivered(link: _Link, share: Floats, count: Floats) -> tuple[Floats, Floats, Floats]:
    """Units that each node sends to others, receives and takes in all, (g, m) each, by the sources' shares (g, m)."""
    if link.first:
        count = np.where(count > 0, np.arange(len(count)) == count.argmax(), 0.0)
    even = count / max(count.sum(), 1.0)
    every = share.sum(axis=1, keepdims=True)
    if link.local:
        stays = np.where(count > 0, share, 0.0)
        come = (share - stays).sum(axis=1, keepdims=True) * even
        return link.rate * (share - stays), link.rate * come, link.rate * (stays + come)
    rate = link.rate * (count.sum() if link.copies else 1.0)
    return rate * share * (1 - even), rate * (every - share) * even, rate * every * even


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

    def use(self, loads: Floats) -> Floats:
        """Used share of each node's CPU and of its network out and in, of loads; both float64 (..., 3, m)."""
        problem = self.problem
        out, into = loads[..., 1, :], loads[..., 2, :]
        cpu = loads[..., 0, :] + problem.transfer[0] * out + problem.transfer[1] * into
        return np.stack(
            [cpu / np.maximum(problem.capacity[:, 0], LEAST), out / problem.link_limit, into / problem.link_limit],
            axis=-2,
        )

    def judge(self, node_of: Ints) -> tuple[float, int]:
        """Share of the work that does not get done, mean over topologies, and units between nodes."""
        found = [part.by_source(node_of, self.problem.m) for part in self.parts]
        weight = np.concatenate([each for each, _ in found])
        loads = np.concatenate([each for _, each in found])
        done = served(self.use(loads).reshape(len(weight), -1), weight)
        ends = np.cumsum([len(each) for each, _ in found])[:-1]
        shares = [
            float(np.average(each, weights=spouts)) if len(spouts) else 1.0
            for each, (spouts, _) in zip(np.split(done, ends), found, strict=True)
        ]
        return round(max(1.0 - float(np.mean(shares)), 0.0), WORTH), int(loads[:, 1].sum())

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
            for tried in self._changes(now, int(self.use(total).max(axis=0).argmax())):
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
        return round(float(self.use(loads).max(initial=0.0)), DIGITS), round(share, DIGITS)

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
