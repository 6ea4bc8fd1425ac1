"""Order in which classes come, so that few of those that came matter to those that are still to come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


def order_of(between: Floats, topology: Ints, count: Ints, free: Ints) -> Ints:
    """Order of the free classes, topology by topology, each time the one that leaves the narrowest frontier.

    Args:
        between: Traffic between classes, shape (k, k).
        topology: Topology of each, shape (k,).
        count: Tasks of each, shape (k,).
        free: Indices of the classes to order.
    """
    order: list[int] = []
    for each in dict.fromkeys(topology[free].tolist()):
        left = [at for at in free.tolist() if topology[at] == each]
        begin = len(order)
        while left:
            mine = order[begin:]
            best = min(left, key=lambda at: (_width(between, count, [*mine, at], [x for x in left if x != at]), at))
            order.append(best)
            left.remove(best)
    return np.array(order, dtype=np.int64)


def _width(between: Floats, count: Ints, done: list[int], left: list[int]) -> float:
    """States of the frontier when some classes came and others are still to come."""
    return float(np.prod([count[at] + 1.0 for at in done if between[at, left].any()]))
