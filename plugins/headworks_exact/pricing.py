"""Column generation: few patterns enter the linear relaxation, and its duals price all the others.

The relaxation would put a part of a good pattern on many nodes, more often than there are tasks for whole ones. So cuts
join it where it does (Chvatal and Gomory, of rank one): of N tasks of a class, at most N // t lots of t tasks are
together on a node. A cut looks at the number of tasks of one class, so that its dual is a price of lots of that class,
and patterns are built and bounded as without it: a price is a table, of so many tasks of each class.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks_exact.patterns import PatternBuilder, Patterns
from headworks_exact.solver import Budget

if TYPE_CHECKING:
    from headworks_exact.pattern_model import PatternModel

    Floats = NDArray[np.float64]

ROUNDING = 1e-9
"""Error of sums of floats, relative to all traffic. Too small, and rounding makes a false proof."""
PENALTY = 4.0
"""Price of a task that the relaxation leaves out or has too many of, in all traffic."""
SMOOTH = 0.6
"""Weight of the best duals so far in those that patterns are priced with (Wentges' smoothing)."""
CLOSE = 1e-6
"""Distance of the bound from the relaxation, in all traffic, at which it is as good as solved."""
ROUNDS = 1_000
"""Rounds of column generation, at most."""
BEAM = 12
"""Patterns in the making that are kept of each group."""
CUTS, LOT = 4, 40
"""Cuts of a class that join at once, and tasks of the largest lots, at most."""
EXCEEDED = 1e-4
"""Lots of tasks above which a cut joins."""
ADDED = 4
"""Patterns of each group that enter in one round, at most, by default."""
PRICED = 1e-9
"""Deterministic seconds that a pattern in a list costs to price, for each class."""


@attrs.frozen(eq=False)
class Lagrangian:
    """Bound on the traffic within the nodes of every placement, from prices of the classes.

    Attributes:
        price: float64 (k, n), price of so many tasks of each class on a node, in all traffic.
        highest: float64 (G,), the most that a pattern of each group is worth above the prices of its tasks.
        value: Bound, in all traffic: no placement has more within its nodes.
    """

    price: Floats
    highest: Floats
    value: float

    @classmethod
    def of(cls, model: PatternModel, price: Floats, highest: Floats) -> Lagrangian:
        """Add up: a placement is worth the prices of all tasks and what the pattern of each node is worth above them.

        Its tasks cost on their nodes no more than all of them together would on one: lots are only broken up.

        Args:
            model: Classes and groups.
            price: Price of so many tasks of each class on a node, shape (k, n).
            highest: Upper bound on what a pattern of each group is worth above its prices.
        """
        whole = price[np.arange(len(price)), model.all_tasks].sum()
        return cls(price, highest, float(whole + highest @ model.nodes) + ROUNDING)


class Oracle(Protocol):
    """Answers prices with a bound on the worth of patterns above them, and with good ones."""

    def __call__(self, price: Floats, weight: float) -> tuple[Floats, Patterns]:
        """Bound of each group, shape (G,), and patterns.

        Args:
            price: Price of so many tasks of each class on a node, shape (k, n).
            weight: Weight of traffic.
        """


@attrs.frozen
class Implicit:
    """All patterns, without a list of them."""

    builder: PatternBuilder

    def __call__(self, price: Floats, weight: float) -> tuple[Floats, Patterns]:
        """Bounds from the tables, and patterns from a beam."""
        tables = self.builder.tables(price, weight, fine=False)
        highest = self.builder.highest(tables, weight)
        nothing = np.full(len(highest), -np.inf)
        found = self.builder.build(price, weight, nothing, tables, most=BEAM, beam=True)
        assert found is not None  # a beam is never too wide
        return highest, found


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

    def above(self, price: Floats, weight: float) -> Floats:
        """Worth of each pattern above the prices of its tasks.

        Args:
            price: Price of so many tasks of each class on a node, shape (k, n).
            weight: Weight of traffic.
        """
        return weight * self.patterns.worth - self.patterns.cost(price)


def generate(
    model: PatternModel,
    oracle: Oracle,
    start: Patterns,
    enough: float,
    budget: Budget,
    *,
    weight: float = 1.0,
    added: int = ADDED,
    known: Floats | None = None,
    warm: bool = False,
) -> tuple[Lagrangian | None, Patterns]:
    """Generate columns until none is missing, the bound is `enough`, or the budget is spent.

    Args:
        model: Classes and groups: the rows.
        oracle: Finds columns.
        start: Columns to begin with.
        enough: Bound at which nothing more is to be won, in all traffic.
        budget: Work and time that are left.
        weight: Weight of traffic; with 0 the bound is negative if there is no placement.
        added: Patterns of each group that enter in one round, at most.
        known: Prices to begin with, shape (k, n), None without any.
        warm: Whether a round begins with the basis of the last one. It pays with a thousand rows; with few, the duals
            are worse.

    Returns:
        The best bound, None if there was no time for any, and all columns.
    """
    master = _Master(model, weight, warm=warm)
    master.add(start)
    best = None if known is None else Lagrangian.of(model, known, oracle(known, weight)[0])
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
            if fresh := master.add(_worthwhile(found, price, node_price, weight, added)):
                break
        if best is None or best.value <= enough or budget.spent:
            break
        closed = best.value <= value + CLOSE
        if (closed or not fresh) and not master.cut():
            break
    return best, master.columns()


@cache
def _shares(tasks: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All fractions below 1 whose denominator is a lot that so many tasks may make."""
    found = [(part, lot) for lot in range(2, min(tasks, LOT) + 1) for part in range(1, lot) if math.gcd(part, lot) == 1]
    parts, lots = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return parts, lots


def _penalties(model: PatternModel, weight: float) -> Floats:
    """Price of a task that is left out, float64 (k,): `PENALTY` times what it exchanges and takes of a node."""
    if not weight:
        return np.full(len(model.order), PENALTY)
    exchanges = model.between @ model.all_tasks + model.pull.max(axis=0, initial=0.0)
    widest = model.room.max(axis=0, initial=0.0)
    takes = np.divide(model.demand, widest, out=np.zeros_like(model.demand), where=widest > 0).max(axis=1, initial=0.0)
    found: Floats = PENALTY * np.minimum(weight * exchanges + takes, 1.0)
    return found


def _worthwhile(found: Patterns, price: Floats, node_price: Floats, weight: float, most: int) -> Patterns:
    """The patterns that the relaxation gains from, the best of each group."""
    gain = weight * found.worth - found.cost(price) - node_price[found.group]
    order = np.lexsort((-gain, found.group))
    group = found.group[order]
    rank = np.arange(len(order)) - np.searchsorted(group, group)
    rows = order[(rank < most) & (gain[order] > ROUNDING)]
    return Patterns(every=found.every[rows], group=found.group[rows], worth=found.worth[rows])


class _Master:
    """Restricted master problem in GLOP: tasks are covered at a penalty, each node holds one pattern, and cuts."""

    def __init__(self, model: PatternModel, weight: float, *, warm: bool) -> None:
        # The extra `exact`, and slow to import.
        from ortools.linear_solver import pywraplp

        self._model, self._weight, self._known = model, weight, dict[tuple[int, bytes], Any]()
        self._cuts, self._held = dict[tuple[int, int, int], Any](), np.zeros(0)
        self._every, self._worth = list[NDArray[np.int16]](), list[float]()
        self._solver = solver = pywraplp.Solver.CreateSolver("GLOP")
        if warm:
            solver.SetSolverSpecificParametersAsString("use_preprocessing: false")  # which forgets the basis
        self._tasks = [solver.Constraint(float(each), float(each)) for each in model.all_tasks.tolist()]
        self._nodes = [solver.Constraint(float(each), float(each)) for each in model.nodes.tolist()]
        self._objective = solver.Objective()
        self._objective.SetMaximization()
        for row, penalty in zip(self._tasks, _penalties(model, weight).tolist(), strict=True):
            for sign in (1.0, -1.0):
                slack = solver.NumVar(0, solver.infinity(), "")
                self._objective.SetCoefficient(slack, -penalty)
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
        for (number, parts, lot), row in self._cuts.items():
            if counts[number] * parts >= lot:
                row.SetCoefficient(hold, float(counts[number] * parts // lot))
        return hold

    def cut(self) -> bool:
        """Add the cuts that the last solution breaks; False if there is none."""
        every, before = np.array(self._every[: len(self._held)], dtype=np.int64), len(self._cuts)
        for number, tasks in enumerate(self._model.all_tasks.tolist()):
            parts, lots = _shares(tasks)
            over = self._held @ (every[:, [number]] * parts // lots) - tasks * parts // lots
            for at in np.argsort(-over, kind="stable")[:CUTS].tolist():
                key = number, int(parts[at]), int(lots[at])
                if over[at] > EXCEEDED and key not in self._cuts:
                    self._cuts[key] = self._cut(*key, most=tasks * key[1] // key[2])
        return len(self._cuts) > before

    def _cut(self, number: int, parts: int, lot: int, *, most: int) -> Any:
        row = self._solver.Constraint(-self._solver.infinity(), float(most))
        for hold, counts in zip(self._known.values(), self._every, strict=True):
            if counts[number] * parts >= lot:
                row.SetCoefficient(hold, float(int(counts[number]) * parts // lot))
        return row

    def solve(self, budget: Budget) -> tuple[float, Floats, Floats] | None:
        """The value, the price of so many tasks of each class, and of each group; None where it was cut short."""
        if not budget.run_linear(self._solver):
            return None
        self._held = np.array([hold.solution_value() for hold in self._known.values()])
        tasks, nodes = (np.array([row.dual_value() for row in rows]) for rows in (self._tasks, self._nodes))
        number = np.arange(self._model.widest)
        price: Floats = tasks[:, None] * number
        for (each, parts, lot), row in self._cuts.items():
            price[each] += max(row.dual_value(), 0.0) * (number * parts // lot)
        return float(self._objective.Value()), price, nodes

    def columns(self) -> Patterns:
        """All columns."""
        group = np.array([group for group, _ in self._known], dtype=np.int64)
        order = np.argsort(group, kind="stable")
        every = np.array(self._every, dtype=np.int16)[order]
        return Patterns(every=every, group=group[order], worth=np.array(self._worth)[order])
