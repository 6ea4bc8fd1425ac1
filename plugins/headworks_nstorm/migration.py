"""A migration of one executor to one Worker, and which executors may go where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks_nstorm.cases import long_queues
from headworks_nstorm.workers import ANY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks_nstorm.cases import Loads
    from headworks_nstorm.options import Options
    from headworks_nstorm.workers import Workers

    Ints = NDArray[np.int64]


@attrs.frozen(kw_only=True)
class Migration:
    """One executor goes to one Worker. `gain` is its ASC (Eq. 5) in units of traffic: so much less goes between nodes.

    Attributes:
        executor: Index of the executor.
        source: Index of the node that it leaves.
        target: Index of the node that it goes to.
        worker: Index of the Worker that it goes to.
        gain: ASC in units of traffic.
    """

    executor: int
    source: int
    target: int
    worker: int
    gain: int


class Feasibility:
    """Low-load Workers with room for an executor: a slot, capacity of every resource, with the guard no high load.

    Where capacity is ignored, room is not looked at.

    An executor whose own queue is too long would bring the high load along: with the guard the others make way for it.
    """

    def __init__(self, problem: Problem, workers: Workers, loads: Loads, options: Options) -> None:
        """Count what is free."""
        self._problem, self._workers, self._loads = problem, workers, loads
        self.node_of = workers.node_of
        self._guard = options.high_load if options.guard else np.inf
        self._kept = options.capacity == "kept"
        self._stays = frozenset(long_queues(problem, options).tolist() if options.guard else ())
        self._room = problem.room(self.node_of)
        self._lowest: dict[int, Ints] = {}

    def groups(self, executors: Ints) -> Iterator[tuple[Ints, Ints]]:
        """Executors that may go to the same Workers: their positions, and the Worker of each node, see `lowest`."""
        topologies = self._problem.topology[executors]
        if (self._workers.topology == ANY).all():
            topologies = np.full(len(executors), ANY)
        for topology in np.unique(topologies).tolist():
            yield np.flatnonzero(topologies == topology), self.lowest(topology)

    def lowest(self, topology: int) -> Ints:
        """min_load_worker of each node (line 3), int64 (m,): the lowest load of those under low load, -1 for none."""
        if topology not in self._lowest:
            open_ = np.flatnonzero(self._loads.low & self._workers.serve(topology))
            open_ = open_[np.argsort(-self._loads.ratio[open_], kind="stable")]
            self._lowest[topology] = found = np.full(self._problem.m, -1)
            found[self._workers.node[open_]] = open_  # of those on one node the last, with the lowest load, stays
        return self._lowest[topology]

    def targets(self, executor: int) -> Ints:
        """Worker of each node to which an executor may go, int64 (m,), -1 for none."""
        lowest = self.lowest(int(self._problem.topology[executor]))
        fits = self._room.fits(executor) if self._kept else np.ones(len(lowest), dtype=bool)
        fits[self.node_of[executor]] = True  # it has its room there already
        fits &= (lowest >= 0) & (lowest != self._workers.of[executor])
        fits[fits] = self._guarded(executor, lowest[fits])
        found: Ints = np.where(fits, lowest, -1)
        return found

    def on(self, executor: int, node: int) -> int:
        """Worker of one node to which an executor may go, -1 for none; the same as `targets(executor)[node]`.

        Args:
            executor: Index of the executor.
            node: Index of the node.
        """
        worker = int(self.lowest(int(self._problem.topology[executor]))[node])
        if worker in (-1, int(self._workers.of[executor])):
            return -1
        fits = not self._kept or self.has_room(executor, node)
        return worker if fits and self._guarded(executor, np.array([worker]))[0] else -1

    def has_room(self, executor: int, node: int) -> bool:
        """Check whether a node has room for an executor, which has it where it runs.

        Args:
            executor: Index of the executor.
            node: Index of the node.
        """
        return node == self.node_of[executor] or self._room.fits_on(executor, node)

    def _guarded(self, executor: int, workers: Ints) -> NDArray[np.bool_]:
        """Check that Workers stay below the threshold of high load, if that is asked for."""
        if self._guard == np.inf or executor in self._stays:
            return np.full(len(workers), executor not in self._stays)
        used = self._loads.used[workers] + self._problem.demand[executor, 0]
        found: NDArray[np.bool_] = used <= self._guard * self._workers.cpu[workers]
        return found


def best_of(table: Ints, executors: Ints, fit: Feasibility) -> Migration | None:
    """The migration with the largest ASC; ties go to the lowest executor, then to the lowest node.

    Args:
        table: C of each executor with each node, shape (k, m), see `headworks_nstorm.gains`.
        executors: The k executors.
        fit: Low-load Workers with room.
    """
    found = None
    for row, executor in enumerate(executors.tolist()):
        targets, source = fit.targets(executor), int(fit.node_of[executor])
        nodes = np.flatnonzero(targets >= 0)
        if not len(nodes):
            continue
        at = int(nodes[table[row, nodes].argmax()])
        gain = int(table[row, at] - table[row, source])  # Eq. 5
        if found is None or gain > found.gain:
            found = Migration(executor=executor, source=source, target=at, worker=int(targets[at]), gain=gain)
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
