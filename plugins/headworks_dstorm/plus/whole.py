"""The start of whole topologies, on the number of nodes that pays best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks.toolbox.whole import whole_topologies
from headworks_dstorm.availability import by_availability

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

    from headworks.problem import Problem

    Ints = NDArray[np.int64]

LOOKS = 3
"""Numbers of nodes, at most, between those of another start and as many as whole topologies take, that are tried."""

MANY = 8_000
"""Tasks above which whole topologies are packed twice at most: each packing takes as long as a fill."""


def mostly_whole(problem: Problem) -> bool:
    """Check whether most tasks are of topologies that the largest node holds whole."""
    count = np.bincount(problem.topology, minlength=1)
    need = np.stack([np.bincount(problem.topology, column, minlength=1) for column in problem.demand.T], axis=1)
    whole = (need <= problem.capacity.max(axis=0, initial=0.0)).all(axis=1)
    return bool(2 * count[whole].sum() > problem.n)


def whole(problem: Problem, fewest: int, cost: Callable[[Ints], Any], ended: Callable[[], bool] = bool) -> Ints:
    """Pack whole topologies on several numbers of nodes, those first that have most.

    Args:
        problem: The problem.
        fewest: Nodes of the start that needs fewest: fewer are not tried.
        cost: What a placement costs, of any kind that can be compared.
        ended: Whether to end now, with what was found.

    Returns:
        Node index of each task in the packing that costs least, int64 (n,), -1 where nothing fits.
    """
    order = by_availability(problem)
    best = whole_topologies(problem, order[fewest:], ended=ended)
    if problem.n > MANY and (best >= 0).all():
        return best
    low, high, number, least = fewest, problem.m, problem.m, cost(best)
    for _ in range(1 + LOOKS if problem.n <= MANY else 1):
        if ended():
            break
        found = whole_topologies(problem, order[number:], ended=ended)
        if (now := cost(found)) < least:
            best, least, high = found, now, len(np.unique(found[found >= 0]))
        else:
            low = number
        number = (low + high) // 2
        if not low < number < high:
            break
    return best
