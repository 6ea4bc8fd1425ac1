"""Every way to spread one component over the machines, and which of them a rate leaves: prices of a relaxation say so.

A way is a row of counts by machine. At an input rate R it takes R * e * gain * y / N + MET * y percent of each machine,
so the question is which way each component takes. The relaxation of that prices the machines; a way that costs more
than its component's cheapest by more than the machines have to spare is in no placement that sustains R.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headgate.toolbox.instance_counts import InstanceCounts
    from headgate_exact.solver import Budget

PRICED = 3e-6
"""Deterministic seconds that a way costs in the relaxation."""
SLACK = 1e-7
"""Relative excess that is the rounding of the linear program."""


@attrs.frozen(eq=False, kw_only=True)
class Ways:
    """The ways of one component.

    Attributes:
        counts: int64 (p, m), tasks on each machine.
        slope: float64 (p, m), percent for a factor of 1 of the stated rates.
        fixed: float64 (p, m), percent at rest.
    """

    counts: NDArray[np.int64]
    slope: NDArray[np.float64]
    fixed: NDArray[np.float64]

    @classmethod
    def of(cls, scaling: InstanceCounts, row: int, most: NDArray[np.int64], total: int, limit: int) -> Ways | None:
        """All ways of a component; None if there are more than `limit`.

        Args:
            scaling: The question.
            row: The component.
            most: Tasks of it that each machine could hold, shape (m,).
            total: Tasks that it may have.
            limit: Ways that are listed.
        """
        floor = scaling.floor[row]
        found = np.zeros((1, 0), dtype=np.int64)
        for node in range(len(most)):
            here = np.arange(floor[node], min(int(most[node]), total) + 1, dtype=np.int64)
            found = np.hstack([np.repeat(found, len(here), axis=0), np.tile(here, len(found))[:, None]])
            found = found[found.sum(axis=1) <= total]
            if len(found) > 4 * limit:
                return None
        found = found[found.any(axis=1)]
        # twice the tasks in the same shares take no less of anything
        common = np.gcd.reduce(found, axis=1) if found.size else np.ones(len(found), dtype=np.int64)
        found = found[(common == 1) | (found < floor * common[:, None]).any(axis=1)]
        if len(found) > limit:
            return None
        model = scaling.profiled
        share = model.gain[row] / found.sum(axis=1)[:, None]
        return cls(counts=found, slope=model.e[row] * share * found, fixed=model.met[row] * found)

    def load(self, factor: float) -> NDArray[np.float64]:
        """Percent of each machine that each way takes, shape (p, m)."""
        return factor * self.slope + self.fixed

    def only(self, kept: Any) -> Ways:
        """Some of them, by a mask of shape (p,)."""
        return attrs.evolve(self, counts=self.counts[kept], slope=self.slope[kept], fixed=self.fixed[kept])


def surviving(
    ways: Sequence[Ways], factor: float, free: NDArray[np.float64], budget: Budget
) -> tuple[list[Ways], NDArray[np.float64]]:
    """The ways that a placement which sustains the factor can be made of, none if there is none; prices of machines.

    Args:
        ways: Of each component.
        factor: What the stated rates are multiplied by.
        free: Percent of each machine, shape (m,).
        budget: What the work is counted against.
    """
    kept = list(ways)
    while True:
        kept = [each.only((each.load(factor) <= free * (1 + SLACK)).all(axis=1)) for each in kept]
        before = sum(len(each.counts) for each in kept)
        if not all(len(each.counts) for each in kept):
            return [], np.zeros(len(free))
        budget.take(before * PRICED)
        price = _prices(kept, factor, free)
        cost = [each.load(factor) @ price for each in kept]
        spare = float(price @ free) - sum(float(each.min()) for each in cost)
        if spare < -SLACK:
            return [], price
        kept = [each.only(c <= c.min() + spare + SLACK) for each, c in zip(kept, cost, strict=True)]
        if sum(len(each.counts) for each in kept) > 0.9 * before:
            return kept, price


def _prices(ways: Sequence[Ways], factor: float, free: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a percent of each machine is worth, all of them together 1: the duals of filling the fullest least."""
    from ortools.linear_solver import pywraplp

    solver = pywraplp.Solver.CreateSolver("GLOP")
    full = solver.NumVar(0, solver.infinity(), "")
    rows = [solver.Constraint(-solver.infinity(), 0.0) for _ in free]
    for row, percent in zip(rows, free.tolist(), strict=True):
        row.SetCoefficient(full, -percent)
    for each in ways:
        one = solver.Constraint(1.0, 1.0)
        for load in each.load(factor).tolist():
            take = solver.NumVar(0, solver.infinity(), "")
            one.SetCoefficient(take, 1.0)
            _set(rows, take, load)
    solver.Minimize(full)
    solver.Solve()
    price: NDArray[np.float64] = np.maximum([-row.dual_value() for row in rows], 0.0)
    return price


def _set(rows: Sequence[Any], take: Any, load: Sequence[float]) -> None:
    for row, percent in zip(rows, load, strict=True):
        if percent:
            row.SetCoefficient(take, percent)
