"""Streams that stay in their worker: the load of nodes as an engine spreads it, and the work that gets done with it.

A task sends such a stream to the targets on its own node, if there are any, and else to all. So work follows the
sources: targets without a source beside them have none, and few targets beside many sources have it all. No sum over
pairs of tasks says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import LOCAL, TUPLE_BYTES, Kind
from headworks.model.rates import stream_rates
from headworks.problem.arrays.arrays import Arrays
from headworks.problem.plan.served import served

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from headworks.model import Stream, Topology

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_SHARES = 8
"""Times that shares of work are passed on from sources to targets: the longest path that is followed."""
_MOST = 1_000
"""Tasks up to which close streams are judged. A round waits for the spread of more, task after task."""
_WORTH = 3
"""Digits of the work that is left undone: less than a thousandth is not worth a unit of traffic."""
_LEAST = 1e-6
"""CPU points that a node has at least, so that its use is finite."""


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
        for _ in range(min(_SHARES, len(counts))):
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
    """What nodes get of a placement, where streams stay in their worker.

    Attributes:
        problem: The problem.
        parts: Its topologies, by id.
    """

    problem: Arrays
    parts: tuple[_Part, ...]

    @classmethod
    def of(cls, problem: Arrays) -> CloseStreams | None:
        """Those of a problem of up to 1,000 tasks; None where there are none.

        Flows that were measured are what they are.
        """
        request = problem.request
        local = any(stream.grouping == LOCAL for each in request.topologies for stream in each.streams)
        if not local or problem.n > _MOST or (problem.measured and (request.metrics.flows or request.metrics.streams)):
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
            [cpu / np.maximum(problem.capacity[:, 0], _LEAST), out / problem.link_limit, into / problem.link_limit],
            axis=-2,
        )

    def judge(self, node_of: Ints) -> tuple[float, int]:
        """Share of the work that does not get done, mean over topologies, and units between nodes."""
        return self.work(self.sources(node_of))

    def sources(self, node_of: Ints) -> list[tuple[Floats, Floats]]:
        """Of each topology the spouts of each node that has some, float64 (g,), and loads by their tuples (g, 3, m)."""
        return [part.by_source(node_of, self.problem.m) for part in self.parts]

    def work(self, found: Sequence[tuple[Floats, Floats]]) -> tuple[float, int]:
        """What `judge` says of a placement, by its `sources`."""
        weight = np.concatenate([each for each, _ in found])
        loads = np.concatenate([each for _, each in found])
        done = served(self.use(loads).reshape(len(weight), 3 * self.problem.m), weight)
        ends = np.cumsum([len(each) for each, _ in found])[:-1]
        shares = [
            float(np.average(each, weights=spouts)) if len(spouts) else 1.0
            for each, (spouts, _) in zip(np.split(done, ends), found, strict=True)
        ]
        return round(max(1.0 - float(np.mean(shares)), 0.0), _WORTH), int(loads[:, 1].sum())


def _parts(problem: Arrays) -> Iterator[_Part]:
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


def _tasks(problem: Arrays, topology: str, component: str) -> slice:
    found = np.flatnonzero(problem.component == problem.components.index((topology, component)))
    return slice(int(found[0]), int(found[-1]) + 1) if len(found) else slice(0, 0)


def _links(problem: Arrays, topology: Topology, names: list[str]) -> Iterator[_Link]:
    for stream, rate in zip(topology.streams, stream_rates(topology), strict=True):
        yield _Link(
            source=names.index(stream.source),
            target=names.index(stream.target),
            rate=rate * _weight(problem, stream) * problem.traffic.scale,
            local=stream.grouping == LOCAL,
            first=stream.grouping == "global",
            copies=stream.grouping == "all",
        )


def _weight(problem: Arrays, stream: Stream) -> float:
    return (stream.tuple_bytes or TUPLE_BYTES) if problem.traffic.unit == "bytes/s" else 1.0
