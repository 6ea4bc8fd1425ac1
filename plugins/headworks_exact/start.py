"""Greedy start, and the answer where there are too many columns to search: whole topologies, and first fits."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from headworks.toolbox.repair import repair
from headworks.toolbox.whole import whole_topologies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from headworks.problem import Problem

BOTH = 5_000
"""Tasks, at most, of a problem for which three packings are compared: one more takes a second for 30,000."""
EXCHANGED = 200
"""Tasks left over, at most, for which places are sought by exchange: each may take hundredths of a second."""


def start(problem: Problem) -> NDArray[np.int64]:
    """The first of several packings that places every task, else the one that leaves fewest, repaired.

    Of the first three, which keep together what belongs together, it is the one with least traffic between nodes,
    unless the problem is large.

    Returns:
        Node index of each task, shape (n,), -1 where no packing has room.
    """
    tries = packings(problem)
    found = list(islice(tries, 3 if problem.n <= BOTH else 1))
    best = min(found, key=partial(_worth, problem))
    if not _left(best) or _overfull(problem):
        return best
    for packing in tries:
        if not _left(packing):
            return packing
        found.append(packing)
    nodes = _nodes(problem).tolist()
    for packing in sorted(found, key=_left):
        if _left(packing) <= EXCHANGED:
            found.append(repair(problem, packing, nodes))
            if not _left(found[-1]):
                break
    return min(found, key=_left)


def packings(problem: Problem) -> Iterator[NDArray[np.int64]]:
    """Whole topologies; tasks as they are numbered; topologies by their largest task; then the largest tasks first.

    The earlier keep together what belongs together; the later leave no gap that is too small for what still comes.
    """
    index = np.arange(problem.n)
    yield whole_topologies(problem)
    yield _first_fit(problem, index, thrifty=False)
    size = _sizes(problem)
    largest = np.zeros(len(problem.topology_ids))
    np.maximum.at(largest, problem.topology, size)
    turn = _turns(problem)
    yield _first_fit(problem, np.lexsort((index, turn, problem.topology, -largest[problem.topology])), thrifty=True)
    halves = np.frexp(np.maximum(size, np.finfo(float).tiny))[1]
    yield _first_fit(problem, np.lexsort((index, turn, problem.topology, -halves)), thrifty=True)
    yield _first_fit(problem, np.lexsort((index, -size)), thrifty=False)


def _first_fit(problem: Problem, tasks: NDArray[np.int64], *, thrifty: bool) -> NDArray[np.int64]:
    """Each task in its order on the first node with room, nodes with most CPU first.

    With `thrifty`, on the first where it takes no further slot, if there is one.
    """
    room, order = problem.room(), _nodes(problem)
    for task in tasks[problem.fixed[tasks] < 0].tolist():
        fits = room.fits(task)
        if thrifty and (joins := fits & room.joins_worker(task)).any():
            fits = joins
        if fits.any():
            room.place(task, int(order[fits[order].argmax()]))
    return room.node_of


def _nodes(problem: Problem) -> NDArray[np.int64]:
    return np.lexsort((np.arange(problem.m), -problem.capacity[:, 0]))


def _sizes(problem: Problem) -> NDArray[np.float64]:
    """Share that each task takes of the largest node, by the resource that is shortest, slots too; float64 (n,)."""
    demand, widest = problem.demand, problem.capacity.max(axis=0, initial=0.0)
    share = np.divide(demand, widest, out=np.zeros_like(demand), where=widest > 0).max(axis=1, initial=0.0)
    limit = problem.heap_limit[problem.topology]
    workers = np.divide(problem.heap, limit, out=np.zeros_like(limit), where=limit > 0)
    size: NDArray[np.float64] = np.maximum(share, workers / max(int(problem.slots.max(initial=0)), 1))
    return size


def _turns(problem: Problem) -> NDArray[np.float64]:
    """Turn of each task of a component, of 0 to 1, so that components of a topology are placed side by side."""
    count = np.bincount(problem.component)
    start = np.cumsum(count) - count
    turn: NDArray[np.float64] = (np.arange(problem.n) - start[problem.component] + 0.5) / count[problem.component]
    return turn


def _overfull(problem: Problem) -> bool:
    """Check whether all nodes together have less than all tasks need."""
    return bool((problem.demand.sum(axis=0) > problem.capacity.sum(axis=0)).any())


def _worth(problem: Problem, node_of: NDArray[np.int64]) -> tuple[int, int]:
    return _left(node_of), problem.traffic.inter_node(node_of)


def _left(node_of: NDArray[np.int64]) -> int:
    return int((node_of < 0).sum())
