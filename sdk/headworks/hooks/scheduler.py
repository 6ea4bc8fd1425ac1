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

        Take any of the arguments:

        - `problem` is the request as arrays, with measured figures; `request` is the request itself.
        - `options` is an instance of the class that the description names.
        - `ask(name, seconds)` is the plan of another scheduler for this request, with its default options and checked
          like any plan. The seconds count within the deadline. It is None if that scheduler is not installed or has no
          plan. A scheduler that is asked may ask nobody.

        The contract:

        - The hook is pure: no I/O, no clock, no change of an argument. Randomness comes from `request.seed` alone.
        - The same request, options and seed give the same plan, in any process and for any order of the request's
          nodes, topologies and components. Break ties by id.
        - A task that cannot be placed is a status with reasons (`Problem.plan` makes them), never an exception.
        - Planning ends within `request.limits.deadline` seconds of CPU. Otherwise the host holds the running
          assignment, or takes the plan that you gave to `headworks.toolbox.cancel.offer`.
        - Before the deadline, a search with `headworks.toolbox.cancel.on_cancel` is asked for its best plan so far.
          Only such plans may differ from run to run.
        - At most `request.limits.max_moves` running tasks move.
        - Without `request.limits.restarts`, no running task moves and no task joins a running worker, since either
          would restart a process. Topologies whose tasks move live are exempt. `Room` and `Problem.plan` know this
          rule.
        """
