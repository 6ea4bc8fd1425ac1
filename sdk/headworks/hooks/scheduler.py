"""The hook of a scheduler, a pure function of its arguments. Optional ones are in `headworks.hooks.optional`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from headworks.hooks.values import hookspec

if TYPE_CHECKING:
    from headworks.hooks.values import Description
    from headworks.model import Plan, Request
    from headworks.problem import Problem

Ask = Callable[[str, float], "Plan | None"]
"""Another scheduler's plan for the same request, by its name, within seconds."""


class Scheduler(Protocol):
    """Type of a plugin that schedules, for type checkers: `acme: Scheduler = Acme()`."""

    headworks_describe: Callable[[], Description]
    headworks_schedule: Callable[..., Plan]


class SchedulerSpec:
    """The hook of a scheduler."""

    @hookspec
    def headworks_schedule(  # type: ignore[empty-body]
        self, request: Request, problem: Problem, options: Any, ask: Ask
    ) -> Plan:
        """Decide where every task runs.

        `problem` is the request as arrays, with what was measured; take it, or the request, or both. `options` is an
        instance of the class named in the description. `ask(name, seconds)` is the plan of another scheduler for the
        same request, with its default options and checked like any, within so many seconds of the deadline; None if it
        is not installed or has no plan. A scheduler that is asked may ask nobody. The same request, options and seed
        give the same plan, in any process and for any order of the request's nodes, topologies and components: ties
        are broken by id, randomness comes from `request.seed` alone. There is no I/O, no clock, no change of an
        argument. A task that cannot be placed is a status with reasons (`Problem.plan` makes them), never an
        exception. Planning ends within `request.limits.deadline` seconds of CPU, or the host holds the running
        assignment, or takes a plan that the scheduler has offered (`headworks.toolbox.cancel.offer`); a search that
        says how it is ended (`headworks.toolbox.cancel.on_cancel`) is asked for its best plan so far before that, and
        only such plans may differ from run to run. At most
        `request.limits.max_moves` running tasks move; without `request.limits.restarts` none does, and no task joins
        a worker that runs, for either would restart its process (`Room` and `Problem.plan` know), but for topologies
        whose tasks move live.
        """
