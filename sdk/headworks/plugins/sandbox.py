"""Sandbox for untrusted schedulers: deadline, checks, and the running assignment as fallback."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from headworks.documents import canonical, fingerprint, restore, unstructure
from headworks.documents.strict_json import parse
from headworks.interrupts import Terminated, dismiss
from headworks.model import ENDED_EARLY, THREADS, FrozenMap, Plan, Provenance, Reason, Request, Status
from headworks.model.scaling import rescaled
from headworks.model.topology import CORE
from headworks.plugins.guard import LOST, failure, keep_traceback
from headworks.plugins.own_process import printing_to_stderr
from headworks.plugins.planning_time import STRETCH, PlanningTime
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from headworks.problem.plan.score import score
from headworks.toolbox.cancel import Cancellation, attach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headworks.model import Slot
    from headworks.plugins.processes import SchedulerProcesses


ABANDONED = 3
"""Abandoned runs of a scheduler that may still be going before it is not asked any more until one of them ends."""

ASKED = 0.8
"""Share of the deadline after which a search that can be ended is asked for its best plan so far."""
PREPARATION = 60.0
"""Seconds for `headworks_prepare`."""
GRACE = 10.0
"""Seconds for the answer of a scheduler that Ctrl-C asked for its best plan so far."""


@attrs.frozen(kw_only=True)
class Answer:
    """Answer of a scheduler.

    Attributes:
        plan: What it answered, checked by nobody.
        reasons: Reasons why there is no plan; none if it answered.
        early: Whether its search was ended early.
        changed: Whether it changed the request that it was lent.
    """

    plan: Any = None
    reasons: tuple[Reason, ...] = ()
    early: bool = False
    changed: bool = False


def no_plan(code: str, name: str, message: str) -> Reason:
    """Reason why a scheduler has no plan.

    Args:
        message: What it did, as the end of a sentence that begins with its name.
    """
    return Reason(code=code, subject=name, message=f"{name} {message}; the running assignment is held")


@attrs.define
class _Outcome:
    value: Any = None
    error: BaseException | None = None
    prepared: threading.Event = attrs.field(factory=threading.Event)
    done: threading.Event = attrs.field(factory=threading.Event)


def run_scheduler(
    name: str,
    version: str,
    schedule: Callable[..., Any],
    *,
    request: Request,
    options: Any,
    cancellation: Cancellation | None = None,
    takes_problem: bool = True,
    prepare: Callable[[], Any] | None = None,
    others: Callable[[str, float, Cancellation], Plan | None] | None = None,
    processes: SchedulerProcesses | None = None,
    stretch: float = STRETCH,
) -> Plan:
    """Call `schedule(request=, problem=, options=, ask=)`; its plan if it keeps every rule, else a HELD one.

    It gets a copy of the request, so that the arrays that its plan is checked on are not those it could write to.
    An abandoned scheduler keeps its daemon thread until it ends by itself: Python cannot stop a thread.
    What it prints goes to stderr, so that data on stdout stays data. A search that says how it is ended
    (`headworks.toolbox.cancel`) is asked for its best plan so far when `ASKED` of the deadline is over, and with a
    `cancellation` by Ctrl-C too; the plan then says so (`ENDED_EARLY`), as does one that was offered and stands where
    the answer is late. Without `takes_problem` it is given no arrays.

    Args:
        cancellation: Ends the search early; with it Ctrl-C does so too.
        takes_problem: Whether the hook takes the argument `problem`.
        prepare: Is called before it, in the same thread; the deadline begins when it has returned.
        others: Answers `ask`, given a cancellation that ends with that of the scheduler; None where the run is itself
            an answer, which may ask nobody.
        processes: Processes to ask it in, in place of a thread; they know it by name.
        stretch: Times the deadline that it may take by the clock (`headworks.plugins.planning_time`).
    """
    problem, before = Problem.of(request), canonical(request)
    provenance = Provenance(
        scheduler=name,
        version=version,
        options=FrozenMap(unstructure(options)),
        seed=request.seed,
        request=fingerprint(before),
    )
    if processes is not None:
        answer = processes.ask(name, request, provenance.options, stretch, mind=cancellation is not None)
    else:
        lent = attrs.evolve(request, assignment=FrozenMap(request.assignment))
        problem.lend(lent)
        call = SchedulerCall(name, schedule, lent, options, prepare, others, takes_problem=takes_problem)
        answer = ask_here(call, cancellation, stretch)
    if answer.changed:
        problem = Problem.of(restore(parse(before), Request))
    problem, plan = _accept(name, request, answer, problem)
    return attrs.evolve(plan, provenance=provenance, scores=score(problem, plan.assignment, plan.input_rate))


def _accept(name: str, request: Request, answer: Answer, problem: Problem) -> tuple[Problem, Plan]:
    """Problem on which a plan is scored, and the plan of an answer if it keeps every rule, else a HELD one."""
    reasons = answer.reasons
    if not reasons:
        problem, reasons = _judge(name, request, answer.plan, problem)
    if reasons:
        return problem, Plan(status=Status.HELD, reasons=reasons, assignment=_live(problem))
    plan: Plan = answer.plan
    if answer.early and not any(each.code == ENDED_EARLY for each in plan.reasons):
        plan = attrs.evolve(plan, reasons=(*plan.reasons, _ended_early(name)))
    return problem, attrs.evolve(plan, reasons=(*plan.reasons, *_beyond_threads(request)))


def _beyond_threads(request: Request) -> Iterator[Reason]:
    """A remark on each component that declares more CPU for a task than its threads can use."""
    for topology in request.topologies:
        for part in topology.components:
            need, have = part.demand.cpu, part.thread_points
            if need > have:
                name = f"{topology.id}/{part.id}"
                message = (
                    f"a task of {name} declares {need:g} points, and its threads can use {have:g}: that was planned"
                    f" with; declare {math.ceil(need / CORE)} threads if it has a pool"
                )
                yield Reason(code=THREADS, subject=name, message=message, resource="cpu", need=need, have=have)


def ask_here(call: SchedulerCall, cancellation: Cancellation | None, stretch: float) -> Answer:
    """Answer of a scheduler in a thread of this process, which may have changed the request that it was lent."""
    cancel, state = cancellation or Cancellation(), _state(call.request)
    plan, reasons = attempt(call, cancel, stretch, mind=cancellation is not None)
    if not _is_still(call.request, state):
        return Answer(reasons=(no_plan("mutation", call.name, "changed its request, which it must not"),), changed=True)
    return Answer(plan=plan, reasons=reasons, early=cancel.ended)


def _live(problem: Problem) -> FrozenMap[str, Slot]:
    """Running assignment, without tasks whose slot is gone."""
    running = problem.request.assignment
    return FrozenMap(
        {task: running[task] for task, node in zip(problem.task_ids, problem.current, strict=True) if node >= 0}
    )


def _state(request: Request) -> int | str:
    """The hash of a request; its text where a part that is no value of the model has none."""
    try:
        # Takes a tenth of the time of the text. A slot keeps its hash, and would hide that it was changed.
        return hash((request, *((slot.node, slot.port) for slot in request.assignment.values())))
    except TypeError:
        return canonical(request)


def _is_still(request: Request, state: int | str) -> bool:
    try:
        return _state(request) == state
    except Exception:  # noqa: BLE001 - what was changed may not even be a request any more
        return False


def _judge(name: str, request: Request, plan: Any, problem: Problem) -> tuple[Problem, tuple[Reason, ...]]:
    """Problem on which an answer is scored, rescaled to its parallelism, and the reasons to refuse it."""
    try:
        judged = rescaled(request, plan) if isinstance(plan, Plan) else request
    except Exception as error:  # noqa: BLE001 - a plan may hold anything
        return problem, (no_plan("parallelism", name, f"chose numbers of tasks that cannot be ({error})"),)
    if reasons := faults(name, judged, plan):
        return problem, reasons
    return (problem if judged is request else Problem.of(judged)), ()


def faults(name: str, request: Request, plan: Any) -> tuple[Reason, ...]:
    """Reasons to refuse an answer, whatever it is."""
    try:
        basis = plan.measured if isinstance(plan, Plan) else True
        found = check_plan(Problem.of(request, measured=bool(basis)), plan)
    except Exception as error:  # noqa: BLE001 - a plan may hold anything
        message = f"answered a plan that cannot be read ({type(error).__name__}: {error})"
        return (no_plan("type", name, message),)
    return tuple(attrs.evolve(reason, message=f"{name} is held: {reason.message}") for reason in found)


@attrs.frozen
class SchedulerCall:
    """One call of a scheduler: what it is given, and how it asks others."""

    name: str
    schedule: Callable[..., Any]
    request: Request
    options: Any
    prepare: Callable[[], Any] | None
    others: Callable[[str, float, Cancellation], Plan | None] | None
    takes_problem: bool = attrs.field(kw_only=True)

    def run(self, outcome: _Outcome, cancel: Cancellation) -> None:
        """Make the call, in its own thread."""
        attach(cancel)
        try:
            with printing_to_stderr():  # in this thread: one that is abandoned goes on printing there
                if self.prepare is not None:
                    self.prepare()
                outcome.prepared.set()
                problem = Problem.of(self.request) if self.takes_problem else None
                outcome.value = self.schedule(
                    request=self.request, problem=problem, options=self.options, ask=partial(self._ask, cancel)
                )
        except BaseException as error:  # noqa: BLE001 - whatever a plugin raises concerns it alone
            outcome.error = error
        finally:
            outcome.prepared.set()
            outcome.done.set()

    def _ask(self, cancel: Cancellation, name: str, seconds: float) -> Plan | None:
        """The plan of another scheduler; None if there is none, if nobody may be asked, or if the search is to end."""
        if self.others is None or name == self.name or cancel.requested:
            return None
        inner = cancel.inner = Cancellation(requested=cancel.requested)
        try:
            plan = self.others(name, min(seconds, self.request.limits.deadline), inner)
        finally:
            cancel.inner = None
        cancel.lacking |= inner.ended or (plan is None and inner.requested)
        return plan


def attempt(call: SchedulerCall, cancel: Cancellation, stretch: float, *, mind: bool) -> tuple[Any, tuple[Reason, ...]]:
    """Answer of a scheduler, and the reasons why there is none.

    Args:
        stretch: Times the deadline that it may take by the clock.
        mind: Whether Ctrl-C does so, too.
    """
    name, deadline = call.name, call.request.limits.deadline
    outcome, lost = _Outcome(), LOST + name
    going = sum(thread.name == lost for thread in threading.enumerate())
    if going >= ABANDONED:
        message = f"is not asked: {going} earlier runs that were abandoned are still going"
        return None, (no_plan("abandoned", name, message),)
    thread = threading.Thread(target=call.run, args=(outcome, cancel), name=f"headworks-{name}", daemon=True)
    _run(thread, outcome, deadline, stretch, cancel, mind=mind)
    if not outcome.done.is_set():
        thread.name = lost
        if cancel.offered is not None:
            cancel.overtaken = True
            return cancel.offered, ()
    reasons = _failures(name, outcome, deadline, stretch)  # before the value: it may come just now
    return outcome.value, reasons


def _failures(name: str, outcome: _Outcome, deadline: float, stretch: float) -> tuple[Reason, ...]:
    """Reasons why a scheduler that was asked has no plan, none if it answered."""
    if not outcome.done.is_set():
        late = no_answer(deadline, stretch)
        why = late if outcome.prepared.is_set() else f"is not prepared after {PREPARATION:g} s"
        return (no_plan("deadline", name, f"{why}; it is abandoned"),)
    if outcome.error is not None:
        keep_traceback(name, "headworks_schedule", outcome.error)
        return (no_plan("raised", name, f"raised {failure(outcome.error)}"),)
    return ()


def no_answer(deadline: float, stretch: float) -> str:
    """The end of a sentence on a scheduler whose time is over."""
    return f"has no plan after {deadline:g} s of CPU, or {stretch * deadline:g} s (limits.deadline)"


def _run(
    thread: threading.Thread,
    outcome: _Outcome,
    seconds: float,
    stretch: float,
    cancellation: Cancellation,
    *,
    mind: bool,
) -> None:
    """Start a scheduler and wait for it; near the deadline one that can be ended is asked for its best plan so far.

    If Ctrl-C is minded, it asks for that as well, and a second one ends the wait.

    An event and not the thread is waited for: a `join` that was interrupted takes the thread for ended (CPython 3.11).
    """
    done = outcome.done
    try:
        thread.start()
        if not outcome.prepared.wait(PREPARATION):
            return
        time = PlanningTime(stretch=stretch)
        if not time.wait(done, ASKED * seconds):
            cancellation.request()
            time.wait(done, seconds)
    except KeyboardInterrupt as signal:
        if not mind or cancellation.callback is None or isinstance(signal, Terminated):
            raise
        dismiss()
        cancellation.request()
        if not done.wait(min(seconds, GRACE)) and cancellation.offered is None:
            raise


def _ended_early(name: str) -> Reason:
    message = (
        f"{name} had to answer before its search, or one that it asked for, had ended: another run may find another"
    )
    return Reason(code=ENDED_EARLY, subject=name, message=message)
