"""Load scaling: the same topologies at another load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import attrs

from headworks.errors import DocumentError
from headworks.model import Flow, Request, Resources, StreamSample, TaskSample

S = TypeVar("S", Flow, StreamSample)


def scaled(request: Request, factor: float | Mapping[str, float], *, memory: bool = False) -> Request:
    """The request with every measured rate and CPU demand multiplied.

    CPU, and memory if asked for, grow in proportion to a task's input, rho being what it needs for a tuple (D-Storm,
    Eq. 5.1).

    Args:
        request: With metrics.
        factor: 0 or more, 1 changes nothing: one for all, or by id of the topology, 1 for those not named.
        memory: Whether memory grows as well; by default it is left as it was measured, as a JVM's hardly does.
    """
    metrics = request.metrics
    factors = (
        dict.fromkeys((each.id for each in request.topologies), factor) if not isinstance(factor, Mapping) else factor
    )
    of = {task.id: factors.get(each.id, 1.0) for each in request.topologies for task in each.tasks()}
    return attrs.evolve(
        request,
        metrics=attrs.evolve(
            metrics,
            tasks=tuple(_task(sample, of[sample.task], memory=memory) for sample in metrics.tasks),
            flows=tuple(_stream(flow, of[flow.source]) for flow in metrics.flows),
            streams=tuple(_stream(each, factors.get(each.topology, 1.0)) for each in metrics.streams),
        ),
    )


def at_offered_load(request: Request, *, memory: bool = False) -> Request:
    """The request as it would be measured if every topology completed what is offered to it.

    A topology that keeps up, or of which either was not measured, is left as it is; so is one that completes nothing,
    for what it needs for a tuple is not known.

    Args:
        request: With metrics of topologies.
        memory: Whether memory grows as well.
    """
    growth = {
        sample.topology: sample.offered / sample.throughput
        for sample in request.metrics.topologies
        if sample.offered and sample.throughput and sample.offered > sample.throughput
    }
    return scaled(request, growth, memory=memory) if growth else request


def at_load(request: Request, load: float) -> Request:
    """The request at the rate that would keep a share of the cluster's CPU busy.

    Args:
        request: With measured CPU of at least one task.
        load: Share of all CPU points, 0 to 1.

    Raises:
        DocumentError: No task has measured CPU, or the cluster has none to offer.
    """
    used = sum(sample.cpu or 0.0 for sample in request.metrics.tasks)
    have = sum(node.capacity.cpu for node in request.cluster.nodes)
    if not used or not have:
        raise DocumentError("/metrics/tasks", f"{used:g} CPU points measured of {have:g}: there is nothing to scale")
    return scaled(request, load * have / used)


def declared_from_measured(request: Request) -> Request:
    """The request whose components declare the mean of what their tasks were measured to need.

    This is the pilot run by which a static scheduler gets its profile (D-Storm, section 5.5.1.2).
    """
    cpu: dict[tuple[str, str], list[float]] = {}
    for sample in request.metrics.tasks:
        topology, _, rest = sample.task.partition("/")  # a component's id may have a /
        cpu.setdefault((topology, rest.rpartition("/")[0]), []).append(sample.cpu or 0.0)
    topologies = tuple(
        attrs.evolve(
            topology,
            components=tuple(
                attrs.evolve(part, demand=_mean(part.demand, cpu.get((topology.id, part.id))))
                for part in topology.components
            ),
        )
        for topology in request.topologies
    )
    return attrs.evolve(request, topologies=topologies)


def _mean(demand: Resources, cpu: list[float] | None) -> Resources:
    return Resources({**demand, "cpu": sum(cpu) / len(cpu)}) if cpu else demand


def _task(sample: TaskSample, factor: float, *, memory: bool) -> TaskSample:
    def times(amount: float | None) -> float | None:
        return None if amount is None else amount * factor

    grown = attrs.evolve(sample, cpu=times(sample.cpu), received=times(sample.received), emitted=times(sample.emitted))
    return attrs.evolve(grown, memory=times(sample.memory)) if memory else grown


def _stream(seen: S, factor: float) -> S:
    return attrs.evolve(
        seen,
        tuples=None if seen.tuples is None else seen.tuples * factor,
        bytes=None if seen.bytes is None else seen.bytes * factor,
    )
