"""A migration of one executor to one node, and which executors may go where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headgate_nstorm.cases import long_queues

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate.problem import Problem
    from headgate_nstorm.options import Options


@attrs.frozen(kw_only=True)
class Migration:
    """One executor goes to one node. `gain` is its ASC (Eq. 5) in units of traffic: so much less goes between nodes."""

    executor: int
    source: int
    target: int
    gain: int


class Feasibility:
    """Room for executors on nodes: capacity of every resource, a slot, and with the guard no high load.

    An executor whose own queue is too long would bring the high load along: with the guard the others make way for it.
    """

    def __init__(self, problem: Problem, node_of: NDArray[np.int64], options: Options) -> None:
        """Count what is free."""
        self._problem = problem
        self._guard = options.high_load if options.guard else np.inf
        self._stays = frozenset(long_queues(problem, options).tolist() if options.guard else ())
        self._room = problem.room()
        for executor in np.flatnonzero((node_of >= 0) & (problem.fixed < 0)).tolist():
            self._room.place(executor, int(node_of[executor]))

    def nodes(self, executor: int) -> NDArray[np.bool_]:
        """Check each node for room for an executor, bool (m,)."""
        fits: NDArray[np.bool_] = self._room.fits(executor) & self._guarded(executor, slice(None))
        return fits

    def on(self, executor: int, node: int) -> bool:
        """Check one node for room.

        Args:
            executor: Index of the executor.
            node: Index of the node.
        """
        return self._room.fits_on(executor, node) and bool(self._guarded(executor, slice(node, node + 1))[0])

    def _guarded(self, executor: int, span: slice) -> NDArray[np.bool_]:
        """Check that nodes stay below the threshold of high load, if that is asked for."""
        capacity = self._problem.capacity[span, 0]
        if self._guard == np.inf or executor in self._stays:
            return np.full(len(capacity), executor not in self._stays)
        used = capacity - self._room.free[span, 0] + self._problem.demand[executor, 0]
        found: NDArray[np.bool_] = used <= self._guard * capacity
        return found


def best_of(
    table: NDArray[np.int64], executors: NDArray[np.int64], source: int, allowed: NDArray[np.bool_], fit: Feasibility
) -> Migration | None:
    """The migration with the largest ASC; ties go to the lowest executor, then to the lowest node.

    Args:
        table: C of each executor with each node, shape (k, m), see `headgate_nstorm.gains`.
        executors: The k executors, all on one node.
        source: That node.
        allowed: Nodes under low load, bool (m,).
        fit: Room on the nodes.
    """
    found = None
    for row, executor in enumerate(executors.tolist()):
        nodes = np.flatnonzero(allowed & fit.nodes(executor))
        nodes = nodes[nodes != source]
        if not len(nodes):
            continue
        at = int(table[row, nodes].argmax())
        gain = int(table[row, nodes[at]] - table[row, source])
        if found is None or gain > found.gain:
            found = Migration(executor=executor, source=source, target=int(nodes[at]), gain=gain)
    return found


def pinned(problem: Problem, options: Options) -> NDArray[np.bool_]:
    """Executors that never move: those that may not, and spouts if they stay.

    Args:
        problem: The request as arrays.
        options: Whether spouts move.
    """
    kinds = {
        (topology.id, part.id): part.kind.value
        for topology in problem.request.topologies
        for part in topology.components
    }
    stays = np.array([options.spouts == "stay" and kinds[pair] == "spout" for pair in problem.components], dtype=bool)
    found: NDArray[np.bool_] = problem.fixed >= 0
    return found | stays[problem.component] if problem.n else found
