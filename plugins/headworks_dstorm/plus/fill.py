"""A fill along the streams: tasks that talk to each other in turn, first fit, onto few nodes."""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

import numpy as np

from headworks_dstorm.availability import by_availability

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from headworks.model import Topology
    from headworks.problem import Problem
    from headworks.problem.room.room import Room


def fill(problem: Problem, *, ended: Callable[[], bool] = bool) -> NDArray[np.int64]:
    """First fit over the nodes in the order of Eq. 5.4: those that the topology uses, then those in use, then all.

    Topologies come by their largest task, so that small ones fill what is left.

    Args:
        problem: The problem.
        ended: Whether to end now, with the tasks placed so far.

    Returns:
        Node index of each task, -1 where nothing fits.
    """
    rank = np.empty(problem.m, dtype=np.int64)
    rank[by_availability(problem)] = np.arange(problem.m)
    room, demand, heap = problem.room(), problem.demand.tolist(), problem.heap.tolist()
    # constraints bind components: tasks of two of them are not alike then
    alike = problem.component.tolist() if problem.constraints else [0] * problem.n
    used = np.zeros(problem.m, dtype=bool)
    used[problem.fixed[problem.fixed >= 0]] = True
    whole = sorted(problem.request.topologies, key=lambda each: each.id)
    for topology in _largest_first(problem):
        here = np.zeros(problem.m, dtype=bool)
        here[room.node_of[(problem.topology == topology) & (room.node_of >= 0)]] = True
        order = rank - problem.m * (here * 2 + used)
        near = sorted(np.flatnonzero(here).tolist(), key=order.__getitem__)
        # what has no room for a task never has for another one that is alike: nodes fill, and no task leaves
        full: dict[tuple[float, ...], set[int]] = defaultdict(set)
        for task in _order(problem, topology, whole[topology]):
            if ended():
                return room.node_of
            known = full[(alike[task], heap[task], *demand[task])]
            if _is_placed_near(room, task, near, known):
                continue
            node = _place_far(room, task, demand[task], here, order)
            if node is None:
                continue
            here[node] = used[node] = True
            order[node] = rank[node] - 3 * problem.m
            insort(near, node, key=order.__getitem__)
    return room.node_of


def _is_placed_near(room: Room, task: int, near: list[int], known: set[int]) -> bool:
    """Place a task on the first node that the topology uses and that has room for it; those without are known then."""
    for node in near:
        if node not in known:
            if room.place_if_fits(task, node):
                return True
            known.add(node)
    return False


def _place_far(
    room: Room, task: int, demand: list[float], here: NDArray[np.bool_], order: NDArray[np.int64]
) -> int | None:
    """Place a task on the first node in an order, of those that the topology does not use, that has room for it.

    Heap limits, which take longest, are asked of few nodes.
    """
    may = ~here & (room.free_slots > 0)  # a node that the topology does not use yet needs a slot
    for free, need in zip(room.free.T, demand, strict=True):
        may &= free >= need
    nodes = np.flatnonzero(may)
    while len(nodes):
        at = order[nodes].argmin()
        if room.place_if_fits(task, int(nodes[at])):
            return int(nodes[at])
        nodes = np.delete(nodes, at)
    return None


def _largest_first(problem: Problem) -> list[int]:
    """Topologies by their largest task, as a share of the largest node."""
    widest = np.maximum(problem.capacity.max(axis=0, initial=0.0), problem.demand.max(axis=0, initial=0.0))
    size = np.divide(problem.demand, widest, out=np.zeros_like(problem.demand), where=widest > 0)
    largest = np.zeros(len(problem.topology_ids))
    np.maximum.at(largest, problem.topology, size.max(axis=1, initial=0.0))
    order: list[int] = np.argsort(-largest, kind="stable").tolist()
    return order


def _order(problem: Problem, topology: int, whole: Topology) -> list[int]:
    """The free tasks of a topology: a component with most connections, in turn with its neighbours, narrow ones first.

    Connections are pairs of tasks with a stream between them.
    """
    number = {name: index for index, (owner, name) in enumerate(problem.components) if owner == whole.id}
    free = np.flatnonzero((problem.topology == topology) & (problem.fixed < 0))
    waiting = {name: free[problem.component[free] == index].tolist() for name, index in number.items()}
    near: dict[str, set[str]] = defaultdict(set)
    for stream in whole.streams:
        if stream.source != stream.target:
            near[stream.source].add(stream.target)
            near[stream.target].add(stream.source)
    width = {name: len(tasks) for name, tasks in waiting.items()}
    connections = {name: width[name] * sum(width[other] for other in near[name]) for name in width}
    order: list[int] = []
    for name in sorted(width, key=lambda each: (-connections[each], each)):
        lines = [waiting.pop(each, []) for each in (name, *sorted(near[name], key=lambda each: (width[each], each)))]
        order += [task for task in chain.from_iterable(zip_longest(*lines)) if task is not None]
    return order
