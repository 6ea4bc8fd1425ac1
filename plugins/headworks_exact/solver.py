"""OR-Tools' solvers, told to be deterministic: one worker, a fixed seed, work counted rather than time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import attrs

from headworks.toolbox.cancel import on_cancel

if TYPE_CHECKING:
    from headworks_exact.options import Options

SHARE = 0.6
"""Share of the deadline that the solvers may take by the clock."""
PIVOTED = 2e-8
"""Deterministic seconds that an entry of a linear program costs."""


@attrs.define
class Budget:
    """Budget left for one request's searches, in deterministic seconds and in seconds of the clock.

    The clock is the solvers' own: this code reads none. What runs beside them counts its work (`take`), and looks
    whether the host asked it to end (`spent`).

    Attributes:
        work: Deterministic seconds.
        clock: Seconds of the clock.
        stop: Ends the search that goes on; None where none does.
        cut: Whether the clock, and not the work, ended a search: on another machine it may find more.
    """

    work: float
    clock: float
    stop: Any = None
    cut: bool = False

    @classmethod
    def of(cls, deadline: float, options: Options) -> Budget:
        """Grant the whole budget of a request.

        Args:
            deadline: Seconds that the scheduler has to plan.
            options: Options of `optimal`.
        """
        budget = cls(work=options.effort * deadline, clock=SHARE * deadline)
        on_cancel(budget.end)
        return budget

    def end(self) -> None:
        """Leave nothing, and stop the search that goes on; from any thread."""
        self.work = self.clock = -math.inf
        if self.stop is not None:
            self.stop()

    @property
    def spent(self) -> bool:
        """True if nothing worth starting is left."""
        return self.work <= 0 or self.clock <= 0

    def take(self, work: float) -> None:
        """Count work that is done outside CP-SAT, in deterministic seconds."""
        self.work -= work

    def grant(self, work: float) -> None:
        """Leave so much work and no more, if nobody ended the search."""
        self.work = min(self.work, 0.0) + work

    def take_time(self, seconds: float, *, done: bool) -> None:
        """Count what a solver took by the clock, when its work is not counted yet; note if the clock ended it.

        Args:
            seconds: What it took.
            done: Whether the solver had ended by itself, or by its work.
        """
        self.clock -= seconds
        self.cut |= self.work > 0 and (not done or self.clock <= 0)

    def run_linear(self, solver: Any) -> bool:
        """Solve a linear program of `pywraplp` within the budget; False where it was cut short."""
        if self.spent:
            return False
        solver.SetTimeLimit(max(int(1000 * min(self.clock, 1e6)), 1))
        self.stop = solver.InterruptSolve
        before = solver.WallTime()
        status = int(solver.Solve())
        self.stop = None
        done = status not in (solver.FEASIBLE, solver.NOT_SOLVED)
        self.take_time(max(solver.WallTime() - before, 0) / 1000, done=done)
        self.take(solver.NumVariables() * solver.NumConstraints() * PIVOTED)
        return bool(status == solver.OPTIMAL)


def solve(model: Any, budget: Budget) -> Any:
    """Solve a `CpModel` within the budget and take what it used off; returns the `CpSolver`, `status` set.

    Args:
        model: The `CpModel`.
        budget: What is left; it is changed.

    Ctrl-C ends the search as a spent budget does (`Budget.end`), and the best solution so far stands. CP-SAT's own
    handler of the signal is for the main thread alone.
    """
    # The extra `exact`, and slow to import.
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.num_workers = 1
    parameters.random_seed = 0
    parameters.max_time_in_seconds = max(budget.clock, 0.0)
    parameters.max_deterministic_time = max(budget.work, 0.0)
    parameters.catch_sigint_signal = False
    budget.stop = solver.stop_search
    solver.status = solver.solve(model)
    budget.stop = None
    work = solver.response_proto.deterministic_time
    done = solver.status not in (cp_model.UNKNOWN, cp_model.FEASIBLE) or work >= budget.work
    budget.take_time(solver.wall_time, done=done)
    budget.take(work)
    return solver
