"""Brute force: try all placements of a small request to decide whether one exists."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headworks.problem import Problem

MAX_TASKS, MAX_NODES = 8, 3


def placeable(problem: Problem) -> bool:
    """Check whether every task can have a node within capacity, slots and heap limits; moves are not looked at.

    Tasks are tried depth first in order of index; a branch ends where a node is too full.

    Raises:
        ValueError: There are more than 8 tasks or 3 nodes.
    """
    if problem.n > MAX_TASKS or problem.m > MAX_NODES:
        raise ValueError(f"{problem.n} tasks on {problem.m} nodes are too many to try; at most 8 on 3")
    stack: list[tuple[int, ...]] = [()]
    while stack:
        nodes = stack.pop()
        if len(nodes) == problem.n:
            return True
        free = [int(problem.fixed[len(nodes)])] if problem.fixed[len(nodes)] >= 0 else range(problem.m)
        stack += [(*nodes, node) for node in free if _holds(problem, (*nodes, node), node)]
    return False


def _holds(problem: Problem, nodes: tuple[int, ...], node: int) -> bool:
    """Check whether one node can hold the tasks that `nodes` (node by task) gives it."""
    here = [task for task, each in enumerate(nodes) if each == node]
    if (problem.demand[here].sum(axis=0) > problem.capacity[node]).any():
        return False
    free = [task for task in here if not problem.closed[task]]  # closed ones hold slots that `slots` does not count
    workers = sum(_workers(problem, free, topology) for topology in set(problem.topology[free].tolist()))
    return workers <= int(problem.slots[node])


def _workers(problem: Problem, here: list[int], topology: int) -> float:
    """Fewest worker processes for one topology's tasks on a node: exact bin packing of their heaps.

    Deliberately apart from `headworks.problem.arrays.workers`, whose witness it is. Fixed tasks fill the workers in
    which they run; then every subset of the others is filled task by task, worker after worker, and (workers, heap in
    the last one) is least for the best order.
    """
    mine = [task for task in here if problem.topology[task] == topology]
    limit, held = float(problem.heap_limit[topology]), defaultdict[int, float](float)
    for task in mine:
        if problem.fixed[task] >= 0:
            held[problem.request.assignment[problem.task_ids[task]].port] += float(problem.heap[task])
    heaps = [float(problem.heap[task]) for task in mine if problem.fixed[task] < 0]
    if max(heaps, default=0.0) > limit:
        return float("inf")
    start = [*held.values(), *[0.0] * len(heaps)]
    best = {0: (0, start[0])} if heaps else {0: (len(held) - 1, 0.0)}
    for subset in range(1, 1 << len(heaps)):
        ways = []
        for task, heap in enumerate(heaps):
            if subset >> task & 1:
                worker, used = best[subset ^ (1 << task)]
                if used + heap > limit:
                    worker, used = next(
                        (at, start[at]) for at in range(worker + 1, len(start)) if start[at] + heap <= limit
                    )
                ways.append((worker, used + heap))
        best[subset] = min(ways)
    return max(len(held), best[(1 << len(heaps)) - 1][0] + 1)
