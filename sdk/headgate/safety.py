"""Running a scheduler that nobody has reason to trust: deadline, checks, and the running assignment as fallback."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TYPE_CHECKING, Any

import attrs

from headgate.check import check_plan
from headgate.documents import digest, unstructure
from headgate.model import FrozenMap, Plan, Provenance, Reason, Status
from headgate.score import score

if TYPE_CHECKING:
    from collections.abc import Callable

    from headgate.model import Request


@attrs.define
class _Outcome:
    value: Any = None
    error: BaseException | None = None


def run_scheduler(name: str, version: str, schedule: Callable[..., Any], *, request: Request, options: Any) -> Plan:
    """Call `schedule(request=..., options=...)` and return its plan if it keeps every rule, else a HELD one.

    An abandoned scheduler keeps its daemon thread until it ends by itself: Python cannot stop a thread.
    What it prints goes to stderr, so that data on stdout stays data.
    """
    problem = request.problem()
    running, before = request.assignment, digest(request)
    provenance = Provenance(
        scheduler=name,
        version=version,
        options=FrozenMap(unstructure(options)),
        seed=request.seed,
        request=before,
    )
    plan, reasons = _attempt(name, schedule, request, options)
    if digest(request) != before:
        reasons = (_reason("mutation", name, "changed its request, which it must not"),)
    if plan is not None and not reasons:
        basis = plan.measured if isinstance(plan, Plan) else True
        reasons = check_plan(request.problem(measured=basis), plan)
    if reasons:
        live = {task: slot for task, slot in running.items() if problem.current[problem.task_index[task]] >= 0}
        plan = Plan(status=Status.HELD, reasons=tuple(reasons), assignment=FrozenMap(live))
    assert plan is not None
    return attrs.evolve(plan, provenance=provenance, scores=score(problem, plan.assignment))


def _attempt(
    name: str, schedule: Callable[..., Any], request: Request, options: Any
) -> tuple[Plan | None, tuple[Reason, ...]]:
    outcome = _Outcome()

    def call() -> None:
        try:
            outcome.value = schedule(request=request, options=options)
        except BaseException as error:  # noqa: BLE001 - whatever a plugin raises concerns it alone
            outcome.error = error

    thread = threading.Thread(target=call, name=f"headgate-{name}", daemon=True)
    with contextlib.redirect_stdout(sys.stderr):
        thread.start()
        thread.join(request.limits.deadline)
    if thread.is_alive():
        message = f"has no plan after {request.limits.deadline:g} s (limits.deadline); it is abandoned"
        return None, (_reason("deadline", name, message),)
    if outcome.error is not None:
        message = f"raised {type(outcome.error).__name__}: {outcome.error}"
        return None, (_reason("raised", name, message),)
    return outcome.value, () if outcome.value is not None else (_reason("type", name, "answered None"),)


def _reason(code: str, name: str, message: str) -> Reason:
    return Reason(code=code, subject=name, message=f"{name} {message}; the running assignment is held")
