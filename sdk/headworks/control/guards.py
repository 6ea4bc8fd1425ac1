"""Guards against thrashing of the control loop: cool-down, least gain, backoff, rollback of plans that did harm.

Pure functions of what a round sees and of what is remembered of the rounds before it; the loop acts on their answers.
`now` is in seconds, on the clock of the loop.
"""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING, Literal

import attrs
import numpy as np

from headworks.model import FrozenMap, Slot
from headworks.problem import Problem
from headworks.problem.arrays.arrays import STEP
from headworks.problem.plan.standing import as_it_runs
from headworks.problem.rules.violations import breaches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from headworks.control.journal import Round
    from headworks.hooks import Verdict
    from headworks.model import Plan, Request, Scores

Goal = Literal["load", "traffic", "nodes", "cost", "fullest", "latency", "throughput"]
"""Figures that a plan may be judged by. load: throughput and latency, at an equal load; traffic: the share that goes
between nodes; nodes, cost and fullest (`fullest_node`): as in `Scores`; latency: the largest of any topology;
throughput: completed over offered, in sum. More is better of the last alone."""

PREDICTED: tuple[Goal, ...] = ("traffic", "nodes", "cost", "fullest")
"""Goals that the scores of a plan foretell."""
REGRETS = 8
"""Undone assignments that are remembered."""
LEAST_GAIN = 0.01
"""Gain that a plan of a traffic-aware scheduler has to have where no other is asked. Rates that were measured differ by
as much from one window to the next. A smaller one moves tasks for noise, a larger one leaves traffic between nodes
that could be had."""
COOLDOWN = 30.0
"""Seconds of the cool-down by default: half the time between two rounds, so that a plan that holds delays none, and a
failure skips the next. On Storm tuples go to old places for up to 20 s after a move. With less, plans are made on
figures from before it."""
WINDOWS = 5
"""Windows that a plan is judged against: more would be of another hour."""
FEW = 3
"""Windows before a plan that show how much a figure varies; with fewer, it may by `UNKNOWN_SPREAD`."""
UNKNOWN_SPREAD = 0.5
"""Part of a figure by which it may vary where its spread is not known; a plan that costs more is still undone."""
SAME_LOAD = 0.1
"""Relative difference of the offered load up to which it counts as equal: throughput follows it."""
DOUBLINGS = 6
"""The cool-down doubles with every failure in a row, at most so often."""


@attrs.frozen(kw_only=True)
class Repeated:
    """The failure of the last rounds that acted: in what, on which nodes and topologies, and how often in a row."""

    what: str = ""
    among: frozenset[tuple[str, ...]] = frozenset()
    times: int = 0


def count_again(before: Repeated, done: Round) -> Repeated:
    """The failure of a round, counted from 1 unless it is the one of before; reminders of a plan are no new failure."""
    if done.plan is not None and not done.plan.provenance.scheduler:
        return before
    steps = done.receipt.steps if done.receipt is not None else ()
    failed = sorted({f"{step.action} {step.subject}" for step in steps if not step.done})
    now = Repeated(what=", ".join(failed) or done.outcome, among=_world(done.request), times=1)
    same = (now.what, now.among) == (before.what, before.among)
    return attrs.evolve(now, times=before.times + 1) if same else now


def given_up_reason(request: Request, plan: Plan, repeated: Repeated, *, most: int) -> str:
    """Reason to carry no plan out any more, "" to go on: the same failed `most` times in a row, and nothing changed."""
    if repeated.times < most or repeated.among != _world(request):
        return ""
    return (
        f"{repeated.times} rounds in a row failed alike ({repeated.what}): running tasks stay until nodes, "
        f"topologies or priorities change, or you start it again; {len(plan.moves)} moves are not made"
    )


def _world(request: Request | None) -> frozenset[tuple[str, ...]]:
    """Nodes, topologies, their claims and their numbers of tasks: things that an operator or a trigger changes."""
    if request is None:
        return frozenset()
    components = (
        ("component", topology.id, each.id, str(each.parallelism))
        for topology in request.topologies
        for each in topology.components
    )
    return frozenset((*_setting(request), *components))


def _setting(request: Request) -> frozenset[tuple[str, ...]]:
    """Nodes, topologies and their claims: what no plan changes."""
    nodes = (("node", each.id) for each in request.cluster.nodes)
    claims = (
        ("claim", each.id, str(each.priority), str(each.desired_nodes), str(each.minimum_nodes))
        for each in request.topologies
    )
    return frozenset((*nodes, *claims))


