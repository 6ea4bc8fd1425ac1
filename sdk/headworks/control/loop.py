"""The control loop around a scheduler: monitor, analyse, plan, validate, execute, verify, record (MAPE-K).

One round at a time. What to do is decided by pure functions of this module; the class acts. A round never raises
for what a plugin or an engine did: it says so in its record, and what runs goes on running.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs

from headworks.control.autoscale import Fleet, FleetMemory, gave_back, scale, watch
from headworks.control.forecast import CheckedFigure, Forecast, check, known_figures
from headworks.control.guards import (
    Guards,
    Memory,
    given_up_reason,
    interval_reason,
    judged,
    regret_reason,
    remember,
    restarts_beside,
    tasks_to_reassert,
    wait_reason,
    watched,
)
from headworks.control.journal import Counts, NoJournal, Outcome, Round, compare_assignments, now, without_missing_tasks
from headworks.control.knowledge import KnowledgeFile
from headworks.control.moves_per import ALONE, MovesPer, enough, moving, within
from headworks.control.past import Past, later, past_of
from headworks.control.price import foresee, measured_stops, price_reason
from headworks.control.priorities import Draining, Priorities
from headworks.control.recheck import Rechecked, is_void, recheck, way_back
from headworks.control.simulated import LARGEST, figures, simulated
from headworks.documents import digest, unstructure
from headworks.errors import DocumentError, EngineEndedError, EngineWaitsError, HeadworksError
from headworks.model import (
    FILL,
    Drain,
    FrozenMap,
    Limits,
    Observation,
    Plan,
    Provenance,
    Receipt,
    Request,
    Status,
    Undrained,
)
from headworks.model.parts import without_topologies
from headworks.model.scaling import rescale_differences
from headworks.model.validate import check_request
from headworks.problem import Problem

if TYPE_CHECKING:
    from headworks.control.journal import Journal
    from headworks.hooks import Verdict
    from headworks.plugins.host import PluginHost

LOG = logging.getLogger("headworks.loop")
SHOWN = 3
"""Dropped tasks that the message of a round names; the receipt has all."""
Isolation = Literal["auto", "thread", "process"]
"""Place where a scheduler is asked."""


@attrs.frozen(kw_only=True)
class Control:
    """Settings of a loop: plugins, their options, limits and guards."""

    scheduler: str
    engine: str
    options: Mapping[str, Any] = FrozenMap()
    limits: Limits = Limits(fill=FILL)
    window: float = attrs.field(default=10.0, metadata={"help": "Seconds to measure.", "least": 0.1})
    seed: int = 0
    shadow: bool = attrs.field(default=False, metadata={"help": "Plan and report, never act."})
    guards: Guards = Guards()
    knowledge: Path | None = attrs.field(
        default=None,
        metadata={
            "help": "Plan with the profiles and demands of this file or folder of the pipeline, read when it changes.",
            "takes": "a file or folder that is there",
            "metavar": "DIR|FILE",
        },
    )
    priorities: str | None = attrs.field(
        default=None,
        metadata={
            "help": "Ask this plugin, such as manager, for priorities, desired and minimum nodes before each round.",
            "metavar": "NAME[:ADDRESS]",
        },
    )
    predict: bool = attrs.field(
        default=True,
        metadata={"help": f"Simulate plans of at most {LARGEST:,} tasks before they are carried out."},
    )
    moves_per: MovesPer | None = attrs.field(
        default=None,
        metadata={
            "help": "Most running tasks that move: of a topology and of a node in a round, and in 24 hours by the "
            "journal. Repairs go on.",
            "takes": "bounds on moves: expected topology=N, node=N and day=N, or some of them, each once",
            "metavar": "NAME=N,...",
        },
    )
    drain: float | None = attrs.field(
        default=None,
        metadata={
            "help": "Pause topologies whose tasks move until they are empty, for at most this many seconds.",
            "above": 0,
            "metavar": "SECONDS",
        },
    )
    undrained: Undrained = attrs.field(
        default="keep",
        metadata={
            "help": "If they are not empty by then: wait on, keep the old allocation, or force the change.",
            "takes": "wait, keep or force",
            "metavar": "wait|keep|force",
        },
    )
    isolation: Isolation = attrs.field(
        default="auto",
        metadata={
            "help": "Ask the scheduler in a thread, or in a process that is ended at the deadline; "
            "auto is a process for one that is not built in, inside an application, and beside Nimbus.",
            "takes": "auto, thread or process",
            "metavar": "auto|thread|process",
        },
    )
    fleet: Fleet | None = attrs.field(
        default=None,
        metadata={
            "name": "elastic",
            "help": "Give empty nodes back and ask for more, within these bounds.",
            "takes": "a range of nodes: expected MIN:MAX such as 1:4",
            "metavar": "MIN:MAX",
        },
    )


def judge(
    plan: Plan, objections: tuple[str, ...], *, shadow: bool, kept: bool = True, restarted: int = 0
) -> tuple[Outcome | None, str]:
    """Outcome and reason of a plan that is not to be carried out, (None, "") of one that is.

    Args:
        shadow: Whether plans are recorded and not carried out.
        kept: Whether the tasks of a plan without moves stay where they are by themselves.
        restarted: Tasks that would restart beside those that move.
    """
    if plan.status is not Status.OK and not plan.starves:
        return "held", "; ".join(reason.message for reason in plan.reasons[:3])
    if not plan.moves and (kept or shadow):
        return "unchanged", "every task is where it should be"
    if objections:
        return "vetoed", "; ".join(objections)
    if shadow:
        beside = f"; {restarted} more executors would restart" if restarted else ""
        return "unchanged", f"shadow: {len(plan.moves)} moves are not carried out{beside}"
    return None, ""


def cannot_start(request: Request, plan: Plan) -> FrozenMap[str, str]:
    """Topologies of which nothing runs, and which a plan does not place whole, each with the reason.

    One topology that fits nowhere, or asks for what cannot be, holds up no other: none where all are such.
    """
    if plan.status is not Status.INFEASIBLE or plan.starves:
        return FrozenMap()
    running = {task.partition("/")[0] for task in request.assignment}
    found = {}
    for each in request.topologies:
        if each.id not in running and any(task.id not in plan.assignment for task in each.tasks()):
            own = [reason for reason in plan.reasons if reason.subject.partition("/")[0] == each.id]
            found[each.id] = next(
                (reason.message for reason in (*own, *plan.reasons)), "the scheduler did not place it"
            )
    return FrozenMap(found if len(found) < len(request.topologies) else {})


class Loop:
    """Runs rounds against one engine.

    Attributes:
        newest: The last round; where nothing was planned, with the request that would have been asked. None before it.
        past: What counts of its rounds, and of those before it.
    """

    # Before the first round; none of these values is ever changed in place.
    newest: Round | None = None
    _number = _unwritten = 0
    _request: Request | None = None
    _seen = Observation()
    _memory = Memory()
    _nodes = FleetMemory()
    _due: Round | None = None
    _checked: tuple[CheckedFigure, ...] = ()
    _notes: tuple[str, ...] = ()
    _waits: FrozenMap[str, str] = FrozenMap()

    def __init__(
        self,
        host: PluginHost,
        control: Control,
        target: Any,
        journal: Journal | None = None,
        *,
        keep: Callable[[Observation], None] | None = None,
        counts: Callable[[], Mapping[str, int]] = dict,
        clock: Callable[[], float] = time.monotonic,
        date: Callable[[], str] = now,
        past: Past | None = None,
    ) -> None:
        """Remember what to use; nothing is called yet.

        Args:
            host: Has the plugins that are named in `control`.
            keep: Is given every observation, and raises nothing.
            counts: Reads what the adapter counts beside the rounds; see `headworks.control.journal`.
            clock: Tells seconds for the guards.
            date: Tells the time for records.
            past: What counts of the rounds before it, on the same clock; by default as the journal has it.

        Raises:
            DocumentError: `control.knowledge` is not there, or the journal cannot be read.
            OptionError: An option of the scheduler does not fit.
            PluginError: There is no such scheduler, the plugin that `control.priorities` names is not there, or
                `control.drain` asks for what it or the engine cannot do.
        """
        self._host = host
        self._keep = keep
        options = host.options_on(control.engine, control.scheduler, control.options)
        self._control = control = attrs.evolve(control, options=options)
        self._target = target
        self._journal = journal or NoJournal()
        self._clock, self._date = clock, date
        self._counts = Counts(counts)
        self._knowledge = KnowledgeFile(control.knowledge)
        self._priorities = Priorities(host, control.priorities)
        drain = None if control.drain is None or control.shadow else Drain(control.drain, control.undrained)
        self._draining = Draining(host, control.engine, target, control.priorities, drain)
        self.past = past_of(self._journal, now=clock()) if past is None else past

    def round(self, *, replan: bool = False) -> Round:
        """Do one round and record it; where the journal cannot be written, a note says so, and the next round comes."""
        self._number += 1
        self._notes, self._waits, self._checked = (), FrozenMap(), ()
        done = self._counts.add(self._scale(self._attempt(replan=replan)))
        done = attrs.evolve(done, at=self._date())
        self._memory = remember(self._memory, done, self._control.guards, now=self._clock())
        self.past = later(self.past, done, now=self._clock())
        if done.receipt is not None and done.outcome != "waiting":
            self._due = done if done.outcome == "executed" and done.forecast is not None else None
        record = unstructure(done)
        try:
            self._journal.append(record)
        except DocumentError as error:
            self._unwritten += 1
            done = attrs.evolve(done, notes=(*done.notes, f"{error}; {self._unwritten} rounds are not in it"))
        self.newest = done if done.request is not None else attrs.evolve(done, request=self._request)
        for failure in self._host.on_round(record):
            LOG.warning("%s", failure, extra={"round": done.number})
        return done

    def _attempt(self, *, replan: bool) -> Round:
        control = self._control
        try:
            self._notes += self._draining.recover()
        except Exception as error:  # noqa: BLE001 - a priority manager is a plugin, the loop outlives it
            return self._end("held", f"a change that was begun could not be ended: {_say(error)}")
        try:
            seen = self._observe()
        except EngineEndedError as error:
            return self._end("ended", str(error))
        except EngineWaitsError as error:
            return self._end("waiting", str(error))
        except Exception as error:  # noqa: BLE001 - so is a monitor
            return self._end("failed", f"{control.engine} could not be observed: {_say(error)}")
        try:
            observation = self._priorities.complete(seen)
        except Exception as error:  # noqa: BLE001 - so is a priority manager; what runs goes on running
            return self._end("held", f"priorities are not known: {_say(error)}")
        self._notes += observation.notes[len(seen.notes) :]
        return self._decide(observation, replan=replan)

    def _decide(self, observation: Observation, *, replan: bool) -> Round:
        control = self._control
        try:
            request = Request.of(observation, limits=control.limits, seed=control.seed)
            check_request(request)
            self._request = request
        except Exception as error:  # noqa: BLE001 - what a monitor saw may contradict itself
            return self._end("failed", f"{control.engine} could not be observed: {_say(error)}")
        self._check(request)
        if (done := self._look_back(request)) is not None:
            return done
        try:
            verdict = self._host.analyse(control.scheduler, observation, control.options)
        except Exception as error:  # noqa: BLE001 - so is a scheduler
            return self._end("held", _say(error))
        if not (verdict.replan or replan):
            return self._end(
                "quiet", "; ".join(verdict.reasons) or f"{control.scheduler} sees no need", verdict=verdict
            )
        if not replan and (wait := interval_reason(verdict, self._memory, now=self._clock())):
            return self._end("quiet", wait, verdict=verdict)
        return self._plan(request, verdict)

    def _scale(self, done: Round) -> Round:
        """Add or drain nodes after a round that saw the engine."""
        fleet, engine = self._control.fleet, self._control.engine
        unseen = done.outcome in ("failed", "ended") or (done.outcome == "waiting" and done.request is None)
        if fleet is None or self._control.shadow or unseen:
            return done
        self._nodes = watch(self._nodes, self._seen)
        wanted = scale(done, self._seen, self._nodes, fleet, waits=self._waits)
        notes = (*done.notes, f"nodes: {wanted.why}") if wanted.why else done.notes
        if not wanted.add and not wanted.drain:
            return attrs.evolve(done, notes=notes)
        try:
            receipt = self._host.call(
                engine, "headworks_scale", target=self._target, add=wanted.add, drain=wanted.drain
            )
        except Exception as error:  # noqa: BLE001 - an executor
            return attrs.evolve(done, notes=(*notes, f"nodes could not be changed: {_say(error)}"))
        if wanted.drain and receipt.done:
            self._nodes = gave_back(self._nodes, self._seen)
        said = tuple(f"{step.action} {step.subject}: {step.message or 'done'}" for step in receipt.steps)
        return attrs.evolve(done, notes=(*notes, *said), scaling=receipt)

    def _look_back(self, request: Request) -> Round | None:
        """Undo an earlier plan that made things worse, or insist on it where tasks left it; None: plan as usual."""
        guards = self._control.guards
        self._memory = watched(self._memory, request)
        if why := regret_reason(request, guards, self._memory, number=self._number):
            return self._take_back(request, why)
        self._memory = judged(guards, self._memory, number=self._number)
        node_of = tasks_to_reassert(request, guards, self._memory)
        if not node_of:
            return None
        plan = Problem.of(request).plan(node_of, "asked again: tasks were not where they had been asked")
        if plan.status is not Status.OK or not plan.moves:  # they cannot go back, or may not move by now
            return None
        outcome, message = judge(plan, (), shadow=self._control.shadow)
        plan = attrs.evolve(plan, provenance=Provenance(request=digest(request)))
        if outcome is not None:
            return self._end(outcome, message, request=request, plan=plan)
        left = self._within_bounds(request, plan)
        if is_void(plan, left.dropped):
            return None
        return self._act(left, {"request": request, "plan": plan}, done="asserted")

    def _take_back(self, request: Request, why: str) -> Round:
        trial = self._memory.trial
        receipt = Receipt(undo=trial.undo, undo_parallelism=trial.undo_parallelism) if trial else Receipt()
        # A way back is no longer than the way there, which was within the limit.
        free = attrs.evolve(request, limits=attrs.evolve(request.limits, max_moves=None))
        try:
            plan = way_back(request, receipt)
            act = functools.partial(self._where_it_holds, free, plan, functools.partial(self._go_back, receipt))
            undone = self._draining.execute(request, plan.assignment, act)
        except EngineEndedError as error:
            return self._end("ended", str(error), request=request)
        except Exception as error:  # noqa: BLE001 - an executor
            return self._end("failed", f"{why}; and taking it back failed: {_say(error)}", request=request)
        why = f"{why}; not moved: {_some(undone.dropped)}" if undone.dropped else why
        void = is_void(plan, undone.dropped)
        outcome: Outcome = "waiting" if void else "undone" if undone.done else "failed"
        moved = _moved(request, plan, undone)
        return self._end(outcome, why, request=request, receipt=undone, moved=moved)

    def _go_back(self, receipt: Receipt, left: Rechecked) -> Receipt:
        places = left.plan.assignment  # of tasks whose way back is dropped: where they run
        undo = {task: places[task] for task in receipt.undo if task in places}
        kept = attrs.evolve(receipt, undo=FrozenMap(undo), undo_parallelism=left.plan.parallelism)
        return self._host.rollback(self._control.engine, self._target, kept)

    def _plan(self, request: Request, verdict: Verdict) -> Round:
        control = self._control
        try:
            plan = self._host.schedule(control.scheduler, request, control.options)
            self._waits = cannot_start(request, plan)
            if self._waits:
                said = "waits, and the others are planned without it"
                self._notes += tuple(f"{name} {said}: {why}" for name, why in self._waits.items())
                request = without_topologies(request, self._waits)
                plan = self._host.schedule(control.scheduler, request, control.options)
            rescales = any(rescale_differences(plan, request.topologies))
            kept = bool(plan.moves) or self._host.keeps(control.engine, self._target, plan)
            # Numbers of tasks that the engine leaves as they are make no move, and would be passed over in silence.
            silent = rescales and kept and not plan.moves
            warnings = tuple(self._host.preflight(control.engine, self._target, plan)) if silent else ()
            objections = self._host.review(request, plan)
            aware = "traffic-aware" in self._host.describe(control.scheduler).capabilities
            left = self._within_bounds(request, plan, traffic_aware=aware)
        except Exception as error:  # noqa: BLE001 - and a reviewer
            return self._end("held", _say(error), verdict=verdict, request=request)
        outcome, message = judge(
            plan, objections, shadow=control.shadow, kept=kept, restarted=restarts_beside(request, plan)
        )
        seen = {"verdict": verdict, "request": request, "plan": plan}
        if outcome not in (None, "unchanged") or (outcome and not plan.moves):
            return self._end(outcome, message, warnings=warnings, **seen)
        if not plan.moves and not rescales:
            return self._act(Rechecked(plan=plan), seen)
        waits, why, found = self._weigh(request, plan, left, aware=aware)
        if control.shadow:  # it says what acting does, and does nothing
            said = f"{message}; the loop would wait: {why}" if why else message
            return self._end("unchanged", said, warnings=warnings, forecast=found.get("forecast"), **seen)
        return self._end(waits, why, **seen, **found) if waits else self._act(left, {**seen, **found})

    def _weigh(
        self, request: Request, plan: Plan, left: Rechecked, *, aware: bool
    ) -> tuple[Outcome | None, str, dict[str, Any]]:
        """Outcome and reason of a plan that a guard holds back, None and "" for one to carry out; and the forecast.

        Args:
            left: What the bounds on moves leave of it.
            aware: Whether the scheduler is to lessen traffic.
        """
        guards, now = self._control.guards, self._clock()
        if stop := given_up_reason(request, plan, self._memory.repeated, most=guards.give_up):
            return "held", stop, {}
        if is_void(plan, left.dropped):
            short = self._too_few(request, plan, left) if ALONE in left.dropped.values() else ""
            dropped = Receipt(dropped=left.dropped)
            return "waiting", short or f"not moved: {_some(left.dropped)}", {"receipt": dropped}
        share = len(moving(request, left.plan)) / len(moving(request, plan)) if left.dropped else 1.0
        wait = functools.partial(wait_reason, request, guards=guards, memory=self._memory, now=now, traffic_aware=aware)
        why = wait(plan=left.plan, part=share)
        found: dict[str, Any] = {}
        if not why and moving(request, left.plan):
            found["forecast"] = forecast = self._foresee(request, left.plan, share)
            why = price_reason(request, left.plan, guards, forecast, traffic_aware=aware)
        if why and left.dropped and not wait(plan=plan):
            why = f"{self._too_few(request, plan, left)} ({why})"
        return "waiting" if why else None, why, found

    def _too_few(self, request: Request, plan: Plan, left: Rechecked) -> str:
        """The number of moves that a plan needs beside those that are allowed, and the next step."""
        bounds = self._control.moves_per or MovesPer()
        most = enough(request, plan, bounds, today=self.past.today(self._clock()))
        moves, may = (len(moving(request, each)) for each in (plan, left.plan))
        return (
            f"the plan needs {moves} moves, and no part of it gains enough: "
            f"--moves-per {bounds} lets {may} through, and {most} would let all"
        )

    def _foresee(self, request: Request, plan: Plan, part: float) -> Forecast:
        """Simulate what runs and a plan, and correct that by the errors of earlier forecasts."""
        control = self._control
        known: Any = {"engine": control.engine, "scheduler": control.scheduler, "now": self._clock(), "part": part}
        try:
            loads = simulated(self._host, request, plan) if control.predict else (None, None)
        except Exception as error:  # noqa: BLE001 - the simulated engine is a plugin, and a round does without it
            return foresee(request, plan, (None, None), self.past, control.guards, why=_say(error), **known)
        return foresee(request, plan, loads, self.past, control.guards, **known)

    def _check(self, request: Request) -> None:
        """Hold the forecast of the plan that was carried out last against what was measured since."""
        due, control = self._due, self._control
        if due is None or due.forecast is None:
            return
        measured = known_figures(figures(request))
        self._checked = check(
            due.forecast, measured, number=due.number, engine=control.engine, scheduler=control.scheduler
        )
        self._due = None if self._checked else due

    def _within_bounds(self, request: Request, plan: Plan, *, traffic_aware: bool = False) -> Rechecked:
        """The part of a plan that the bounds on moves allow; a note names the tasks that are held back."""
        bounds, today = self._control.moves_per, self.past.today(self._clock())
        if bounds is None:
            return Rechecked(plan=plan)
        left = within(request, plan, bounds, today=today, traffic_aware=traffic_aware)
        if left.dropped:
            self._notes += (f"held back: {_some(left.dropped)}",)
        return left

    def _act(self, left: Rechecked, seen: dict[str, Any], done: Outcome = "executed") -> Round:
        """Carry out the part of a plan that is left, and see what came of it."""
        engine, host, target = self._control.engine, self._host, self._target
        plan, request, began = left.plan, seen["request"], self._clock()
        try:
            warnings = tuple(host.preflight(engine, target, plan))
            act = functools.partial(
                self._where_it_holds, request, plan, lambda kept: host.execute(engine, target, kept.plan)
            )
            receipt = self._draining.execute(request, plan.assignment, act)
        except EngineEndedError as error:
            return self._end("ended", str(error), **seen)
        except Exception as error:  # noqa: BLE001 - and an executor
            return self._end("failed", f"{engine} could not carry the plan out: {_say(error)}", **seen)
        dropped = FrozenMap({**left.dropped, **receipt.dropped})
        seen = {**seen, "warnings": warnings, "receipt": attrs.evolve(receipt, dropped=dropped)}
        seen["moved"] = _moved(request, plan, receipt)
        seen["stops"] = measured_stops(self._control.engine, request, plan, receipt, self._clock() - began)
        if not receipt.done:
            return self._undo(receipt, seen)
        if is_void(plan, receipt.dropped):
            return self._end("waiting", f"no move holds any more: {_some(dropped)}", **seen)
        return self._verify(plan, seen, done)

    def _where_it_holds(self, request: Request, plan: Plan, act: Callable[[Rechecked], Receipt]) -> Receipt:
        """Carry out what holds of a plan on the engine as it is at this moment."""
        looked = self._host.look(self._control.engine, self._target)
        left = Rechecked(plan=plan) if looked is None else recheck(plan, request, looked)
        receipt = Receipt() if is_void(plan, left.dropped) else act(left)
        return attrs.evolve(receipt, dropped=left.dropped)

    def _undo(self, receipt: Receipt, seen: dict[str, Any]) -> Round:
        why = "; ".join(step.message for step in receipt.steps if not step.done)
        # What a manager has undone is in no receipt, but for numbers of tasks, which it does not know.
        if self._draining.by_steps and not receipt.undo and not receipt.undo_parallelism:
            return self._end("rolled-back", why, **seen)
        try:
            undone = self._host.rollback(self._control.engine, self._target, receipt)
        except Exception as error:  # noqa: BLE001 - an executor again
            return self._end("failed", f"{why}; and the rollback failed: {_say(error)}", **seen)
        return self._end("rolled-back" if undone.done else "failed", why, **seen)

    def _verify(self, plan: Plan, seen: dict[str, Any], done: Outcome) -> Round:
        try:
            after = self._observe("afterwards: ")
        except Exception as error:  # noqa: BLE001 - a monitor again
            return self._end("missed", f"carried out, but not seen: {_say(error)}", **seen)
        receipt: Receipt = seen["receipt"]
        wanted = without_missing_tasks(plan, after.topologies)
        asked = {task: slot for task, slot in wanted.items() if task not in receipt.dropped}
        check = compare_assignments(asked, after.assignment)
        message = f"{check.hits} of {check.asked} tasks run where asked"
        if unseen := len(receipt.unseen):
            message = f"{check.hits} of {check.asked} tasks are assigned where asked; nothing reports {unseen} of them"
        if receipt.dropped:
            message = f"{message}; not moved: {_some(receipt.dropped)}"
        return self._end("missed" if check.missed else done, message, check=check, **seen)

    def _observe(self, when: str = "") -> Observation:
        seen = self._host.observe(self._control.engine, self._target, self._control.window)
        if self._keep is not None:
            self._keep(seen)
        seen = self._knowledge.complete(seen)
        self._notes += tuple(f"{when}{note}" for note in seen.notes)
        self._seen = seen
        return seen

    def _end(self, outcome: Outcome, message: str, **seen: Any) -> Round:
        seen = {"notes": self._notes, "checked": self._checked, **seen}
        return Round(number=self._number, outcome=outcome, message=message, **seen)


def _moved(request: Request, plan: Plan, receipt: Receipt) -> int:
    """Number of running tasks that were moved, or were to be."""
    return sum(task not in receipt.dropped for task in moving(request, plan))


def _some(dropped: Mapping[str, str]) -> str:
    """The first of some tasks that were not moved, each with the reason, and the number of the others."""
    said = [f"{task} ({why})" for task, why in dropped.items()]
    return ", ".join(said[:SHOWN] + ([f"{len(said) - SHOWN} more"] if len(said) > SHOWN else []))


def _say(error: Exception) -> str:
    return str(error) if isinstance(error, HeadworksError) else f"{type(error).__name__}: {error}"
