"""What a pattern costs beyond the best: the relaxation prices tasks and nodes, and few patterns are worth a look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from headgate_exact.patterns import Patterns, local_traffic

if TYPE_CHECKING:
    from headgate.problem import Problem
    from headgate_exact.classes import Classes

ROUNDING = 1e-6
"""Of all traffic: what the linear program may err by."""


@attrs.frozen(eq=False, kw_only=True)
class Table:
    """The p patterns of all groups of nodes.

    Attributes:
        every: int64 (p, k), counts by class.
        group: int64 (p,), index of the group whose nodes can hold it.
        local: int64 (p,), traffic that stays within such a node.
    """

    every: Patterns
    group: NDArray[np.int64]
    local: NDArray[np.int64]

    @classmethod
    def of(cls, problem: Problem, classes: Classes, columns: list[Patterns]) -> Table:
        """Stack the patterns of each group."""
        every = np.vstack(columns)
        group = np.repeat(np.arange(len(columns)), [len(each) for each in columns])
        return cls(every=every, group=group, local=local_traffic(problem, classes, every))


@attrs.frozen(eq=False, kw_only=True)
class Prices:
    """What the relaxation says, in units of `Traffic`.

    Attributes:
        least: No placement has less traffic between nodes.
        dearer: float64 (p,), a placement in which some node holds the pattern has at least so much more than `least`.
    """

    least: float
    dearer: NDArray[np.float64]

    @classmethod
    def of(cls, problem: Problem, classes: Classes, table: Table) -> Prices | None:
        """Solve the relaxation by GLOP; None where it has no optimum, as where no placement exists."""
        from ortools.linear_solver import pywraplp

        total = float(problem.traffic.total) or 1.0
        solver = pywraplp.Solver.CreateSolver("GLOP")
        tasks = [solver.Constraint(float(count), float(count)) for count in classes.count.tolist()]
        nodes = [solver.Constraint(float(len(each)), float(len(each))) for each in classes.nodes]
        worth = solver.Objective()
        worth.SetMaximization()
        patterns = zip(table.every.tolist(), table.group.tolist(), (table.local / total).tolist(), strict=True)
        holds = [
            _hold(solver, worth, local, [*zip(tasks, counts, strict=True), (nodes[group], 1)])
            for counts, group, local in patterns
        ]
        if solver.Solve() != pywraplp.Solver.OPTIMAL:
            return None
        least = max(problem.traffic.total - (float(worth.Value()) + ROUNDING) * total, 0.0)
        dearer = np.maximum([-each.reduced_cost() for each in holds], 0.0)
        return cls(least=least, dearer=np.maximum(dearer - ROUNDING, 0.0) * total)


def _hold(solver: Any, worth: Any, local: float, rows: list[tuple[Any, int]]) -> Any:
    hold = solver.NumVar(0, solver.infinity(), "")
    worth.SetCoefficient(hold, local)
    for row, count in rows:
        if count:
            row.SetCoefficient(hold, float(count))
    return hold
