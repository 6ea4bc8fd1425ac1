"""A smaller request that shows the same fault: parts are left out as long as the fault stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.model import FrozenMap, Limits, Metrics, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headworks.model import Component, Topology

TRIES = 200
"""Requests tried at most."""


def weight(request: Request) -> int:
    """Tasks, nodes and everything said about them."""
    parts = [part for topology in request.topologies for part in topology.components]
    metrics = request.metrics
    said = len(request.assignment) + len(metrics.tasks) + len(metrics.flows) + len(metrics.nodes)
    return sum(part.parallelism for part in parts) + len(parts) + len(request.cluster.nodes) + said


def shrink(request: Request, fails: Callable[[Request], bool]) -> Request:
    """The smallest request found, starting from one for which `fails` is true; greedy, at most `TRIES` calls."""
    left = TRIES
    smaller: Request | None = request
    while smaller is not None:
        request, smaller = smaller, None
        for candidate in _smaller(request):
            if not left:
                return request
            left -= 1
            # Greedy: the first smaller request that still fails becomes the new start.
            if fails(candidate):
                smaller = candidate
                break
    return request


def _smaller(request: Request) -> Iterator[Request]:
    """Requests with one part less, the largest parts first."""
    for topology in request.topologies:
        yield _with(request, [each for each in request.topologies if each is not topology])
    if request.metrics != Metrics():
        yield attrs.evolve(request, metrics=Metrics())
    if request.assignment:
        yield attrs.evolve(request, assignment=FrozenMap())
    if request.limits != Limits():
        yield attrs.evolve(request, limits=Limits())
    for node in request.cluster.nodes:
        nodes = tuple(each for each in request.cluster.nodes if each is not node)
        samples = tuple(sample for sample in request.metrics.nodes if sample.node != node.id)
        metrics = attrs.evolve(request.metrics, nodes=samples)
        yield attrs.evolve(request, cluster=attrs.evolve(request.cluster, nodes=nodes), metrics=metrics)
    for topology in request.topologies:
        for less in _lesser(topology):
            yield _with(request, [less if each is topology else each for each in request.topologies])
    for task in request.assignment:
        rest = {other: slot for other, slot in request.assignment.items() if other != task}
        yield attrs.evolve(request, assignment=FrozenMap(rest))


def _lesser(topology: Topology) -> Iterator[Topology]:
    """The topology with a constraint or a component less, or with fewer tasks of one."""
    for constraint in topology.constraints:
        yield attrs.evolve(topology, constraints=tuple(each for each in topology.constraints if each != constraint))
    for part in topology.components:
        yield from _less(topology, part)


def _less(topology: Topology, part: Component) -> Iterator[Topology]:
    """The topology without a component, and with fewer tasks of it."""
    components = tuple(each for each in topology.components if each is not part)
    streams = tuple(each for each in topology.streams if part.id not in (each.source, each.target))
    kept = tuple(attrs.evolve(one, components=_but(one.components, part.id)) for one in topology.constraints)
    pairs = zip(kept, topology.constraints, strict=True)
    named = tuple(new for new, old in pairs if new.components or not old.components)
    yield attrs.evolve(topology, components=components, streams=streams, constraints=named)
    # Halving gets small fast, one less finds the exact number.
    for count in {part.parallelism // 2, part.parallelism - 1} - {0, part.parallelism}:
        fewer = attrs.evolve(part, parallelism=count)
        yield attrs.evolve(topology, components=tuple(fewer if each is part else each for each in topology.components))


def _but(names: tuple[str, ...], gone: str) -> tuple[str, ...]:
    return tuple(name for name in names if name != gone)


def _with(request: Request, topologies: list[Topology]) -> Request:
    """The request with other topologies, and nothing said of tasks that are gone."""
    tasks = {task.id for topology in topologies for task in topology.tasks()}
    kept = {topology.id for topology in topologies}
    metrics = request.metrics
    return attrs.evolve(
        request,
        topologies=tuple(topologies),
        assignment=FrozenMap({task: slot for task, slot in request.assignment.items() if task in tasks}),
        metrics=attrs.evolve(
            metrics,
            tasks=tuple(sample for sample in metrics.tasks if sample.task in tasks),
            flows=tuple(flow for flow in metrics.flows if flow.source in tasks and flow.target in tasks),
            topologies=tuple(sample for sample in metrics.topologies if sample.topology in kept),
        ),
    )
