"""Columns of the throughput program: every spread of one component over the machines, filtered by reduced cost.

A column is a row of counts y by machine. At an input rate R it takes R * e * gain * y / N + MET * y percent of each
machine; the program chooses one column of each component. The duals of its relaxation price the machines. A column
whose reduced cost (its cost above that of its component's cheapest) exceeds the gap (the worth of all machines less the
cheapest column of each component) is in no placement that sustains R.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.toolbox.instance_counts import InstanceCounts
    from headworks_exact.solver import Budget

PRICED = 3e-6
"""Deterministic seconds that a column costs in the relaxation."""
SLACK = 1e-7
"""Rounding of the linear program, relative."""


@attrs.frozen(eq=False, kw_only=True)
class Columns:
    """Columns of one component.

    Attributes:
        counts: int64 (p, m), tasks on each machine.
        slope: float64 (p, m), percent for a factor of 1 of the stated rates.
        fixed: float64 (p, m), percent at rest.
        highest: float64 (p,), factor at which the threads of a task are full.
    """

    counts: NDArray[np.int64]
    slope: NDArray[np.float64]
    fixed: NDArray[np.float64]
    highest: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        instances: InstanceCounts,
        row: int,
        most: NDArray[np.int64],
        total: int,
        limit: int,
        budget: Budget,
    ) -> Columns | None:
        """List all columns of a component; None if there are more than `limit`, or no time for them.

        Args:
            instances: The choice of instance counts.
            row: The component.
            most: Tasks of it that each machine could hold, shape (m,).
            total: Tasks that it may have.
            limit: Columns that are listed, at most.
            budget: What the work is counted against.
        """
        floor = instances.floor[row]
        found = np.zeros((1, 0), dtype=np.int64)
        for node in range(len(most)):
            here = np.arange(floor[node], min(int(most[node]), total) + 1, dtype=np.int64)
            if len(found) * len(here) > 40 * limit or budget.spent:
                return None
            budget.take(len(found) * len(here) * PRICED / 10)
            found = np.hstack([np.repeat(found, len(here), axis=0), np.tile(here, len(found))[:, None]])
            found = found[found.sum(axis=1) <= total]
            if len(found) > 4 * limit:
                return None
        found, model = found[found.sum(axis=1) >= max(int(instances.least[row]), 1)], instances.profiled
        if not np.isfinite(model.limit[row]).any():
            # Twice the tasks in the same shares take no less of anything, where none is beyond its threads.
            common = np.gcd.reduce(found, axis=1) if found.size else np.ones(len(found), dtype=np.int64)
            less = found // common[:, None]
            fewer = (less >= floor).all(axis=1) & (less.sum(axis=1) >= instances.least[row])
            found = found[(common == 1) | ~fewer]
        if len(found) > limit:
            return None
        share = model.gain[row] / found.sum(axis=1)[:, None]
        slope = model.e[row] * share
        with np.errstate(divide="ignore", invalid="ignore"):
            bears = np.where((found > 0) & (slope > 0), (model.limit[row] - model.met[row]) / slope, np.inf)
        return cls(
            counts=found,
            slope=slope * found,
            fixed=model.met[row] * found,
            highest=bears.min(axis=1, initial=np.inf),
        )

    def load(self, factor: float) -> NDArray[np.float64]:
        """Percent of each machine that each column takes, shape (p, m)."""
        return factor * self.slope + self.fixed

    def only(self, kept: Any) -> Columns:
        """Some of them, by a mask of shape (p,)."""
        return attrs.evolve(
            self,
            counts=self.counts[kept],
            slope=self.slope[kept],
            fixed=self.fixed[kept],
            highest=self.highest[kept],
        )


def by_reduced_cost(
    columns: Sequence[Columns], factor: float, free: NDArray[np.float64], budget: Budget
) -> tuple[list[Columns], NDArray[np.float64]] | None:
    """Filter the columns of placements that sustain the factor, by reduced cost; none if there is no such placement.

    Args:
        columns: Of each component.
        factor: What the stated rates are multiplied by.
        free: Percent of each machine, shape (m,).
        budget: What the work is counted against.

    Returns:
        The columns of each component, and the dual price of a percent of each machine; None if the budget ended.
    """
    kept = [each.only(each.highest >= factor * (1 - SLACK)) for each in columns]
    while True:
        kept = [each.only((each.load(factor) <= free * (1 + SLACK)).all(axis=1)) for each in kept]
        before = sum(len(each.counts) for each in kept)
        if not all(len(each.counts) for each in kept):
            return [], np.zeros(len(free))
        budget.take(before * PRICED)
        duals = _duals(kept, factor, free, budget)
        if duals is None:
            return None
        cost = [each.load(factor) @ duals for each in kept]
        # Weak duality: a placement costs at most duals @ free, and at least the cheapest column of each component.
        gap = float(duals @ free) - sum(float(each.min()) for each in cost)
        if gap < -SLACK:
            return [], duals
        kept = [each.only(c <= c.min() + gap + SLACK) for each, c in zip(kept, cost, strict=True)]
        if sum(len(each.counts) for each in kept) > 0.9 * before:
            return kept, duals


def _duals(
    columns: Sequence[Columns], factor: float, free: NDArray[np.float64], budget: Budget
) -> NDArray[np.float64] | None:
    """Dual prices of a percent of each machine, of the relaxation that minimises the share of the fullest machine.

    None if the budget ended, be it while the program was made.
    """
    # The extra `exact`, and slow to import.
    from ortools.linear_solver import pywraplp

    solver = pywraplp.Solver.CreateSolver("GLOP")
    full = solver.NumVar(0, solver.infinity(), "")
    rows = [solver.Constraint(-solver.infinity(), 0.0) for _ in free]
    for row, percent in zip(rows, free.tolist(), strict=True):
        row.SetCoefficient(full, -percent)
    for each in columns:
        one = solver.Constraint(1.0, 1.0)
        for load in each.load(factor).tolist():
            take = solver.NumVar(0, solver.infinity(), "")
            one.SetCoefficient(take, 1.0)
            _set(rows, take, load)
            if budget.spent:
                return None
    solver.Minimize(full)
    if not budget.run_linear(solver):
        return None
    duals: NDArray[np.float64] = np.maximum([-row.dual_value() for row in rows], 0.0)
    return duals


def _set(rows: Sequence[Any], take: Any, load: Sequence[float]) -> None:
    for row, percent in zip(rows, load, strict=True):
        if percent:
            row.SetCoefficient(take, percent)
