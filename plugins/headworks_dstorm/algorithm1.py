"""Algorithm 1 as it is printed: every priority is computed anew for every placement. Quadratic; the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks_dstorm.availability import by_availability

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks_dstorm.options import Options


def place_literally(problem: Problem, options: Options) -> NDArray[np.int64]:
    """Run Algorithm 1; fixed tasks are in their places before it begins.

    Args:
        problem: The request as arrays.
        options: Weights alpha and beta, D_Threshold, and how what the paper leaves open is read.

    Returns:
        Node index of each task, -1 for those left when nodes run out (the algorithm's Failure).
    """
    return _Algorithm1(problem, options).run()


class _Algorithm1:
    def __init__(self, problem: Problem, options: Options) -> None:
        self.problem = problem
        self.options = options
        self.room = problem.room()
        self.node_of = self.room.node_of.tolist()
        self.demand = problem.demand.tolist()
        self.capacity = problem.capacity.tolist()
        self.peers = _peers(problem)

    def run(self) -> NDArray[np.int64]:
        remaining = [task for task, node in enumerate(self.node_of) if node < 0]
        for node in by_availability(self.problem):  # lines 1, 3-8
            while viable := [task for task in remaining if self.room.fits_on(task, node)]:  # line 9
                best = self.highest(viable, node)  # lines 10-13
                self.room.place(best, node)  # lines 14, 16
                self.node_of[best] = node
                remaining.remove(best)  # line 15
        return np.array(self.node_of, dtype=np.int64)

    def highest(self, viable: list[int], node: int) -> int:
        """The task of highest priority, the lowest one among equals."""
        used = (self.problem.capacity[node] - self.room.free[node]).tolist()
        return max(viable, key=lambda task: (self.priority(task, node, used), -task))

    def priority(self, task: int, node: int, used: list[float]) -> float:
        """Priority of Eq. 5.5."""
        before = _usage(used, self.capacity[node])
        after = _usage([a + b for a, b in zip(used, self.demand[task], strict=True)], self.capacity[node])
        # Eq. 5.5: rho1 to what the machine holds, rho2 to what is not placed, rho3 the share of the critical resource
        rho1 = sum(rate for peer, rate in self.peers[task] if self.node_of[peer] == node)
        rho2 = sum(rate for peer, rate in self.peers[task] if self.node_of[peer] < 0)
        rho3 = after - before
        usage = before if self.options.threshold_usage == "before" else after
        benefit = self.options.alpha * rho1
        if usage <= self.options.threshold:
            benefit += self.options.beta * rho2
        if benefit == 0:
            return 0.0
        if rho3 == 0:
            return float("inf") if self.options.costless == "first" else 0.0
        return benefit / rho3


def _usage(used: list[float], capacity: list[float]) -> float:
    """Share of the critical resource that is in use."""
    return max((amount / whole for amount, whole in zip(used, capacity, strict=True) if whole > 0), default=0.0)


def _peers(problem: Problem) -> list[list[tuple[int, int]]]:
    """Each task's peers and what it exchanges with them, both directions added, pair by pair."""
    exchange: list[dict[int, int]] = [{} for _ in range(problem.n)]
    blocks, sparse = problem.traffic.blocks, problem.traffic.sparse
    columns = attrs.astuple(blocks, recurse=False)
    for a0, a1, b0, b1, rate in zip(*(column.tolist() for column in columns), strict=True):
        for source in range(a0, a1):
            for target in range(b0, b1):
                _add(exchange, source, target, rate)
    flows = zip(sparse.sources.tolist(), sparse.indices.tolist(), sparse.rate.tolist(), strict=True)
    for source, target, rate in flows:
        _add(exchange, source, target, rate)
    return [list(peers.items()) for peers in exchange]


def _add(exchange: list[dict[int, int]], source: int, target: int, rate: int) -> None:
    if source != target:
        exchange[source][target] = exchange[source].get(target, 0) + rate
        exchange[target][source] = exchange[target].get(source, 0) + rate
