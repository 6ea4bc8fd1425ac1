"""Whether any placement exists, by trying them all: what small instances are judged by."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headgate.problem import Problem

MAX_TASKS, MAX_NODES = 8, 3


def placeable(problem: Problem) -> bool:
    """Whether every task has a node such that capacity, slots and heap limits hold; moves are not looked at.

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
    """Whether one node can hold the tasks that `nodes` (node by task) gives it."""
    here = [task for task, each in enumerate(nodes) if each == node]
    if (problem.demand[here].sum(axis=0) > problem.capacity[node]).any():
        return False
    workers = sum(_workers(problem, here, topology) for topology in set(problem.topology[here].tolist()))
    return workers <= int(problem.slots[node])


def _workers(problem: Problem, here: list[int], topology: int) -> float:
    """Fewest worker processes for one topology's tasks on a node: exact bin packing of their heaps.

    Every subset of tasks is filled task by task; (workers, heap in the last one) is least for the best order.
    """
    heaps = [float(problem.heap[task]) for task in here if problem.topology[task] == topology]
    limit = float(problem.heap_limit[topology])
    if max(heaps) > limit:
        return float("inf")
    best = {0: (1, 0.0)}
    for subset in range(1, 1 << len(heaps)):
        ways = []
        for task, heap in enumerate(heaps):
            if subset >> task & 1:
                workers, last = best[subset ^ (1 << task)]
                ways.append((workers, last + heap) if last + heap <= limit else (workers + 1, heap))
        best[subset] = min(ways)
    return best[(1 << len(heaps)) - 1][0]
