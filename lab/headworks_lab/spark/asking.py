"""Questions to schedulers: queries as Headworks found them, with what the workload declares or a pilot run measured."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs

from headworks.model import FILL, FrozenMap, Kind, Profile, Request, Resources, TaskSample
from headworks.model.rates import component_rates, stream_rates
from headworks_lab.spark.layers import payload_size
from headworks_lab.spark.query import Burners

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headworks.model import Component, Node, Observation, Stream, Topology
    from headworks_lab.spark.layers import Layer
    from headworks_lab.spark.query import Query

DECLARED = "declared"
"""Source of the processor time of tasks."""


def question(
    seen: Observation,
    declared: Request,
    queries: Mapping[str, Query],
    hosts: Mapping[str, Node],
    slowdown: float | None = None,
) -> Request:
    """The request for a scheduler: with a limit on batches of what runs, as in a session; without, of nothing yet.

    What a pilot run measured of traffic is kept. Of the processor time of burners it says what Python workers took by
    the clock, which on a busy machine is more: that is as the workload says, as are the processors of nodes. That of
    a real query is as measured. How fast nodes are is left out: they had no bounds, and so shared this machine.

    Args:
        seen: All queries, by Spark's own placement.
        declared: The workload as this machine can run it, and the seed of the plan.
        queries: What stands for each topology, by its id.
        hosts: Node of the workload that stands on each host.
        slowdown: Times as long as by Spark's own placement that a batch may take; None for any.
    """
    by_id = {each.id: each for each in declared.topologies}
    found = [_told(each, by_id[each.id], queries[each.id], declared, seen) for each in seen.topologies]
    nodes = tuple(_as_declared(each, hosts[each.id]) for each in seen.cluster.nodes)
    samples = tuple(sample for each in found for sample in each.samples())
    return Request(
        cluster=attrs.evolve(seen.cluster, nodes=nodes),
        topologies=tuple(each.topology() for each in found),
        assignment=FrozenMap() if slowdown is None else seen.assignment,
        metrics=attrs.evolve(seen.metrics, tasks=samples, nodes=()),
        profiles=tuple(profile for each in found for profile in each.profiles()),
        limits=attrs.evolve(declared.limits, slowdown=slowdown, fill=declared.limits.fill or FILL),
        seed=declared.seed,
    )


def _as_declared(found: Node, declared: Node) -> Node:
    capacity = Resources({**found.capacity, "cpu": declared.capacity.cpu})
    return attrs.evolve(found, capacity=capacity, bandwidth=declared.bandwidth)


def _told(found: Topology, declared: Topology, query: Query, request: Request, seen: Observation) -> _Burning | _Real:
    if isinstance(query, Burners):
        return _Burning(found, declared, query.stages, request.profiles)
    return _Real(found, seen.metrics.tasks)


class _Real:
    """A query that does real work, as it was measured."""

    def __init__(self, found: Topology, tasks: Sequence[TaskSample]) -> None:
        own = {each.id for each in found.tasks()}
        self._found, self._tasks = found, [each for each in tasks if each.task in own]

    def topology(self) -> Topology:
        """The query as it was found."""
        return self._found

    def samples(self) -> Iterator[TaskSample]:
        """Measured processor time of each task."""
        return iter(self._tasks)

    def profiles(self) -> Iterator[Profile]:
        """None: nothing is known of other rates."""
        return iter(())


class _Burning:
    """A query that burns processor time, and what is declared of it; its stages are the layers, in order."""

    def __init__(
        self, found: Topology, declared: Topology, stages: Sequence[Layer], profiles: Sequence[Profile]
    ) -> None:
        self._found, self._declared, self._stages = found, declared, stages
        self._profiles = [each for each in profiles if each.topology == declared.id]
        self._rates = component_rates(declared)
        names, parts = [each.id for each in found.components], {each.id: each for each in declared.components}
        self._parts = {
            name: tuple(parts[each.id] for each in stage.components) for name, stage in zip(names, stages, strict=True)
        }
        self._stage_of = {part.id: name for name, stage in self._parts.items() for part in stage}

    def topology(self) -> Topology:
        """The query with rates, selectivities, sizes of tuples, and the mean demand of a stage's tasks."""
        parts = {each.id: each for each in self._found.components}
        components = tuple(self._component(parts[name], stage) for name, stage in self._parts.items())
        return attrs.evolve(self._found, components=components, streams=tuple(map(self._stream, self._found.streams)))

    def samples(self) -> Iterator[TaskSample]:
        """Declared processor time of each task."""
        for name, stage in self._parts.items():
            points = [part.demand.cpu for part in stage for _ in range(part.parallelism)]
            for index, cpu in enumerate(points):
                yield TaskSample(task=f"{self._found.id}/{name}/{index}", cpu=cpu, source=DECLARED)

    def profiles(self) -> Iterator[Profile]:
        """Profiles of each stage whose components all have one, weighted by the tuples that they take."""
        for machine in sorted({each.machine_type for each in self._profiles}):
            own = {each.component: each for each in self._profiles if each.machine_type == machine}
            for name, stage in self._parts.items():
                rate, ids = self._rate(stage), [part.id for part in stage]
                if rate and set(ids) <= own.keys():
                    e = math.fsum(own[part].e * self._rates[part] for part in ids) / rate
                    met = math.fsum(own[part].met for part in ids) / len(ids)
                    yield Profile(topology=self._found.id, component=name, machine_type=machine, e=e, met=met)

    def _rate(self, stage: Sequence[Component]) -> float:
        return math.fsum(self._rates[part.id] for part in stage)

    def _component(self, component: Component, stage: Sequence[Component]) -> Component:
        points = math.fsum(part.demand.cpu * part.parallelism for part in stage)
        demand = Resources({**component.demand, "cpu": points / component.parallelism})
        rate = self._rate(stage)
        if component.kind is Kind.SPOUT:
            return attrs.evolve(component, demand=demand, rate=rate)
        emitted = sum(each for source, each, _ in self._emitted() if source == component.id)
        return attrs.evolve(component, demand=demand, selectivity=emitted / rate if rate else 1.0)

    def _stream(self, stream: Stream) -> Stream:
        rows = [(rate, size) for source, rate, size in self._emitted() if source == stream.source]
        rate = math.fsum(each for each, _ in rows)
        sizes = math.fsum(each * size for each, size in rows)
        return attrs.evolve(stream, rate=rate, tuple_bytes=sizes / rate if rate else None)

    def _emitted(self) -> Iterator[tuple[str, float, int]]:
        """Stage, tuples/s and bytes of a tuple of each declared stream."""
        for stream, rate in zip(self._declared.streams, stream_rates(self._declared), strict=True):
            yield self._stage_of[stream.source], rate, payload_size(stream)
