"""OTD as a machine with a memory: decide on one migration, carry it out, decide on the next.

Each round costs time in proportion to the number of executors, not to executors times Workers: gains are kept in a
table. Every executor is on a node.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headgate_nstorm.cases import Case, case_of, loads
from headgate_nstorm.gains import GainTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from headgate.problem import Problem
    from headgate_nstorm.options import Options


@attrs.frozen(kw_only=True)
class Migration:
    """One executor goes to one node. `gain` is its ASC in units of traffic: so much less goes between nodes."""

    executor: int
    source: int
    target: int
    gain: int


@attrs.frozen(kw_only=True)
class Decision:
    """A round: which case it was, and what moves, None for nothing."""

    case: Case
    migration: Migration | None = None


class Engine:
    """Algorithms 1 and 2 on Workers that are nodes."""

    def __init__(self, problem: Problem, node_of: NDArray[np.int64], options: Options) -> None:
        """Take the state of the cluster; `node_of` has a node for every executor."""
        self._problem = problem
        self._options = options
        self.node_of = node_of.copy()
        found = loads(problem, node_of, options)
        self._queued = found.high & (found.ratio <= options.high_load)
        self._high, self._low, self._ratio = found.high, found.low, found.ratio
        self.used = np.bincount(node_of, weights=problem.demand[:, 0], minlength=problem.m)
        self._fit = Fit(problem, node_of, options)
        self._pinned = pinned(problem, options)
        self._fixed = np.flatnonzero(self._pinned)
        self.gains = GainTable(problem, node_of, self._low)
        self.inter_node = problem.traffic.inter_node(node_of)
        self._threshold = options.threshold * problem.traffic.total

    def decide(self, tabu: int = -1) -> Decision:
        """Choose the case and the migration of a round.

        Args:
            tabu: An executor that is not to move in this round, -1 for none.
        """
        case = case_of(bool(self._high.any()), bool(self._low.any()))
        if case == "balance":
            return Decision(case=case, migration=self._balance(tabu))
        return Decision(case=case, migration=self._optimise(tabu) if case == "optimise" else None)

    def move(self, migration: Migration) -> None:
        """Carry a migration out."""
        executor, source, target = migration.executor, migration.source, migration.target
        self.gains.move(executor, target)
        self.node_of[executor] = target
        self._fit.move(executor, target)
        cpu = float(self._problem.demand[executor, 0])
        for node, change in ((source, -cpu), (target, cpu)):
            self.used[node] += change
            self._classify(node)
        self.inter_node -= migration.gain

    def _classify(self, node: int) -> None:
        options, exists = self._options, self._problem.slots[node] > 0
        used, have = float(self.used[node]), float(self._problem.capacity[node, 0])
        ratio = used / have if have > 0 else math.inf if used > 0 else 0.0
        high = bool((ratio > options.high_load or self._queued[node]) and exists)
        low = bool(ratio < options.low_load and not high and exists)
        self._ratio[node], self._high[node], self._low[node] = ratio, high, low
        self.gains.allow(node, allowed=low)

    def _balance(self, tabu: int) -> Migration | None:
        """Algorithm 1: the best executor of the Worker with the highest load."""
        worst = int(np.where(self._high, self._ratio, -1.0).argmax())
        executors = np.flatnonzero(self.node_of == worst)
        executors = executors[~self._pinned[executors] & (executors != tabu)]
        return best_of(self.gains.rows(executors), executors, worst, self._low, self._fit)

    def _optimise(self, tabu: int) -> Migration | None:
        """Algorithm 2: the best executor of all, if it gains more than the threshold.

        Where an executor does not fit on its best node, the next best one is looked for; once each.
        """
        gains = self.gains.bounds()
        gains[self._fixed] = -1
        if tabu >= 0:
            gains[tabu] = -1
        known: dict[int, int] = {}
        while len(gains):
            executor = int(gains.argmax())
            source, gain = int(self.node_of[executor]), int(gains[executor])
            if gain <= self._threshold:
                return None
            if executor not in known and self.gains.is_bound(executor):
                self.gains.settle(gains, executor)
                continue
            target = known.get(executor, self.gains.best_node(executor))
            if executor in known or self._fit.on(executor, target):
                return Migration(executor=executor, source=source, target=target, gain=gain)
            one = np.array([executor])
            other = best_of(self.gains.rows(one), one, source, self._low, self._fit)
            gains[executor] = other.gain if other is not None else -1
            known[executor] = other.target if other is not None else -1
        return None


class Fit:
    """Which executor has room on which node: capacity of every resource, and a slot."""

    def __init__(self, problem: Problem, node_of: NDArray[np.int64], options: Options) -> None:
        """Count what is free."""
        self._problem = problem
        self._guard = options.high_load if options.guard else np.inf
        self._room = problem.room()
        for executor in np.flatnonzero((node_of >= 0) & (problem.fixed < 0)).tolist():
            self._room.place(executor, int(node_of[executor]))

    def nodes(self, executor: int) -> NDArray[np.bool_]:
        """Whether it fits, for every node: bool (m,)."""
        fits: NDArray[np.bool_] = self._room.fits(executor) & self._guarded(executor, slice(None))
        return fits

    def on(self, executor: int, node: int) -> bool:
        """Whether it fits on one node."""
        return self._room.fits_on(executor, node) and bool(self._guarded(executor, slice(node, node + 1))[0])

    def _guarded(self, executor: int, span: slice) -> NDArray[np.bool_]:
        """Whether nodes stay below the threshold of high load, if that is asked for."""
        capacity = self._problem.capacity[span, 0]
        if self._guard == np.inf:
            return np.ones(len(capacity), dtype=bool)
        used = capacity - self._room.free[span, 0] + self._problem.demand[executor, 0]
        found: NDArray[np.bool_] = used <= self._guard * capacity
        return found

    def move(self, executor: int, target: int) -> None:
        """Follow a migration."""
        self._room.remove(executor)
        self._room.place(executor, target)


def best_of(
    table: NDArray[np.int64], executors: NDArray[np.int64], source: int, allowed: NDArray[np.bool_], fit: Fit
) -> Migration | None:
    """The best migration of some executors of one node; ties go to the lowest executor, then the lowest node."""
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
    """Executors that never move: those that may not, and spouts if they stay."""
    kinds = {
        (topology.id, part.id): part.kind.value
        for topology in problem.request.topologies
        for part in topology.components
    }
    stays = np.array([options.spouts == "stay" and kinds[pair] == "spout" for pair in problem.components], dtype=bool)
    found: NDArray[np.bool_] = problem.fixed >= 0
    return found | stays[problem.component] if problem.n else found


def rounds(engine: Engine, count: int, *, tabu: bool = False) -> Iterator[Decision]:
    """Decide and move, `count` times at most, until nothing moves; each decision comes after it was carried out.

    With `tabu`, what moved in one round does not move in the next: not in the paper, and a request alone cannot know.
    """
    last = -1
    for _ in range(count):
        decision = engine.decide(last if tabu else -1)
        if decision.migration is not None:
            engine.move(decision.migration)
            last = decision.migration.executor
        yield decision
        if decision.migration is None:
            return
