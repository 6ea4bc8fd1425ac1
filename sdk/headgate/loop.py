"""The control loop around a scheduler: monitor, analyse, plan, validate, execute, verify, record (MAPE-K).

One round at a time. What to do is decided by pure functions of this module; the class acts. A round never raises
for what a plugin or an engine did: it says so in its record, and what runs goes on running.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import attrs

from headgate.check import check_request
from headgate.documents import unstructure
from headgate.errors import HeadgateError
from headgate.hooks import Verdict
from headgate.journal import NoJournal
from headgate.model import FrozenMap, Limits, Observation, Plan, Receipt, Request, Slot, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from headgate.host import PluginHost
    from headgate.journal import Journal

LOG = logging.getLogger("headgate.loop")

Outcome = Literal["quiet", "unchanged", "held", "vetoed", "failed", "executed", "missed", "rolled-back", "answered"]
"""How a round ended.

quiet: no plan was called for; unchanged: the plan moves nothing; held: no usable plan; vetoed: a reviewer objects;
failed: monitor or executor broke, or what was seen contradicts itself; executed: every task was seen where asked;
missed: carried out, but some task was not seen there; rolled-back: carrying out failed and was undone; answered: the
engine asked where to put tasks without a slot, and was told.
"""


@attrs.frozen(kw_only=True)
class Check:
    """Where tasks were seen against where they were asked."""

    asked: int = 0
    hits: int = 0
    missed: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Round:
    """What one round saw, decided and did: the record in the journal.

    `request` is everything the scheduler was given, so that the plan can be made again.
    """

    number: int
    outcome: Outcome
    message: str = ""
    verdict: Verdict = Verdict(replan=False)
    request: Request | None = None
    plan: Plan | None = None
    warnings: tuple[str, ...] = ()
    receipt: Receipt | None = None
    check: Check = Check()


@attrs.frozen(kw_only=True)
class Control:
    """What a loop is told: which plugins, with which options, and how patient it is."""

    scheduler: str
    engine: str
    options: Mapping[str, Any] = FrozenMap()
    limits: Limits = Limits()
    window: float = 10.0
    seed: int = 0
    shadow: bool = False


def compare_assignments(asked: Mapping[str, Slot], seen: Mapping[str, Slot]) -> Check:
    """Count the tasks that were seen on the node that was asked for; a task not seen at all is missed."""
    missed = tuple(sorted(task for task, slot in asked.items() if task not in seen or seen[task].node != slot.node))
    return Check(asked=len(asked), hits=len(asked) - len(missed), missed=missed)


def judge(plan: Plan, objections: tuple[str, ...], *, shadow: bool) -> tuple[Outcome | None, str]:
    """Why a plan is not to be carried out, or (None, "") if it is."""
    if plan.status is not Status.OK and not plan.starves:
        return "held", "; ".join(reason.message for reason in plan.reasons[:3])
    if not plan.moves:
        return "unchanged", "every task is where it should be"
    if objections:
        return "vetoed", "; ".join(objections)
    if shadow:
        return "unchanged", f"shadow: {len(plan.moves)} moves are not carried out"
    return None, ""


class Loop:
    """Runs rounds against one engine."""

    def __init__(
        self,
        host: PluginHost,
        control: Control,
        target: Any,
        journal: Journal | None = None,
        *,
        keep: Callable[[Observation], None] | None = None,
    ) -> None:
        """Remember what to use; nothing is called yet. `keep` is given every observation, and raises nothing."""
        self._host = host
        self._keep = keep
        self._control = control
        self._target = target
        self._journal = journal or NoJournal()
        self._number = 0

    def round(self, *, replan: bool = False) -> Round:
        """Do one round and record it.

        Args:
            replan: Plan even when the scheduler's own analysis sees no need.

        Raises:
            DocumentError: The journal cannot be written.
        """
        self._number += 1
        done = self._attempt(replan=replan)
        record = unstructure(done)
        self._journal.append(record)
        for failure in self._host.on_round(record):
            LOG.warning("%s", failure)
        return done

    def _attempt(self, *, replan: bool) -> Round:
        control = self._control
        try:
            observation = self._observe()
            request = Request.of(observation, limits=control.limits, seed=control.seed)
            check_request(request)
        except Exception as error:  # noqa: BLE001 - a monitor is a plugin, the loop outlives it
            return self._end("failed", f"{control.engine} could not be observed: {_say(error)}")
        try:
            verdict = self._host.analyse(control.scheduler, observation, control.options)
        except Exception as error:  # noqa: BLE001 - so is a scheduler
            return self._end("held", _say(error))
        if not (verdict.replan or replan):
            return self._end("quiet", "; ".join(verdict.reasons), verdict=verdict)
        return self._plan(request, verdict)

    def _plan(self, request: Request, verdict: Verdict) -> Round:
        control = self._control
        try:
            plan = self._host.schedule(control.scheduler, request, control.options)
            objections = self._host.review(request, plan)
        except Exception as error:  # noqa: BLE001 - and a reviewer
            return self._end("held", _say(error), verdict=verdict, request=request)
        outcome, message = judge(plan, objections, shadow=control.shadow)
        seen = {"verdict": verdict, "request": request, "plan": plan}
        if outcome is not None:
            return self._end(outcome, message, **seen)
        return self._act(plan, seen)

    def _act(self, plan: Plan, seen: dict[str, Any]) -> Round:
        engine, host, target = self._control.engine, self._host, self._target
        try:
            warnings = tuple(host.preflight(engine, target, plan))
            receipt = host.execute(engine, target, plan)
        except Exception as error:  # noqa: BLE001 - and an executor
            return self._end("failed", f"{engine} could not carry the plan out: {_say(error)}", **seen)
        seen = {**seen, "warnings": warnings, "receipt": receipt}
        if not receipt.done:
            return self._undo(receipt, seen)
        return self._verify(plan, seen)

    def _undo(self, receipt: Receipt, seen: dict[str, Any]) -> Round:
        why = "; ".join(step.message for step in receipt.steps if not step.done)
        try:
            undone = self._host.rollback(self._control.engine, self._target, receipt)
        except Exception as error:  # noqa: BLE001 - an executor again
            return self._end("failed", f"{why}; and the rollback failed: {_say(error)}", **seen)
        return self._end("rolled-back" if undone.done else "failed", why, **seen)

    def _verify(self, plan: Plan, seen: dict[str, Any]) -> Round:
        try:
            after = self._observe()
        except Exception as error:  # noqa: BLE001 - a monitor again
            return self._end("missed", f"carried out, but not seen: {_say(error)}", **seen)
        check = compare_assignments(plan.assignment, after.assignment)
        message = f"{check.hits} of {check.asked} tasks run where asked"
        return self._end("missed" if check.missed else "executed", message, check=check, **seen)

    def _observe(self) -> Observation:
        seen = self._host.observe(self._control.engine, self._target, self._control.window)
        if self._keep is not None:
            self._keep(seen)
        return seen

    def _end(self, outcome: Outcome, message: str, **seen: Any) -> Round:
        return Round(number=self._number, outcome=outcome, message=message, **seen)


def _say(error: Exception) -> str:
    return str(error) if isinstance(error, HeadgateError) else f"{type(error).__name__}: {error}"
