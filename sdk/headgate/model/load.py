"""Load scaling: the same topologies at another load."""

from __future__ import annotations

import attrs

from headgate.errors import DocumentError
from headgate.model import Flow, Request, Resources, TaskSample


def scaled(request: Request, factor: float) -> Request:
    """The request with every measured rate and CPU demand multiplied.

    CPU grows in proportion to the input (D-Storm, Eq. 5.1); memory is left as it was measured.

    Args:
        request: With metrics.
        factor: 0 or more; 1 changes nothing.
    """
    metrics = request.metrics
    return attrs.evolve(
        request,
        metrics=attrs.evolve(
            metrics,
            tasks=tuple(_task(sample, factor) for sample in metrics.tasks),
            flows=tuple(_flow(flow, factor) for flow in metrics.flows),
        ),
    )


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


def _task(sample: TaskSample, factor: float) -> TaskSample:
    def times(amount: float | None) -> float | None:
        return None if amount is None else amount * factor

    return attrs.evolve(sample, cpu=times(sample.cpu), received=times(sample.received), emitted=times(sample.emitted))


def _flow(flow: Flow, factor: float) -> Flow:
    return attrs.evolve(
        flow,
        tuples=None if flow.tuples is None else flow.tuples * factor,
        bytes=None if flow.bytes is None else flow.bytes * factor,
    )
