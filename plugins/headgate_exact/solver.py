"""CP-SAT, told to be deterministic: one worker, a fixed seed, work counted rather than time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import attrs

from headgate.toolbox.cancel import on_cancel

if TYPE_CHECKING:
    from headgate_exact.options import Options

SHARE = 0.6
"""Share of the deadline that CP-SAT may take by the clock. The larger it is, the less is left for building models and
checking the plan, and the more plans come too late."""


@attrs.define
class Budget:
    """Budget left for one request's searches, in deterministic seconds and in seconds of the clock.

    The clock is CP-SAT's own: this code reads none.
    """

    work: float
    clock: float
    solver: Any = None

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
        if self.solver is not None:
            self.solver.stop_search()

    @property
    def spent(self) -> bool:
        """True if nothing worth starting is left."""
        return self.work <= 0 or self.clock <= 0

    def take(self, work: float) -> None:
        """Count work that is done outside CP-SAT, in deterministic seconds."""
        self.work -= work


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
    budget.solver = solver
    solver.status = solver.solve(model)
    budget.work -= solver.response_proto.deterministic_time
    budget.clock -= solver.wall_time
    return solver
