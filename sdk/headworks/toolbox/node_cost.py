"""The worth of a node beside what a scheduler improves: a share of all traffic, or of the rate, for a node in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem import Problem


def node_shares(problem: Problem, node_cost: float, *, by_price: bool = False) -> NDArray[np.float64]:
    """Share that each node in use counts as, float64 (m,).

    Args:
        node_cost: Share of a node, or of the one with the mean price.
        by_price: Whether nodes count in proportion to their prices, one that states none as nothing; where no node
            states a price, all count alike.
    """
    if not by_price or not problem.prices.any():
        return np.full(problem.m, node_cost)
    found: NDArray[np.float64] = node_cost * problem.prices / problem.prices.mean()
    return found