@attrs.frozen(kw_only=True)
class Guards:
    """Thresholds of the guards. Each field is a setting of commands, and its `help` says what it does."""

    cooldown: float = attrs.field(
        default=COOLDOWN,
        metadata={
            "help": "Seconds after acting in which no plan is carried out; twice as long after each failure in a row.",
            "least": 0,
        },
    )
    gain: float | None = attrs.field(
        default=None,
        metadata={
            "name": "min_gain",
            "help": "Least gain of a plan over the running assignment, in the goal or else in any figure: a share of "
            f"all traffic, else relative. Default: {LEAST_GAIN:g} for traffic-aware schedulers, else 0. With 0, plans "
            "are carried out whatever they cost.",
            "least": 0,
            "most": 1,
        },
    )
    goal: Goal | None = attrs.field(
        default="load",
        metadata={"help": "Undo a plan if this figure gets worse; load is throughput and latency at an equal load."},
    )
    worse: float = attrs.field(default=0.1, metadata={"help": "Accepted relative loss in the goal.", "least": 0})
    settle: int = attrs.field(default=2, metadata={"help": "Rounds before a plan is judged.", "least": 1})
    reassert: int = attrs.field(
        default=3, metadata={"help": "Times to ask again while tasks are elsewhere.", "least": 0}
    )
    give_up: int = attrs.field(
        default=3,
        metadata={
            "help": "Equal failures in a row after which plans are held until nodes, topologies or priorities change.",
            "least": 1,
        },
    )


@attrs.frozen(kw_only=True)
class Window:
    """Tuples/s offered and completed in a window, and the largest latency in milliseconds, None if unknown."""

    offered: float
    completed: float
    latency: float | None = None


@attrs.frozen(kw_only=True)
class Trial:
    """A plan that was carried out and waits to be judged: its round, the goal before it, and what undoes it.

    `windows` are those before it, in which nothing was changed.
    """

    round: int
    before: float | None
    windows: tuple[Window, ...] = ()
    asked: FrozenMap[str, Slot]
    undo: FrozenMap[str, Slot]
    undo_parallelism: FrozenMap[str, int] = FrozenMap()


@attrs.frozen(kw_only=True)
class Memory:
    """State of the guards between two rounds.

    Attributes:
        acted: When the engine was last told something, seconds of the loop's clock; None: never.
        failures: Rounds in a row that acted and failed.
        asked: The assignment that was last asked for, empty when there is none to insist on.
        tries: How often it was asked for again.
        trial: The plan that is to be judged.
        regrets: Assignments that were undone, latest last.
        repeated: The same failure in a row.
        windows: Measurements since the engine was last told something, latest last.
        setting: The nodes, topologies and claims that they are of.
    """

    acted: float | None = None
    failures: int = 0
    repeated: Repeated = attrs.field(factory=Repeated)
    asked: FrozenMap[str, Slot] = FrozenMap()
    tries: int = 0
    trial: Trial | None = None
    regrets: tuple[FrozenMap[str, Slot], ...] = ()
    windows: tuple[Window, ...] = ()
    setting: frozenset[tuple[str, ...]] = frozenset()


def watched(memory: Memory, request: Request) -> Memory:
    """Memory with what a round measured; unchanged where some of it is not known.

    Windows from before nodes, topologies or their claims changed are no measure for a plan: it passes unjudged.
    """
    if memory.setting != (setting := _setting(request)):
        memory = attrs.evolve(memory if memory.trial is None else _passed(memory), windows=(), setting=setting)
    samples = request.metrics.topologies
    pairs = [(each.offered, each.throughput) for each in samples]
    if not pairs or any(offered is None or done is None for offered, done in pairs):
        return memory
    window = Window(
        offered=sum(offered or 0.0 for offered, _ in pairs),
        completed=sum(done or 0.0 for _, done in pairs),
        latency=measure(request, "latency"),
    )
    return attrs.evolve(memory, windows=(*memory.windows, window)[-WINDOWS:])


