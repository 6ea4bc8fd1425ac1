"""Plans that choose the numbers of tasks: the request as such a plan would have it, and what an engine runs instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.errors import DocumentError, pointer
from headworks.model import FrozenMap, Resources, Step
from headworks.model.validate import check_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from headworks.model import Metrics, Plan, Request, Topology


def rescaled(request: Request, plan: Plan) -> Request:
    """Rescale the request to the numbers of tasks that a plan chooses; the request itself where it chooses none.

    Tasks are numbered from 0: those beyond a smaller number are gone with their samples and places, and measured
    flows of a topology that changes are too. If the plan has an input rate, CPU demands of components that have
    profiles are 0: their profiles say what they cost (`headworks.problem.arrays.profiles`).

    Args:
        request: A valid request.
        plan: The plan, with the parallelism that it chooses.

    Raises:
        DocumentError: The plan names a component that is not there, fewer than one task, or far too many.
    """
    return with_instances(request, plan.parallelism, priced=plan.input_rate is not None)


def with_instances(request: Request, parallelism: Mapping[str, int], *, priced: bool = False) -> Request:
    """The request with other numbers of tasks, by `topology/component`; see `rescaled`.

    Args:
        request: A valid request.
        parallelism: Numbers of tasks; components that are not named keep theirs.
        priced: Whether profiles stand in for the CPU demands of the components that have some.
    """
    if not parallelism and not priced:
        return request
    known = {f"{topology.id}/{part.id}" for topology in request.topologies for part in topology.components}
    for name, count in sorted(parallelism.items()):
        if name not in known:
            raise DocumentError(pointer("parallelism", name), f"{name!r} is no component of the request")
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
        plan: The plan, with the parallelism that it chooses.
        topologies: The topologies as the engine runs them.
    """
    return tuple(
        Step(action="rescale", subject=said.partition(" ")[0], done=False, message=said)
        for said in rescale_differences(plan, topologies)
    )


def rescale_differences(plan: Plan, topologies: Iterable[Topology]) -> Iterator[str]:
    """A sentence for each component whose parallelism in the plan is not the one that runs.

    Args:
        plan: The plan, with the parallelism that it chooses.
        topologies: The topologies as the engine runs them.
    """
    for topology in topologies:
        for part in topology.components:
            wanted = plan.parallelism.get(f"{topology.id}/{part.id}", part.parallelism)
            if wanted != part.parallelism:
                yield f"{topology.id}/{part.id} runs {part.parallelism} tasks, the plan has {wanted}: rescale it first"
