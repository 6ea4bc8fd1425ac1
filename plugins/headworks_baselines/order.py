"""The order in which a resource-aware scheduler takes the tasks of a topology."""

from __future__ import annotations

from collections import defaultdict, deque
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from headworks.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headworks.model import Topology


def connection_order(topology: Topology, tasks: Mapping[str, list[int]]) -> list[int]:
    """Storm's ExecSorterByConnectionCount.

    Components with most connections (pairs of tasks with a neighbour) first; from each one, one task of it and
    one of every neighbour in turn, neighbours with fewest tasks first, until all of them are taken.

    Args:
        topology: Its components and streams.
        tasks: Indices of the waiting tasks of each component, ascending.
    """
    width = {component.id: component.parallelism for component in topology.components}
    near = _neighbours(topology)
    connections = {name: width[name] * sum(width[other] for other in near[name]) for name in width}
    queues = {name: deque(tasks.get(name, ())) for name in width}
    taken: list[int] = []
    for name in sorted(width, key=lambda each: (-connections[each], each)):
        turns = [name, *sorted(near[name], key=lambda other: (width[other], other))]
        for round_ in zip_longest(*(_drain(queues[each]) for each in turns)):
            taken += [task for task in round_ if task is not None]
    return taken


def _drain(queue: deque[int]) -> Iterator[int]:
    while queue:
        yield queue.popleft()


def breadth_first_order(topology: Topology, tasks: Mapping[str, list[int]]) -> list[int]:
    """R-Storm's task selection: one task of every component in turn, components breadth first from the spouts.

    A component's neighbours are those that it sends to and receives from, by id; what no spout reaches is last.

    Args:
        topology: Its components and streams.
        tasks: Indices of the waiting tasks of each component, ascending.
    """
    rounds = zip_longest(*(tasks.get(name, []) for name in _breadth_first(topology)))
    return [task for task in chain.from_iterable(rounds) if task is not None]


def _breadth_first(topology: Topology) -> list[str]:
    near = _neighbours(topology)
    roots = sorted(topology.components, key=lambda each: (each.kind is not Kind.SPOUT, each.id))
    seen: dict[str, None] = {}
    for root in roots:
        queue = deque([root.id])
        while queue:
            name = queue.popleft()
            if name not in seen:
                seen[name] = None
                queue.extend(sorted(near[name] - seen.keys()))
    return list(seen)


def _neighbours(topology: Topology) -> Mapping[str, set[str]]:
    near: dict[str, set[str]] = defaultdict(set)
    for stream in topology.streams:
        if stream.source != stream.target:
            near[stream.source].add(stream.target)
            near[stream.target].add(stream.source)
    return near
