"""A topology as the stages of a streaming query: components as far from the spouts as each other are one stage.

Spark runs a query stage after stage, and every row of a stage crosses one shuffle to the next. The partitions of a
stage are dealt out to its components in order.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError
from headworks.model import Component, Kind
from headworks.model.rates import component_rates, depths, stream_rates
from headworks.model.topology import TUPLE_BYTES
from headworks_lab.spark.work import Output, Part
from headworks_spark.demo.murmur import partition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headworks.model import Profile, Stream, Topology

SECONDS_PER_POINT = 0.01
"""Seconds of processor time in a second that one point stands for: 100 points are one core."""


@attrs.frozen(kw_only=True)
class Layer:
    """One stage of the query.

    Attributes:
        components: Its components, in the order of their partitions.
        parts: What the tasks of each do.
    """

    components: tuple[Component, ...]
    parts: tuple[Part, ...]

    @property
    def tasks(self) -> int:
        """Number of its partitions."""
        return sum(part.tasks for part in self.parts)


def layers(topology: Topology, profiles: Sequence[Profile], interval: float, engine: float = 0.0) -> tuple[Layer, ...]:
    """The stages of a topology, spouts first.

    A tuple costs what the component's profile says (`e`, percent-seconds), else its declared CPU at its declared rate.
    Of that, tasks leave what the engine itself uses for each of them, so that both together are as declared.

    Args:
        topology: The topology.
        profiles: Of several machine types of a component, the first by name counts.
        interval: Seconds of rows that a spout emits in a batch.
        engine: CPU seconds of a task that the engine uses by itself.

    Raises:
        EngineError: A spout states no rate, a bolt receives from nobody, or a stream passes over a stage.
        DocumentError: Its streams form a cycle.
    """
    stages = _stages(topology)
    rates, costs = component_rates(topology), _costs(topology, profiles)
    outputs = _outputs(topology, stages, rates)

    def part(each: Component) -> Part:
        rows = rates[each.id] * interval / each.parallelism
        seconds = costs.get(each.id, _declared(each, rates[each.id])) - (engine / rows if rows else 0.0)
        emitted = rows if each.kind is Kind.SPOUT else 0.0
        return Part(tasks=each.parallelism, seconds=max(seconds, 0.0), rows=emitted, outputs=outputs[each.id])

    return tuple(Layer(components=stage, parts=tuple(map(part, stage))) for stage in stages)


def payload_size(stream: Stream) -> int:
    """Bytes of the payload of a stream's tuple.

    Args:
        stream: The stream.
    """
    return round(TUPLE_BYTES if stream.tuple_bytes is None else stream.tuple_bytes)


def _stages(topology: Topology) -> list[tuple[Component, ...]]:
    """Components by their depth, those of a stage in the order of the topology; refuses what Spark's stages are not."""
    depth = depths(topology)
    for each in topology.components:
        if each.kind is Kind.SPOUT and not each.rate:
            raise EngineError(f"the spout {each.id!r} of {topology.id!r} states no rate: give it one")
        if (each.kind is Kind.SPOUT) != (depth[each.id] == 0):
            wrong = "receives a stream" if depth[each.id] else "receives none"
            raise EngineError(f"the {each.kind} {each.id!r} of {topology.id!r} {wrong}: Spark has no such stage")
    for stream in topology.streams:
        if depth[stream.target] != depth[stream.source] + 1:
            way = f"{stream.source} to {stream.target}"
            raise EngineError(
                f"the stream from {way} of {topology.id!r} passes over a stage: Spark has no such shuffle"
            )
    parts = sorted(topology.components, key=lambda each: depth[each.id])
    return [tuple(stage) for _, stage in itertools.groupby(parts, lambda each: depth[each.id])]


def _outputs(
    topology: Topology, stages: Sequence[Sequence[Component]], rates: Mapping[str, float]
) -> dict[str, tuple[Output, ...]]:
    """Streams of each component, with the rows that it emits for each one that it takes."""
    keys = {each.id: found for stage in stages for each, found in zip(stage, _keys(stage), strict=True)}
    outputs: dict[str, list[Output]] = defaultdict(list)
    for stream, rate in zip(topology.streams, stream_rates(topology), strict=True):
        to = keys[stream.target]
        outputs[stream.source].append(
            Output(
                keys=to[:1] if stream.grouping == "global" else to,
                every=stream.grouping == "all",
                rows=rate / rates[stream.source] if rates[stream.source] else 0.0,
                size=payload_size(stream),
            )
        )
    return {each.id: tuple(outputs[each.id]) for each in topology.components}


def _keys(stage: Sequence[Component]) -> list[tuple[str, ...]]:
    """A key for each task of each component of a stage: the text that Spark's hash sends to its partition."""
    tasks = sum(each.parallelism for each in stage)
    found: dict[int, str] = {}
    for number in itertools.count():
        found.setdefault(partition(str(number), tasks), str(number))
        if len(found) == tasks:
            break
    dealt = iter(range(tasks))
    return [tuple(found[index] for index in itertools.islice(dealt, each.parallelism)) for each in stage]


def _costs(topology: Topology, profiles: Sequence[Profile]) -> dict[str, float]:
    """Seconds of processor time for a tuple by component, of those that have a profile."""
    own = sorted((each for each in profiles if each.topology == topology.id), key=lambda each: each.machine_type)
    return {each.component: each.e * SECONDS_PER_POINT for each in reversed(own)}


def _declared(component: Component, rate: float) -> float:
    return component.demand.cpu * SECONDS_PER_POINT * component.parallelism / rate if rate else 0.0
