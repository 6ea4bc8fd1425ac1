"""Pricing of patterns: the duals of the linear relaxation give each its reduced cost, and few are worth a look."""

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
"""Error of the linear program, relative to all traffic. The larger it is, the weaker the bound and the fewer patterns
are left out; too small, and rounding makes a false proof."""


@attrs.frozen(eq=False, kw_only=True)
class PatternTable:
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
    def of(cls, problem: Problem, classes: Classes, columns: list[Patterns]) -> PatternTable:
        """Stack the patterns of each group.

        Args:
            problem: The request as arrays.
            classes: Interchangeable tasks and nodes.
            columns: Patterns of each group of nodes.
        """
        every = np.vstack(columns)
        group = np.repeat(np.arange(len(columns)), [len(each) for each in columns])
        return cls(every=every, group=group, local=local_traffic(problem, classes, every))


@attrs.frozen(eq=False, kw_only=True)
class Relaxation:
    """Solution of the linear relaxation of the master problem, in units of `Traffic`.

    Attributes:
        bound: Lower bound on the traffic between nodes of every placement.
        reduced_cost: float64 (p,), traffic above `bound` of every placement in which some node holds the pattern.
    """

    bound: float
    reduced_cost: NDArray[np.float64]

    @classmethod
    def of(cls, problem: Problem, classes: Classes, table: PatternTable) -> Relaxation | None:
        """Solve the relaxation by GLOP; None where it has no optimum, as where no placement exists.

        Args:
            problem: The request as arrays.
            classes: Interchangeable tasks and nodes: the rows.
            table: Patterns: the columns.
        """
        # The extra `exact`, and slow to import.
        from ortools.linear_solver import pywraplp

        total = float(problem.traffic.total) or 1.0
        solver = pywraplp.Solver.CreateSolver("GLOP")
        tasks = [solver.Constraint(float(count), float(count)) for count in classes.count.tolist()]
        nodes = [solver.Constraint(float(len(each)), float(len(each))) for each in classes.nodes]
        worth = solver.Objective()
        worth.SetMaximization()
        patterns = zip(table.every.tolist(), table.group.tolist(), (table.local / total).tolist(), strict=True)
        holds = [
            _variable(solver, worth, local, [*zip(tasks, counts, strict=True), (nodes[group], 1)])
            for counts, group, local in patterns
        ]
        if solver.Solve() != pywraplp.Solver.OPTIMAL:
            return None
        # Traffic between nodes = all traffic - traffic within nodes, of which the relaxation has the maximum.
        bound = max(problem.traffic.total - (float(worth.Value()) + ROUNDING) * total, 0.0)
        reduced_cost = np.maximum([-each.reduced_cost() for each in holds], 0.0)
        return cls(bound=bound, reduced_cost=np.maximum(reduced_cost - ROUNDING, 0.0) * total)


def _variable(solver: Any, worth: Any, local: float, rows: list[tuple[Any, int]]) -> Any:
    hold = solver.NumVar(0, solver.infinity(), "")
    worth.SetCoefficient(hold, local)
    for row, count in rows:
        if count:
            row.SetCoefficient(hold, float(count))
    return hold