def remember(memory: Memory, done: Round, guards: Guards, *, now: float) -> Memory:
    """Memory after a round that ended at `now`."""
    # A round that failed with a request and without a plan is one whose way back raised.
    acted = done.receipt is not None and done.outcome != "waiting"
    if not acted and not (done.outcome == "failed" and done.request is not None):
        return memory
    trial = _trial(done, guards, memory.windows)
    if done.outcome in ("executed", "asserted"):
        # What is to be judged is no success yet: a plan that is undone each time would count as one each time.
        judging = done.outcome == "executed" and trial is not None
        failures, repeated = (memory.failures, memory.repeated) if judging else (0, Repeated())
    else:
        failures, repeated = memory.failures + 1, count_again(memory.repeated, done)
    memory = attrs.evolve(memory, repeated=repeated)
    if done.outcome == "undone":
        regrets = memory.regrets if memory.trial is None else (*memory.regrets, memory.trial.asked)[-REGRETS:]
        return Memory(acted=now, failures=failures, regrets=regrets, repeated=repeated, setting=memory.setting)
    if done.outcome in ("failed", "rolled-back") or done.plan is None or done.receipt is None:
        return attrs.evolve(memory, acted=now, failures=failures, asked=FrozenMap(), tries=0, trial=None)
    if not done.plan.provenance.scheduler:  # the loop's own reminder
        tries = memory.tries + 1 if done.outcome == "missed" else 0
        return attrs.evolve(memory, acted=now, failures=failures, tries=tries, asked=_kept(memory.asked, done))
    return Memory(
        acted=now,
        failures=failures,
        asked=_kept(done.plan.assignment, done),
        trial=trial,
        regrets=memory.regrets,
        repeated=repeated,
        setting=memory.setting,
    )


def _kept(asked: FrozenMap[str, Slot], done: Round) -> FrozenMap[str, Slot]:
    """What is asked for without the places that held no more as a round acted: they are not insisted on."""
    return FrozenMap({task: slot for task, slot in asked.items() if task not in done.dropped})


def _trial(done: Round, guards: Guards, windows: tuple[Window, ...]) -> Trial | None:
    if done.plan is None or done.receipt is None or done.request is None:
        return None
    if guards.goal is None or (guards.goal == "load" and not (windows and judged_by_load(done.request, done.plan))):
        return None
    return Trial(
        round=done.number,
        before=None if guards.goal == "load" else measure(done.request, guards.goal),
        windows=windows,
        asked=_carried_out(done.request, done.plan, done),
        undo=done.receipt.undo,
        undo_parallelism=done.receipt.undo_parallelism,
    )


def _carried_out(request: Request, plan: Plan, done: Round) -> FrozenMap[str, Slot]:
    """The assignment with each task that was not moved where it runs: the same part of a plan is not tried again."""
    stays = {task: request.assignment[task] for task in done.dropped if task in request.assignment}
    return FrozenMap({**plan.assignment, **stays})


def judged_by_load(request: Request, plan: Plan) -> bool:
    """Check whether a loss of throughput or latency speaks against a plan.

    It does not where nodes are shared by priority: a topology that starves, or that claims nodes and gets fewer of
    them, is meant to lose.
    """
    before, after = _nodes(request.assignment), _nodes(plan.assignment)
    lost = (each for each in request.topologies if len(after[each.id]) < len(before[each.id]))
    shared = len({each.priority for each in request.topologies}) > 1
    return not plan.starves and not any(shared or each.claims_nodes for each in lost)


