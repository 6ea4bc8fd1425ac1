"""The same request at another load, or with other numbers of tasks."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import attrs

from headworks.errors import DocumentError, pointer
from headworks.model import Flow, FrozenMap, Request, Resources, Step, StreamSample, TaskSample
from headworks.model.topology import CORE
from headworks.model.validate import check_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headworks.model import Component, Metrics, NodeSample, Plan, Task, Topology


S = TypeVar("S", Flow, StreamSample)


def scaled(request: Request, factor: float | Mapping[str, float], *, memory: bool = False) -> Request:
    """The request with every measured rate and CPU demand multiplied.

    CPU, and memory if asked for, grow in proportion to a task's input, rho being what it needs for a tuple (D-Storm,
    Eq. 5.1).

    Args:
        factor: 0 or more, 1 changes nothing: one for all, or by id of the topology, 1 for those not named.
        memory: Whether memory grows as well; by default it is left as it was measured, as a JVM's hardly does.
    """
    metrics = request.metrics
    factors = (
        dict.fromkeys((each.id for each in request.topologies), factor) if not isinstance(factor, Mapping) else factor
    )
    of = {task.id: factors.get(each.id, 1.0) for each in request.topologies for task in each.tasks()}
    tasks = tuple(_task(sample, of[sample.task], memory=memory) for sample in metrics.tasks)
    return attrs.evolve(
        request,
        metrics=attrs.evolve(
            metrics,
            tasks=tasks,
            nodes=_nodes(request, tasks),
            flows=tuple(_stream(flow, of[flow.source]) for flow in metrics.flows),
            streams=tuple(_stream(each, factors.get(each.topology, 1.0)) for each in metrics.streams),
        ),
    )


def _nodes(request: Request, tasks: Iterable[TaskSample]) -> tuple[NodeSample, ...]:
    """Samples of the nodes, on which the CPU of their tasks is now that of other samples of these."""
    more: dict[str, float] = defaultdict(float)
    for before, after in zip(request.metrics.tasks, tasks, strict=True):
        if before.task in request.assignment:
            more[request.assignment[before.task].node] += (after.cpu or 0.0) - (before.cpu or 0.0)
    return tuple(
        each if each.cpu is None else attrs.evolve(each, cpu=max(each.cpu + more[each.node], 0.0))
        for each in request.metrics.nodes
    )


def at_offered_load(request: Request, *, memory: bool = False) -> Request:
    """The request as it would be measured if every topology completed what is offered to it.

    A topology stays as it is if it keeps up, if either rate was not measured, or if it completes nothing. No task needs
    more CPU than its threads can use.
    """
    growth = {
        sample.topology: sample.offered / sample.throughput
        for sample in request.metrics.topologies
        if sample.offered and sample.throughput and sample.offered > sample.throughput
    }
    if not growth:
        return request
    found = scaled(request, growth, memory=memory)
    points = {task.id: part.thread_points for each in request.topologies for part, task in _parts(each)}
    pairs = zip(request.metrics.tasks, found.metrics.tasks, strict=True)
    tasks = tuple(_within_threads(seen, grown, points[seen.task]) for seen, grown in pairs)
    return attrs.evolve(found, metrics=attrs.evolve(found.metrics, tasks=tasks, nodes=_nodes(request, tasks)))


def _parts(topology: Topology) -> Iterator[tuple[Component, Task]]:
    """Each task with its component."""
    parts = {part.id: part for part in topology.components}
    return ((parts[task.component], task) for task in topology.tasks())


def _within_threads(seen: TaskSample, grown: TaskSample, points: float) -> TaskSample:
    """The sample with the CPU that its threads can use, which were those that it was seen to use at least."""
    if seen.cpu is None or grown.cpu is None:
        return grown
    return attrs.evolve(grown, cpu=min(grown.cpu, max(points, CORE * math.ceil(seen.cpu / CORE))))


def at_load(request: Request, load: float) -> Request:
    """The request at the rate that would keep a share of the cluster's CPU busy.

    Args:
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
    """The request whose components declare the mean of the measured needs of their tasks.

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


def rescaled(request: Request, plan: Plan) -> Request:
    """Rescale the request to the numbers of tasks that a plan chooses; the request itself where it chooses none.

    Tasks are numbered from 0. Tasks beyond a smaller number go, with their samples and places. Measured flows of a
    changed topology go too. If the plan has an input rate, components with profiles have a CPU demand of 0, as their
    profiles state the cost (`headworks.problem.arrays.profiles`).

    Raises:
        DocumentError: The plan names a component that is not there, fewer than one task, or far too many.
    """
    return with_instances(request, plan.parallelism, priced=plan.input_rate is not None)


def with_instances(request: Request, parallelism: Mapping[str, int], *, priced: bool = False) -> Request:
    """The request with other numbers of tasks, by `topology/component`; see `rescaled`.

    Args:
        parallelism: Numbers of tasks; components that are not named keep theirs.
        priced: Whether profiles stand in for the CPU demands of the components that have some.
    """
    if not parallelism and not priced:
        return request
    known = {f"{topology.id}/{part.id}" for topology in request.topologies for part in topology.components}
    for name, count in sorted(parallelism.items()):
        if name not in known:
            raise DocumentError(pointer("parallelism", name), f"{name!r} is not a component of the request")
        if not isinstance(count, int) or count < 1:
            raise DocumentError(
                pointer("parallelism", name), f"{name} would have {count!r} tasks; at least 1 is needed"
            )
    check_size(
        attrs.evolve(request, topologies=tuple(_resized(each, parallelism, set()) for each in request.topologies))
    )
    paid = {f"{each.topology}/{each.component}" for each in request.profiles} if priced else set()
    topologies = tuple(_resized(topology, parallelism, paid) for topology in request.topologies)
    tasks = {task.id for topology in topologies for task in topology.tasks()}
    changed = {new.id for old, new in zip(request.topologies, topologies, strict=True) if old.tasks() != new.tasks()}
    return attrs.evolve(
        request,
        topologies=topologies,
        assignment=FrozenMap({task: slot for task, slot in request.assignment.items() if task in tasks}),
        metrics=_remaining(request.metrics, tasks, changed, paid),
    )


def _resized(topology: Topology, parallelism: Mapping[str, int], paid: set[str]) -> Topology:
    parts = []
    for part in topology.components:
        name = f"{topology.id}/{part.id}"
        demand = Resources({**part.demand, "cpu": 0.0}) if name in paid else part.demand
        parts.append(attrs.evolve(part, parallelism=parallelism.get(name, part.parallelism), demand=demand))
    return attrs.evolve(topology, components=tuple(parts))


def _remaining(metrics: Metrics, tasks: set[str], changed: set[str], paid: set[str]) -> Metrics:
    samples = [sample for sample in metrics.tasks if sample.task in tasks]
    return attrs.evolve(
        metrics,
        tasks=tuple(attrs.evolve(each, cpu=None) if each.task.rpartition("/")[0] in paid else each for each in samples),
        flows=tuple(flow for flow in metrics.flows if flow.source.split("/", 1)[0] not in changed),
        streams=tuple(stream for stream in metrics.streams if stream.topology not in changed),
    )


def rescale_refusals(plan: Plan, topologies: Iterable[Topology]) -> tuple[Step, ...]:
    """Failed steps, one a component, with which an engine that cannot rescale refuses a plan of another parallelism.

    Args:
        topologies: The topologies as the engine runs them.
    """
    return tuple(
        Step(action="rescale", subject=said.partition(" ")[0], done=False, message=said)
        for said in rescale_differences(plan, topologies)
    )


def rescale_differences(plan: Plan, topologies: Iterable[Topology]) -> Iterator[str]:
    """A sentence for each component whose parallelism in the plan differs from the running one."""
    for topology in topologies:
        for part in topology.components:
            wanted = plan.parallelism.get(f"{topology.id}/{part.id}", part.parallelism)
            if wanted != part.parallelism:
                yield f"{topology.id}/{part.id} runs {part.parallelism} tasks, the plan has {wanted}: rescale it first"
