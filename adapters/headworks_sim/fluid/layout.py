"""The constants of a simulation as arrays: rates, groupings, costs of tuples and machines of a request."""

from __future__ import annotations

from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.model import Kind
from headworks.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.model import Request, StreamSample, Topology

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def summed(index: Ints, weight: Floats, length: int) -> Floats:
    """Sum weights by index.

    Args:
        index: int64 (n,), each from 0 to below `length`.
        weight: float64 (n,).
        length: Number of sums.

    Returns:
        float64 (length,), 0 where no index points to.
    """
    return np.bincount(index, weight, length).astype(np.float64)


@attrs.frozen(kw_only=True)
class StreamLink:
    """A stream by the indices of its components within their topology.

    Attributes:
        source: Index of the component that emits.
        target: Index of the component that receives.
        grouping: How tuples are spread over tasks, by the model's name.
        weight: Part of the source's output that flows down it: 1 for `copy`, 1 over the number of streams for `split`.
        rate: Tuples/s that the request states; None where the source's output counts.
        tuple_bytes: Bytes of a tuple, None where unknown.
    """

    source: int
    target: int
    grouping: str
    weight: float
    rate: float | None
    tuple_bytes: float | None


@attrs.frozen(eq=False, kw_only=True)
class TopologyGraph:
    """The graph of one topology: C components in order of id, and the streams between them.

    Attributes:
        id: Id of the topology.
        start: Index of its first task among those of the problem.
        stop: Index after its last task.
        ranges: int64 (C, 2), first task of each component and the one after its last, counted from `start`.
        emission: float64 (C,), tuples/s that a spout emits by itself, nan where output follows from input.
        selectivity: float64 (C,).
        links: The streams.
        order: Indices of components such that each comes after all whose output it waits for; none in a cycle.
        flows: Measured pairs (sender, receiver, tuples/s, bytes/s), counted from `start`, nan where bytes are unknown;
            None where nothing was measured.
        throughput: Tuples/s that enter it at its nominal load.
    """

    id: str
    start: int
    stop: int
    ranges: Ints
    emission: Floats
    selectivity: Floats
    links: tuple[StreamLink, ...]
    order: tuple[int, ...]
    flows: tuple[Ints, Ints, Floats, Floats] | None
    throughput: float

    @property
    def size(self) -> int:
        """Number of tasks."""
        return self.stop - self.start


@attrs.frozen(eq=False, kw_only=True)
class Layout:
    """n tasks, m nodes, c components of all topologies, k machine types.

    Attributes:
        problem: The array view; demands are the measured ones where there are any.
        capacity: float64 (m,), CPU points of each node.
        bandwidth: float64 (m,), bytes/s that may come to each node, and as many leave it; inf where unknown.
        machine: int64 (m,), index of each node's machine type.
        e: float64 (c, k), percent-seconds of the machine per tuple (Eq. 5 of the heterogeneity paper); nan where
            there is no profile, and the demand of a task at its nominal rate counts.
        met: float64 (c, k), percent of the machine that a task takes whatever its rate.
        topologies: One entry a topology, by id.
    """

    problem: Problem
    capacity: Floats
    bandwidth: Floats
    machine: Ints
    e: Floats
    met: Floats
    topologies: tuple[TopologyGraph, ...]

    @classmethod
    def of(cls, request: Request) -> Layout:
        """Read a request.

        Raises:
            DocumentError: The request contradicts itself.
        """
        problem = Problem.of(request)
        nodes = sorted(request.cluster.nodes, key=lambda node: node.id)
        types = sorted({node.machine_type or "" for node in nodes} | {each.machine_type for each in request.profiles})
        e, met = _profiles(request, problem, types)
        return cls(
            problem=problem,
            capacity=np.array([node.capacity.cpu for node in nodes], dtype=np.float64),
            bandwidth=np.array([np.inf if node.bandwidth is None else node.bandwidth for node in nodes], np.float64),
            machine=np.array([types.index(node.machine_type or "") for node in nodes], dtype=np.int64),
            e=e,
            met=met,
            topologies=tuple(_graphs(request, problem)),
        )


def _profiles(request: Request, problem: Problem, types: Sequence[str]) -> tuple[Floats, Floats]:
    """The tables e and met of the profiles; see `Layout`."""
    index = {name: number for number, name in enumerate(problem.components)}
    e = np.full((len(index), len(types)), np.nan)
    met = np.zeros_like(e)
    for each in request.profiles:
        row, column = index.get((each.topology, each.component)), types.index(each.machine_type)
        if row is not None:
            e[row, column], met[row, column] = each.e, each.met
    return e, met