def _nodes(assignment: Mapping[str, Slot]) -> defaultdict[str, set[str]]:
    """Nodes by topology id."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for task, slot in assignment.items():
        found[task.partition("/")[0]].add(slot.node)
    return found


def measure(request: Request, goal: Goal) -> float | None:
    """The goal as it was measured on what runs; None if it was not, or some task runs nowhere."""
    if goal in PREDICTED:
        scores = running(request)
        known = not scores.unplaced and (goal != "traffic" or bool(request.metrics.flows or request.metrics.streams))
        return _predicted(scores, goal) if known else None
    samples = request.metrics.topologies
    if goal == "latency":
        return max((each.latency for each in samples if each.latency is not None), default=None)
    pairs = [(each.throughput, each.offered) for each in samples if each.throughput is not None and each.offered]
    return _ratio(sum(done for done, _ in pairs), sum(offered or 0.0 for _, offered in pairs))


def running(request: Request) -> Scores:
    """Scores of the assignment that runs."""
    return as_it_runs(request).scores


def interval_reason(verdict: Verdict, memory: Memory, *, now: float) -> str:
    """Reason not to ask for a plan yet, "" to ask for it now: the scheduling interval has not passed."""
    passed = None if memory.acted is None else now - memory.acted
    if passed is None or passed >= verdict.interval:
        return ""
    why = "; ".join((verdict.state, *verdict.reasons))
    return f"scheduling interval: {verdict.interval - passed:.0f} of {verdict.interval:g} s are left ({why})"


def wait_reason(
    request: Request,
    plan: Plan,
    guards: Guards,
    memory: Memory,
    *,
    now: float,
    traffic_aware: bool = False,
    part: float = 1.0,
) -> str:
    """Reason to wait with a plan, "" to carry it out now.

    A plan that gives a place to a task without one is not held back. No gain is asked of one that relieves an overload
    or mends a hard constraint, nor of one that starves a topology on purpose: its goal is priority. Where no gain is
    named (`LEAST_GAIN`), one that needs fewer nodes or less money is consolidation, and goes on too; and a scheduler
    without the promise to lessen traffic has goals that no figure may show, so that none is asked of it.

    Args:
        part: Part of the moves of a larger plan that this one makes; as much of `LEAST_GAIN` is asked.
    """
    before = running(request)
    # A task without a slot does no work at all: no cool-down and no least gain may keep it waiting.
    if before.unplaced > plan.scores.unplaced:
        return ""
    if plan.assignment in memory.regrets:
        return f"the same assignment made things worse before and was undone; {len(plan.moves)} moves are not made"
    # Exponential backoff: the pause doubles with each failure in a row, up to `DOUBLINGS` times.
    pause = guards.cooldown * 2 ** min(memory.failures, DOUBLINGS)
    if memory.acted is not None and now - memory.acted < pause:
        return f"cool-down: {pause - (now - memory.acted):.0f} of {pause:g} s are left, {len(plan.moves)} moves wait"
    least = guards.gain if guards.gain is not None else _least_gain(request) * part * traffic_aware
    gained = gain(before, plan.scores, guards.goal)
    if gained >= least or least <= 0 or is_repair(request, plan):
        return ""
    if guards.gain is None and consolidates(before, plan.scores, guards.goal):
        return ""
    return f"the plan gains {gained:.1%} and at least {least:.1%} are asked; {len(plan.moves)} moves wait"


def is_repair(request: Request, plan: Plan) -> bool:
    """Check for a plan of necessity.

    It places tasks, relieves a node, mends a hard constraint, or takes nodes from a topology on purpose.
    """
    places = running(request).unplaced > plan.scores.unplaced
    return places or plan.starves or _relieves(request, plan) or _mends(request, plan)


def restarts_beside(request: Request, plan: Plan) -> int:
    """Running tasks that stay in their slots, and whose workers restart since other tasks come or go.

    None of topologies whose tasks move while workers run, nor where slots are shared.
    """
    if request.cluster.shared_slots:
        return 0
    live = {each.id for each in request.topologies if each.live}
    before = {task: slot for task, slot in request.assignment.items() if task.partition("/")[0] not in live}
    after = {task: slot for task, slot in plan.assignment.items() if task.partition("/")[0] not in live}
    changed = {task for task in before.keys() | after.keys() if before.get(task) != after.get(task)}
    touched = {slots[task] for slots in (before, after) for task in changed if task in slots}
    return sum(task not in changed and slot in touched for task, slot in before.items())


def gain(before: Scores, after: Scores, goal: Goal | None = None) -> float:
    """Gain of `after` over `before`: in the goal, or in the figure that gains most.

    That of traffic is a share of all traffic, for a small share halved is little; the others are relative.
    """
    # A goal that no plan predicts (latency) is stood in for by the best of those that it does.
    goals = (goal,) if goal in PREDICTED else PREDICTED
    triples = [(each, _predicted(before, each), _predicted(after, each)) for each in goals]
    gains = [old - new if each == "traffic" else 1 - new / old for each, old, new in triples if old and new is not None]
    return max(gains, default=0.0)


def _least_gain(request: Request) -> float:
    """`LEAST_GAIN`, or as much of it as a move limit lets of the tasks move: further rounds go on from there."""
    limit, runs = request.limits.max_moves, len(request.assignment)
    return LEAST_GAIN if limit is None or limit >= runs else LEAST_GAIN * limit / runs


def _relieves(request: Request, plan: Plan) -> bool:
    """Check whether nodes are overloaded, and by less under the plan."""
    problem = Problem.of(request)
    before = overload(problem, problem.current)
    return before > 0 and overload(problem, problem.node_of(plan.assignment)) < before


def _mends(request: Request, plan: Plan) -> bool:
    """Check whether what runs breaks hard constraints, and the plan breaks them by less."""
    problem = Problem.of(request)
    return misplaced(problem, plan.assignment) < misplaced(problem, as_it_runs(request).assignment)


def misplaced(problem: Problem, assignment: Mapping[str, Slot]) -> int:
    """Tasks that would have to be elsewhere for the hard constraints."""
    if not problem.constraints.hard:
        return 0
    return sum(count for rule, count in breaches(problem, assignment) if rule.constraint.is_hard)


def overload(problem: Problem, node_of: NDArray[np.int64]) -> float:
    """Amounts that tasks need beyond the capacity of their nodes, in sum, as parts of that capacity."""
    beyond = np.maximum(problem.used(node_of) - problem.capacity, 0.0)
    return float((beyond / np.maximum(problem.capacity, STEP)).sum())


def consolidates(before: Scores, after: Scores, goal: Goal | None) -> bool:
    """Check for fewer nodes or less cost, unless the goal is another."""
    pairs = [
        (_predicted(before, each), _predicted(after, each))
        for each in ("nodes", "cost")
        if goal in (None, "load", each)
    ]
    return any(old is not None and new is not None and new < old for old, new in pairs)


def regret_reason(request: Request, guards: Guards, memory: Memory, *, number: int) -> str:
    """Reason to roll the last plan back in round `number`, "" to keep it."""
    trial = memory.trial
    if trial is None or guards.goal is None or number < trial.round + guards.settle:
        return ""
    if guards.goal == "load":
        windows = watched(Memory(), request).windows
        return _lost_load(trial, windows[0], guards) if windows and trial.windows else ""
    now = measure(request, guards.goal)
    if trial.before is None or now is None:
        return ""
    lost = trial.before - now if guards.goal == "throughput" else now - trial.before
    if lost <= guards.worse * max(abs(trial.before), 1e-9):
        return ""
    return f"{guards.goal} went from {trial.before:.4g} to {now:.4g} after round {trial.round}"


def _lost_load(trial: Trial, now: Window, guards: Guards) -> str:
    """The loss of throughput or latency at an equal load, "" if it is borne.

    Undoing a plan moves its tasks once more. So a loss counts only beyond `worse`, and beyond the spread of the windows
    before the plan.
    """
    offered = [each.offered for each in trial.windows]
    if abs(now.offered - median(offered)) > SAME_LOAD * median(offered):
        return ""
    figures = {
        "throughput": ([-each.completed for each in trial.windows], -now.completed),
        "latency": ([each.latency for each in trial.windows if each.latency is not None], now.latency),
    }
    for name, (before, after) in figures.items():
        if before and after is not None:
            usual = median(before)
            spread = max(before) - min(before) if len(before) >= FEW else UNKNOWN_SPREAD * abs(usual)
            if after - usual > max(guards.worse * abs(usual), spread):
                return (
                    f"{name} went from {abs(usual):.4g} to {abs(after):.4g} after round {trial.round}, at an equal load"
                )
    return ""


def judged(guards: Guards, memory: Memory, *, number: int) -> Memory:
    """Memory once the trial was judged in round `number`."""
    due = memory.trial is not None and number >= memory.trial.round + guards.settle
    return _passed(memory) if due else memory


def _passed(memory: Memory) -> Memory:
    """Memory once the plan on trial counts as a success."""
    return attrs.evolve(memory, trial=None, failures=0, repeated=Repeated())


def tasks_to_reassert(request: Request, guards: Guards, memory: Memory) -> list[int]:
    """Node of each task when what was asked before is asked again; empty if there is nothing to insist on.

    Tasks whose node is gone, and tasks that are new, stay where they run; while one of them runs nowhere it is the
    scheduler's turn.
    """
    if not memory.asked or memory.tries >= guards.reassert:
        return []
    problem = Problem.of(request)
    wanted, current = problem.node_of(memory.asked), problem.current
    node_of = np.where(wanted >= 0, wanted, current)
    astray = (node_of != current) & (current >= 0)
    return list(map(int, node_of)) if astray.any() and (node_of >= 0).all() else []


def _predicted(scores: Scores, goal: Goal) -> float | None:
    figures: dict[str, float | None] = {
        "traffic": scores.share,
        "nodes": float(scores.nodes_used),
        "cost": scores.cost,
        "fullest": scores.fullest_node,
    }
    return figures[goal]


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
