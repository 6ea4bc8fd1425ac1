"""Column generation: few patterns enter the linear relaxation, and its duals price all the others."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from headgate_exact.patterns import PatternBuilder, Patterns
from headgate_exact.solver import Budget

if TYPE_CHECKING:
    from headgate_exact.pattern_model import PatternModel

    Floats = NDArray[np.float64]

ROUNDING = 1e-9
"""Error of sums of floats, relative to all traffic. The larger it is, the weaker the bound; too small, and rounding
makes a false proof."""
PENALTY = 4.0
"""Price of a task that the relaxation leaves out or has too many of, in all traffic. The larger it is, the wilder are
the first duals; the smaller, the more often the relaxation leaves tasks out though it need not."""
SMOOTH = 0.6
"""Weight of the best duals so far in those that patterns are priced with (Wentges' smoothing). The larger it is, the
less the duals swing, and the more rounds find nothing."""
CLOSE = 1e-6
"""Distance of the bound from the relaxation, in all traffic, at which it is as good as solved."""
ROUNDS = 1_000
"""Rounds of column generation, at most."""
BEAM, WIDEST = 12, 400
"""Patterns in the making that are kept of each group, at first and, after rounds that found nothing, at last. The
larger it is, the better are the patterns that a round finds where several resources bind, and the longer it takes."""
ADDED = 4
"""Patterns of each group that enter in one round, at most."""
PRICED = 1e-9
"""Deterministic seconds that a pattern in a list costs to price, for each class."""


@attrs.frozen(eq=False)
class Lagrangian:
    """Bound on the traffic within the nodes of every placement, from a price of each class.

    Attributes:
        price: float64 (k,), price of a task of each class, in all traffic.
        highest: float64 (G,), the most that a pattern of each group is worth above the prices of its tasks.
        value: Bound, in all traffic: no placement has more within its nodes.
    """

    price: Floats
    highest: Floats
    value: float

    @classmethod
    def of(cls, model: PatternModel, price: Floats, highest: Floats) -> Lagrangian:
        """Add up: a placement is worth the prices of all tasks and what the pattern of each node is worth above them.

        Args:
            model: Classes and groups.
            price: Price of a task of each class.
            highest: Upper bound on what a pattern of each group is worth above its prices.
        """
        return cls(price, highest, float(price @ model.all_tasks + highest @ model.nodes) + ROUNDING)


class Oracle(Protocol):
    """Answers prices with a bound on the worth of patterns above them, and with good ones."""

    def __call__(self, price: Floats, weight: float) -> tuple[Floats, Patterns]:
        """Bound of each group, shape (G,), and patterns.

        Args:
            price: Price of a task of each class, shape (k,).
            weight: Weight of traffic.
        """

    def widen(self) -> bool:
        """Look for patterns harder; False if that cannot be."""


@attrs.define
class Implicit:
    """All patterns, without a list of them."""

    builder: PatternBuilder
    beam: int = BEAM

    def __call__(self, price: Floats, weight: float) -> tuple[Floats, Patterns]:
        """Bounds from the tables, and patterns from a beam."""
        tables = self.builder.tables(price, weight)
        highest = self.builder.highest(tables, weight)
        nothing = np.full(len(highest), -np.inf)
        found = self.builder.build(price, weight, nothing, tables, most=self.beam, beam=True)
        assert found is not None  # a beam is never too wide
        return highest, found

    def widen(self) -> bool:
        """Keep more patterns in the making."""
        self.beam *= 6
        return self.beam <= WIDEST


@attrs.frozen
class Listed:
    """The patterns of a list."""

    patterns: Patterns
    groups: int
    budget: Budget

    def __call__(self, price: Floats, weight: float) -> tuple[Floats, Patterns]:
        """The highest worth in the list, and the pattern that has it."""
        each = self.patterns
        self.budget.take(each.every.size * PRICED)
        above = self.above(price, weight)
        ends = np.searchsorted(each.group, np.arange(self.groups + 1)).tolist()
        pairs = [pair for pair in pairwise(ends) if pair[0] < pair[1]]
        rows = np.array([start + int(above[start:stop].argmax()) for start, stop in pairs], dtype=np.int64)
        # a group whose nodes hold none of them is in no placement
        highest = np.full(self.groups, -1e6)
        highest[each.group[rows]] = above[rows]
        return highest, Patterns(every=each.every[rows], group=each.group[rows], worth=each.worth[rows])

    def widen(self) -> bool:
        """All were looked at."""
        return False

    def above(self, price: Floats, weight: float) -> Floats:
        """Worth of each pattern above the prices of its tasks.

        Args:
            price: Price of a task of each class, shape (k,).
            weight: Weight of traffic.
        """
        found: Floats = weight * self.patterns.worth - self.patterns.every @ price
        return found


def generate(
    model: PatternModel,
    oracle: Oracle,
    start: Patterns,
    enough: float,
    budget: Budget,
    *,
    weight: float = 1.0,
) -> tuple[Lagrangian | None, Patterns]:
    """Generate columns until none is missing, the bound is `enough`, or the budget is spent.

    Args:
        model: Classes and groups: the rows.
        oracle: Finds columns.
        start: Columns to begin with.
        enough: Bound at which nothing more is to be won, in all traffic.
        budget: Work and time that are left.
        weight: Weight of traffic; with 0 the bound is negative if there is no placement.

    Returns:
        The best bound, None if there was no time for any, and all columns.
    """
    master = _Master(model, weight)
    master.add(start)
    best: Lagrangian | None = None
    for _ in range(ROUNDS):
        solved = master.solve(budget)
        if solved is None:
            break
        value, price, node_price = solved
        tried = price if best is None else SMOOTH * best.price + (1 - SMOOTH) * price
        for each in (tried, price):
            highest, found = oracle(each, weight)
            bound = Lagrangian.of(model, each, highest)
            best = bound if best is None or bound.value < best.value else best
            if fresh := master.add(_worthwhile(found, price, node_price, weight)):
                break
        if best is None or best.value <= max(value + CLOSE, enough) or budget.spent or not (fresh or oracle.widen()):
            break
    return best, master.columns()


def _worthwhile(found: Patterns, price: Floats, node_price: Floats, weight: float) -> Patterns:
    """The patterns that the relaxation gains from, the best of each group."""
    gain = weight * found.worth - found.every @ price - node_price[found.group]
    order = np.lexsort((-gain, found.group))
    group = found.group[order]
    rank = np.arange(len(order)) - np.searchsorted(group, group)
    rows = order[(rank < ADDED) & (gain[order] > ROUNDING)]
    return Patterns(every=found.every[rows], group=found.group[rows], worth=found.worth[rows])


class _Master:
    """Restricted master problem in GLOP: tasks are covered at a penalty, and each node holds one pattern."""

    def __init__(self, model: PatternModel, weight: float) -> None:
        # The extra `exact`, and slow to import.
        from ortools.linear_solver import pywraplp

        self._weight, self._known = weight, dict[tuple[int, bytes], Any]()
        self._every, self._worth = list[NDArray[np.int16]](), list[float]()
        self._solver = solver = pywraplp.Solver.CreateSolver("GLOP")
        self._tasks = [solver.Constraint(float(each), float(each)) for each in model.all_tasks.tolist()]
        self._nodes = [solver.Constraint(float(each), float(each)) for each in model.nodes.tolist()]
        self._objective = solver.Objective()
        self._objective.SetMaximization()
        for row in self._tasks:
            for sign in (1.0, -1.0):
                slack = solver.NumVar(0, solver.infinity(), "")
                self._objective.SetCoefficient(slack, -PENALTY)
                row.SetCoefficient(slack, sign)
        k, groups = len(model.order), np.arange(len(model.nodes))
        empty = np.zeros((len(groups), k), dtype=np.int16)
        self.add(Patterns(every=empty, group=groups, worth=model.worth(empty, groups)))

    def add(self, patterns: Patterns) -> bool:
        """Add columns; False if all were there."""
        before = len(self._known)
        for row, group, worth in zip(patterns.every, patterns.group.tolist(), patterns.worth.tolist(), strict=True):
            key = (group, row.tobytes())
            if key not in self._known:
                self._known[key] = self._column(row.tolist(), group, worth)
                self._every.append(row)
                self._worth.append(worth)
        return len(self._known) > before

    def _column(self, counts: list[int], group: int, worth: float) -> Any:
        hold = self._solver.NumVar(0, self._solver.infinity(), "")
        self._objective.SetCoefficient(hold, self._weight * worth)
        self._nodes[group].SetCoefficient(hold, 1.0)
        for row, count in zip(self._tasks, counts, strict=True):
            if count:
                row.SetCoefficient(hold, float(count))
        return hold

    def solve(self, budget: Budget) -> tuple[float, Floats, Floats] | None:
        """The value, and the duals of classes and groups; None where the solver was cut short."""
        if not budget.run_linear(self._solver):
            return None
        tasks, nodes = (np.array([row.dual_value() for row in rows]) for rows in (self._tasks, self._nodes))
        return float(self._objective.Value()), tasks, nodes

    def columns(self) -> Patterns:
        """All columns."""
        group = np.array([group for group, _ in self._known], dtype=np.int64)
        order = np.argsort(group, kind="stable")
        every = np.array(self._every, dtype=np.int16)[order]
        return Patterns(every=every, group=group[order], worth=np.array(self._worth)[order])
