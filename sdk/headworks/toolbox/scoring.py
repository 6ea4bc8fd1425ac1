"""Scores of many placements at once, for searches that compare whole populations of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from headworks.problem import Problem

    Ints = NDArray[np.int64]


@attrs.frozen(eq=False, kw_only=True)
class PlacementScores:
    """What k placements cost, int64 (k,) each.

    Attributes:
        inter_node: Traffic between tasks on different nodes, in units of `Traffic`.
        nodes: Nodes in use.
        overfull: Nodes that have less of some resource than their tasks need.
        unplaced: Tasks without a node.
    """

    inter_node: NDArray[np.int64]
    nodes: NDArray[np.int64]
    overfull: NDArray[np.int64]
    unplaced: NDArray[np.int64]


def score_all(problem: Problem, node_of: Ints) -> PlacementScores:
    """Score placements; slots, heaps and constraints are not looked at, a `Room` knows them.

    Args:
        node_of: Node index of each task in each placement, int64 (k, n), -1 for a task without one.
    """
    placements, width = len(node_of), problem.m + 1
    cell = node_of + 1 + width * np.arange(placements)[:, None]  # of each placement and node, 0 is nowhere

    def summed(tasks: slice, amounts: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """Tasks of a range, or their amounts, by placement and node, float64 (k, m); exact."""
        weights = np.ones(problem.n) if amounts is None else amounts
        flat = np.bincount(cell[:, tasks].ravel(), np.tile(weights[tasks], placements), minlength=placements * width)
        found: NDArray[np.float64] = flat.reshape(placements, width)[:, 1:].astype(np.float64)
        return found

    held = summed(slice(None))
    over = np.zeros(held.shape, dtype=bool)
    for need, capacity in zip(problem.demand.T, problem.capacity.T, strict=True):
        over |= summed(slice(None), need) > capacity
    return PlacementScores(
        inter_node=problem.traffic.total - _local(problem, node_of, summed),
        nodes=(held > 0).sum(axis=1),
        overfull=over.sum(axis=1),
        unplaced=(node_of < 0).sum(axis=1),
    )


def _local(problem: Problem, node_of: Ints, count: Callable[[slice], NDArray[np.float64]]) -> Ints:
    """Units of traffic within nodes, int64 (k,)."""
    sparse, blocks = problem.traffic.sparse, problem.traffic.blocks
    ends = ((row[sparse.sources], row[sparse.indices]) for row in node_of)
    flows = (sparse.rate[(here >= 0) & (here == there)].sum() for here, there in ends)
    found: Ints = np.fromiter(flows, dtype=np.int64, count=len(node_of))
    counts: dict[tuple[int, int], NDArray[np.float64]] = {}  # many streams have one component
    for a0, a1, b0, b1, rate in blocks:
        for side in ((a0, a1), (b0, b1)):
            if side not in counts:
                counts[side] = count(slice(*side))
        pairs = (counts[a0, a1] * counts[b0, b1]).sum(axis=1)
        itself = (node_of[:, max(a0, b0) : max(min(a1, b1), max(a0, b0))] >= 0).sum(axis=1)  # sends itself nothing
        found = found + rate * (pairs.astype(np.int64) - itself)
    return found
