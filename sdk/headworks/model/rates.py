"""Tuples per second on every stream of a topology."""

from __future__ import annotations

import math
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter

import attrs

from headworks.errors import DocumentError
from headworks.model import Component, Kind, Stream, Topology


def stream_rates(topology: Topology, where: str = "") -> tuple[float, ...]:
    """Rate of each stream, tuples/s, in the order of `topology.streams`.

    A stream's own `rate` wins. Otherwise its source's output flows down it: a spout's `rate`, a bolt's input
    times its selectivity; whole on a `copy` stream, in equal parts over the source's `split` streams. A source
    without a known rate contributes 0.

    Args:
        topology: Its streams may form cycles only through streams that state their rate.
        where: JSON pointer of the topology, for errors.

    Raises:
        DocumentError: A cycle of streams has no stated rate.
    """
    if not topology.streams:  # as of the many empty topologies that a document may have
        return ()
    output = _outputs(topology, where)
    splits: dict[str, int] = defaultdict(int)
    for stream in topology.streams:
        splits[stream.source] += stream.fanout == "split"
    return tuple(_rate(stream, output, splits) for stream in topology.streams)


def component_rates(topology: Topology) -> dict[str, float]:
    """Tuples per second that all tasks of each component together process, by component id.

    A spout processes what it emits, a bolt what it receives; a spout that states no rate counts as 1 tuple/s.

    Raises:
        DocumentError: A cycle of streams has no stated rate.
    """
    parts = tuple(attrs.evolve(part, rate=1.0) if _silent(part) else part for part in topology.components)
    topology = attrs.evolve(topology, components=parts)
    received: dict[str, list[float]] = defaultdict(list)
    for stream, rate in zip(topology.streams, stream_rates(topology), strict=True):
        received[stream.target].append(rate)
    return {
        part.id: part.rate if part.kind == Kind.SPOUT and part.rate is not None else math.fsum(received[part.id])
        for part in parts
    }


def _silent(part: Component) -> bool:
    return part.kind == Kind.SPOUT and part.rate is None


def _rate(stream: Stream, output: dict[str, float], splits: dict[str, int]) -> float:
    if stream.rate is not None:
        return stream.rate
    whole = output[stream.source]
    return whole / splits[stream.source] if stream.fanout == "split" else whole


def _outputs(topology: Topology, where: str) -> dict[str, float]:
    components = {component.id: component for component in topology.components}
    output: dict[str, float] = {}
    received: dict[str, list[float]] = defaultdict(list)
    for stream in topology.streams:
        if stream.rate is not None:
            received[stream.target].append(stream.rate)
    splits: dict[str, int] = defaultdict(int)
    leaving: dict[str, list[Stream]] = defaultdict(list)
    for stream in topology.streams:
        leaving[stream.source].append(stream)
        splits[stream.source] += stream.fanout == "split"
    for name in _order(topology, where):
        component = components[name]
        emitted = component.rate if component.kind == Kind.SPOUT else None
        output[name] = emitted if emitted is not None else math.fsum(received[name]) * component.selectivity
        for stream in leaving[name]:
            if stream.rate is None:
                received[stream.target].append(_rate(stream, output, splits))
    return output


def _order(topology: Topology, where: str) -> tuple[str, ...]:
    before: dict[str, set[str]] = {component.id: set() for component in topology.components}
    for stream in topology.streams:
        if stream.rate is None:
            before[stream.target].add(stream.source)
    try:
        return tuple(TopologicalSorter({name: sorted(before[name]) for name in sorted(before)}).static_order())
    except CycleError as error:
        cycle = " -> ".join(reversed(error.args[1]))
        message = f"streams of {topology.id!r} form a cycle without a rate: {cycle}; give one of them a rate"
        raise DocumentError(f"{where}/streams", message) from None


def depths(topology: Topology, where: str = "") -> dict[str, int]:
    """Longest way of streams that leads to each component, by component id; 0 where none does.

    Args:
        topology: Streams of it may form no cycle.

    Raises:
        DocumentError: Its streams form a cycle.
    """
    before: dict[str, set[str]] = {component.id: set() for component in topology.components}
    for stream in topology.streams:
        before[stream.target].add(stream.source)
    found: dict[str, int] = {}
    try:
        for name in TopologicalSorter(before).static_order():
            found[name] = max((found[source] for source in before[name]), default=-1) + 1
    except CycleError as error:
        cycle = " -> ".join(reversed(error.args[1]))
        message = f"{topology.id!r} is sequential, and its streams form a cycle: {cycle}"
        raise DocumentError(f"{where}/streams", message) from None
    return found
