"""The task placement with the least traffic between nodes, and of those one on the fewest nodes.

Tasks of a class and nodes of a group are interchangeable, so the question is how many nodes of each group hold which
pattern: an integer program with one row for each class and group, whatever the number of tasks. Column generation
solves its relaxation; the duals bound the traffic and give each pattern a reduced cost. Patterns that are in no
placement with less traffic than some target are left out, and the target grows until a placement meets it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks_exact.assembly import node_of_patterns, patterns_in
from headworks_exact.classes import Classes
from headworks_exact.master import Master, solve_master
from headworks_exact.pattern_model import PatternModel
from headworks_exact.patterns import PatternBuilder, Patterns, joined
from headworks_exact.pricing import ROUNDING, Implicit, Lagrangian, Listed, generate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.problem import Problem
    from headworks_exact.options import Options
    from headworks_exact.solver import Budget

STEP = 0.005
"""Distance of the first target from the bound, in all traffic; doubled each time."""
FINE = 0.002
"""Distance of two targets, in all traffic, below which no further list is tried."""
CLASSES = 100
"""Classes of interchangeable tasks, at most, of a problem that is searched."""
ALL = 100_000
"""Patterns of a problem, at most, that are listed at once."""
MODEL = 10_000
"""Patterns of the integer program, at most."""


@attrs.frozen(eq=False, kw_only=True)
class Placed:
    """Outcome of the search.

    Attributes:
        node_of: int64 (n,), node of each task; None where no placement was found.
        bound: Traffic between nodes below which no placement goes, in units of `Traffic`.
        proven: Whether nothing has less.
        infeasible: Whether it is proven that there is no placement at all.
        searched: False where there are too many classes for any search.
    """

    node_of: NDArray[np.int64] | None
    bound: int
    proven: bool = False
    infeasible: bool = False
    searched: bool = True


def place(problem: Problem, starts: Sequence[NDArray[np.int64]], options: Options, budget: Budget) -> Placed:
    """Search from placements of every task.

    Args:
        problem: The request as arrays.
        starts: Placements that are known, node index of each task, shape (n,) each.
        options: Options of `optimal`.
        budget: Work and time that are left.
    """
    if not problem.n or not problem.m:
        nothing = np.zeros(0, dtype=np.int64) if not problem.n else None
        return Placed(node_of=nothing, bound=0, proven=True, infeasible=problem.n > 0)
    classes = Classes.of(problem)
    if len(classes.tasks) > CLASSES:
        return Placed(node_of=None, bound=0, searched=False)
    return _Search(problem, classes, options.max_columns, budget).run(starts)


class _Search:
    """Search for the best placement of a problem.

    Attributes:
        best: The best placement so far, None if none is known.
        known: Traffic between nodes of that placement, in units; all traffic without one.
        bound: Traffic between nodes below which no placement goes, in units.
    """

    def __init__(self, problem: Problem, classes: Classes, limit: int, budget: Budget) -> None:
        self.problem, self.classes, self.limit, self.budget = problem, classes, limit, budget
        self.model = PatternModel.of(problem, self.classes)
        self.total: int = problem.traffic.total
        self.best: NDArray[np.int64] | None = None
        self.known, self.bound = self.total, 0
        self._builder = PatternBuilder(problem, self.classes, self.model, budget)

    def run(self, starts: Sequence[NDArray[np.int64]]) -> Placed:
        """Search from some placements.

        Args:
            starts: Node index of each task, shape (n,) each.
        """
        for start in starts:
            if self.best is None or self.problem.traffic.inter_node(start) < self.known:
                self.best, self.known = start, self.problem.traffic.inter_node(start)
        held = joined([patterns_in(self.model, self.classes, start) for start in starts], len(self.model.order))
        listed = self._builder.everything(min(ALL, self.limit))
        infeasible = self._search(held) if listed is None else self._among(listed, held, self.total)
        # a pattern may be missing that better packed workers would hold: then nothing is known of all placements
        bound = min(self.bound, self.known) if self._builder.complete else 0
        return Placed(
            node_of=self.best,
            bound=bound,
            proven=self.best is not None and bound >= self.known,
            infeasible=infeasible and self._builder.complete,
        )

    def _search(self, held: Patterns) -> bool:
        """Search without a list of all patterns; True if it is proven that there is no placement."""
        oracle = Implicit(self._builder)
        if self.best is None:
            relaxed, held = generate(self.model, oracle, held, -math.inf, self.budget, weight=0.0)
            if relaxed is None:
                return False
            if relaxed.value < 0:
                return True
            listed = self._list(relaxed, self.total, 0.0)
            if listed is not None and self._is_infeasible(listed, held):
                return True
        relaxed, held = generate(self.model, oracle, held, self._share_within(self.known), self.budget)
        if relaxed is None:
            return False
        self._raise_bound(relaxed, self.known)
        self._solve_columns(held)
        return self._approach(relaxed, held)

    def _approach(self, relaxed: Lagrangian, held: Patterns) -> bool:
        """Search lists of the patterns up to some target, as far as there is room for them, by bisection."""
        target, beyond = self.known, self.total + 1
        while not self.budget.spent and self.bound < self.known:
            listed = self._list(relaxed, target)
            if listed is None:
                beyond = target
            elif self._among(listed, held, target):
                return True
            elif target >= self.known:
                break
            low = max(self.bound, target if listed is not None else 0)
            target = min(self.known, low + (beyond - low) // (4 if listed is None else 2))
            if target - low <= FINE * self.total:
                break
        return False

    def _is_infeasible(self, listed: Patterns, held: Patterns) -> bool:
        oracle = Listed(listed, len(self.model.nodes), self.budget)
        closer, _ = generate(self.model, oracle, held, -math.inf, self.budget, weight=0.0)
        return closer is not None and closer.value < 0

    def _among(self, listed: Patterns, held: Patterns, most: int) -> bool:
        """Search a list of all patterns that placements with at most `most` units between nodes may hold.

        Integer programs are solved over more and more of them, by reduced cost.

        Returns:
            Whether it is proven that there is no placement.
        """
        if self.best is None and self._is_infeasible(listed, held):
            return True
        oracle = Listed(listed, len(self.model.nodes), self.budget)
        relaxed, columns = generate(self.model, oracle, held, self._share_within(self.known), self.budget)
        if relaxed is None:
            return False
        self._raise_bound(relaxed, most)
        self._solve_columns(columns)
        step, above = STEP, oracle.above(relaxed.price, 1.0)
        while not self.budget.spent and self.bound <= most:
            target = min(self.bound + math.ceil(step * self.total), self.known, most)
            rows = np.flatnonzero(above >= self._floor(relaxed, target)[listed.group])
            if len(rows) > MODEL:
                step /= 4
                if step < STEP / 100:
                    best = np.argsort(relaxed.highest[listed.group] - above, kind="stable")[:MODEL]
                    self._solve(listed.only(np.sort(best)), self.known)
                    break
                continue
            complete, found = self._solve(listed.only(rows), target)
            if not complete:
                break
            self.bound = max(self.bound, self.known if found else min(target + 1, self.known))
            if found or target == self.known:
                return self.best is None and most == self.total
            step *= 2
        return False

    def _share_within(self, between: int) -> float:
        """Share of all traffic that stays within nodes where so much is between them."""
        return (self.total - between) / (self.total or 1)

    def _solve_columns(self, columns: Patterns) -> None:
        """Search the columns of a relaxation alone, which often hold a better placement."""
        if self.known - self.bound > STEP * self.total and not self.budget.spent:
            self._solve(columns, self.known)

    def _raise_bound(self, relaxed: Lagrangian, target: int) -> None:
        """Raise the bound to that of a relaxation, or beyond the target if it has all patterns up to there."""
        least = math.ceil(max((1 - relaxed.value) * self.total, 0.0))
        self.bound = max(self.bound, min(least, target + 1, self.known))

    def _list(self, relaxed: Lagrangian, target: int, weight: float = 1.0) -> Patterns | None:
        """Every pattern that a placement with at most `target` units between nodes may hold; None if too many."""
        tables = self._builder.tables(relaxed.price, weight)
        floor = self._floor(relaxed, target, weight)
        return self._builder.build(relaxed.price, weight, floor, tables, most=self.limit, beam=False)

    def _floor(self, relaxed: Lagrangian, target: int, weight: float = 1.0) -> NDArray[np.float64]:
        """Worth above their prices that the patterns of a placement have at least, by group.

        Reduced cost fixing: a placement that holds a pattern has at least so much less within its nodes as the pattern
        is worth less than the highest of its group.
        """
        gap = relaxed.value - weight * self._share_within(target)
        floor: NDArray[np.float64] = relaxed.highest - gap - ROUNDING
        return floor

    def _solve(self, patterns: Patterns, target: int) -> tuple[bool, bool]:
        """Search some patterns for a placement with at most `target` units between nodes, and keep it.

        Returns:
            Whether all was searched, and whether there is one.
        """
        hint = patterns_in(self.model, self.classes, self.best) if self.best is not None else None
        constraints = self._builder.constraints
        master = Master(model=self.model, patterns=patterns, total=self.total, hint=hint, constraints=constraints)
        complete, chosen = solve_master(master, self.bound, target, self.budget)
        if chosen is None:
            return complete, False
        self.best = node_of_patterns(self.problem, self.classes, self.model, chosen)
        self.known = self.problem.traffic.inter_node(self.best)
        return complete, True