def _graphs(request: Request, problem: Problem) -> list[TopologyGraph]:
    made, start = [], 0
    flows = _measured(problem)
    offered = {each.topology: each.offered or each.throughput for each in request.metrics.topologies}
    for topology in sorted(request.topologies, key=lambda each: each.id):
        stop = start + sum(component.parallelism for component in topology.components)
        pairs = flows.get(topology.id)
        own = None if pairs is None else (pairs[0] - start, pairs[1] - start, *pairs[2:])
        made.append(_graph(topology, start, stop, own, offered.get(topology.id)))
        start = stop
    return made


def _measured(problem: Problem) -> dict[str, tuple[Ints, Ints, Floats, Floats]]:
    """Measured pairs of each topology that has any, in tuples/s where they were counted, else in bytes/s."""
    index, found = problem.task_index, defaultdict(list)
    for flow in problem.request.metrics.flows:
        rate = flow.bytes if flow.tuples is None else flow.tuples
        source = index[flow.source]
        octets = np.nan if flow.bytes is None else flow.bytes
        found[problem.tasks[source].topology].append((source, index[flow.target], rate or 0.0, octets))
    for stream in problem.request.metrics.streams:
        found[stream.topology] += _pairs(problem, stream)
    return {
        topology: (
            np.array([each[0] for each in pairs], dtype=np.int64),
            np.array([each[1] for each in pairs], dtype=np.int64),
            np.array([each[2] for each in pairs], dtype=np.float64),
            np.array([each[3] for each in pairs], dtype=np.float64),
        )
        for topology, pairs in found.items()
    }


def _pairs(problem: Problem, stream: StreamSample) -> list[tuple[int, int, float, float]]:
    """An evenly spread stream, pair by pair; a task sends nothing to itself."""
    ends = [problem.components.index((stream.topology, part)) for part in (stream.source, stream.target)]
    senders, receivers = (np.flatnonzero(problem.component == end).tolist() for end in ends)
    rate = (stream.bytes if stream.tuples is None else stream.tuples) or 0.0
    count = max(len(senders) * len(receivers), 1)
    each, octets = rate / count, np.nan if stream.bytes is None else stream.bytes / count
    return [(source, target, each, octets) for source in senders for target in receivers if source != target]


def _graph(
    topology: Topology, start: int, stop: int, flows: tuple[Ints, Ints, Floats, Floats] | None, offered: float | None
) -> TopologyGraph:
    parts = sorted(topology.components, key=lambda each: each.id)
    index = {part.id: number for number, part in enumerate(parts)}
    splits: dict[str, int] = defaultdict(int)
    for stream in topology.streams:
        splits[stream.source] += stream.fanout == "split"
    links = tuple(
        StreamLink(
            source=index[stream.source],
            target=index[stream.target],
            grouping=stream.grouping,
            weight=1.0 / splits[stream.source] if stream.fanout == "split" else 1.0,
            rate=stream.rate,
            tuple_bytes=stream.tuple_bytes,
        )
        for stream in topology.streams
    )
    ends = np.cumsum([part.parallelism for part in parts]) if parts else np.zeros(0)
    spouts = [part.rate if part.kind is Kind.SPOUT and part.rate is not None else np.nan for part in parts]
    emission = np.array(spouts, dtype=np.float64)
    return TopologyGraph(
        id=topology.id,
        start=start,
        stop=stop,
        ranges=np.stack([ends - [part.parallelism for part in parts], ends], axis=1).astype(np.int64)
        if parts
        else np.zeros((0, 2), dtype=np.int64),
        emission=emission,
        selectivity=np.array([part.selectivity for part in parts], dtype=np.float64),
        links=links,
        order=_order(len(parts), links),
        flows=flows,
        throughput=offered if offered is not None else _entering(emission, links, flows),
    )


def _order(components: int, links: tuple[StreamLink, ...]) -> tuple[int, ...]:
    """Indices of components in topological order of the streams whose rate follows from their source."""
    before: dict[int, set[int]] = {component: set() for component in range(components)}
    for link in links:
        if link.rate is None:  # a stated rate waits for nothing, and so breaks a cycle
            before[link.target].add(link.source)
    try:
        return tuple(TopologicalSorter(before).static_order())
    except CycleError:  # of a measured topology: its rates need no order
        return ()


def _entering(
    emission: Floats, links: tuple[StreamLink, ...], flows: tuple[Ints, Ints, Floats, Floats] | None
) -> float:
    """Tuples/s that enter a topology: emitted by spouts, or else by components that receive nothing."""
    if flows is not None:
        sources, targets, rates, _ = flows
        return float(rates[~np.isin(sources, targets)].sum())
    heads = {link.source for link in links} - {link.target for link in links}
    stated = [link.rate for link in links if link.source in heads and link.rate is not None]
    return float(np.nansum(emission)) or float(sum(stated))
