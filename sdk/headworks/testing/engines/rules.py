"""Rules of the engine contract: what every adapter has to keep, tried one after the other on one open engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineEndedError, EngineWaitsError
from headworks.model import FrozenMap, Move, MoveKind, Receipt, Slot
from headworks.testing.engines.trial import Session, moving, placing
from headworks.testing.rule import SkipRule

if TYPE_CHECKING:
    from headworks.model import Plan, Request

NOWHERE = Slot("headworks-nowhere", 1)
"""A slot of a node that no engine has."""
SOON = 0.1
"""Seconds of the second of two observations, which follows at once."""


@attrs.frozen(kw_only=True)
class EngineRule:
    """One promise that an adapter makes.

    Attributes:
        id: Its name in tables and tests.
        statement: The promise, one line.
        check: Tries it on an open engine; says how it is broken, "" if it is kept. It raises `SkipRule` where it cannot
            be tried.
    """

    id: str
    statement: str
    check: Callable[[Session], str]


def _starts(session: Session) -> str:
    request = session.request()
    if not request.topologies or not request.cluster.nodes:
        return f"{len(request.topologies)} topologies on {len(request.cluster.nodes)} nodes are observed"
    missing = [task.id for each in request.topologies for task in each.tasks() if task.id not in request.assignment]
    plan = placing(request)
    if not missing and session.keeps(plan):
        return ""
    receipt = session.execute(plan)
    return _undone(receipt) or session.astray(plan.assignment)


def _observes(session: Session) -> str:
    first = session.request()
    second = session.observe(min(SOON, session.trial.window))
    one, two = ({task.id for each in seen.topologies for task in each.tasks()} for seen in (first, second))
    return f"{len(one ^ two)} tasks are in one of two observations only" if one != two else ""


def _window(session: Session) -> str:
    trial, begin = session.trial, session.clock()
    session.observe()
    took = session.clock() - begin
    if took > trial.window + trial.budget:
        return f"an observation of {trial.window:g} s took {took:.1f} s, its budget is {trial.budget:g} s more"
    return ""


def _preflight(session: Session) -> str:
    request = session.request()
    session.preflight(moving(request))
    changed = session.astray(request.assignment)
    return f"after preflight, which is to have no effect, {changed}" if changed else ""


def _executes(session: Session) -> str:
    before = session.request()
    plan = moving(before)
    receipt = session.execute(plan)
    if said := _undone(receipt):
        return said
    if said := session.astray(plan.assignment):
        return f"after a plan of {len(plan.moves)} moves {said}"
    return _taken_back(session, before, receipt)


def _twice(session: Session) -> str:
    before = session.request()
    receipt = session.execute(moving(before))
    for _ in range(2):
        said = _undone(session.rollback(receipt))
        if said:
            return f"a rollback is to be the same twice: {said}"
    changed = session.astray(before.assignment)
    return f"after two rollbacks {changed}" if changed else ""


def _unexecuted(session: Session) -> str:
    before = session.request()
    session.rollback(Receipt(done=False))
    changed = session.astray(before.assignment)
    return f"after the rollback of a receipt of nothing {changed}" if changed else ""


def _impossible(session: Session) -> str:
    before = session.request()
    plan = _to_nowhere(before)
    warned = [each for each in session.preflight(plan) if NOWHERE.node in each]
    receipt = session.execute(plan)
    failed = [step for step in receipt.steps if not step.done and step.message]
    said = "" if (failed and not receipt.done) or warned else "no step of the receipt says that it failed, and why"
    return f"a task is sent to {NOWHERE}: {said}" if said else _taken_back(session, before, receipt)


def _node_lost(session: Session) -> str:
    fail = session.fault()
    if fail is None:
        raise SkipRule("the target has no method fail_node(node)")
    before = session.request()
    used = sorted({slot.node for slot in before.assignment.values()})
    if len(before.cluster.nodes) < 2 or not used:
        raise SkipRule("it takes two nodes and a task")
    fail(used[0])
    request, end = session.request(), session.clock() + session.trial.patience
    while used[0] in {node.id for node in request.cluster.nodes}:
        if session.clock() >= end:
            return f"node {used[0]} was ended, and is still observed {session.trial.patience:g} s later"
        session.pause()
        request = session.request()
    plan = placing(request)
    said = _undone(session.execute(plan)) or session.astray(plan.assignment)
    return f"after the end of node {used[0]}: {said}" if said else ""


def _ended(session: Session) -> str:
    end = session.ending()
    if end is None:
        raise SkipRule("the target has no method end()")
    end()
    latest = session.clock() + session.trial.patience
    while True:
        try:
            session.observe()
        except EngineEndedError:
            return ""
        except EngineWaitsError:  # what ran has ended, and the application goes on
            pass
        if session.clock() >= latest:
            return f"the application ended, and is still observed {session.trial.patience:g} s later"
        session.pause()


def _quiet(session: Session) -> str:
    return "; ".join(session.printed[:3])


def _closes(session: Session) -> str:
    left = session.close()
    return "it leaves " + "; ".join(left[:3]) if left else ""


def _again(session: Session) -> str:
    session.open()
    left = session.close()
    return "the second time it leaves " + "; ".join(left[:3]) if left else ""


def _undone(receipt: Receipt) -> str:
    failed = [f"{step.action} {step.subject}: {step.message}" for step in receipt.steps if not step.done]
    return f"the receipt is not done: {'; '.join(failed[:3]) or 'without a step'}" if not receipt.done else ""


def _taken_back(session: Session, before: Request, receipt: Receipt) -> str:
    said = _undone(session.rollback(receipt)) or session.astray(before.assignment)
    return f"after the rollback {said}" if said else ""


def _to_nowhere(request: Request) -> Plan:
    """A plan that is right but for one task, which goes to a node that there is not."""
    plan = moving(request)
    task = next(move.task for move in plan.moves if move.source is not None)
    source = request.assignment[task]
    kept = FrozenMap({**request.assignment, task: NOWHERE})
    moves = (
        Move(kind=MoveKind.EVICT, task=task, source=source),
        Move(kind=MoveKind.PLACE, task=task, source=source, target=NOWHERE),
    )
    return attrs.evolve(plan, assignment=kept, moves=moves)


ENGINE_RULES: tuple[EngineRule, ...] = (
    EngineRule(
        id="starts",
        statement="Idle tasks are placed, tasks that might wander are asked to stay, and all are then seen there.",
        check=_starts,
    ),
    EngineRule(
        id="observes",
        statement="An observation contradicts nothing, and another thread can make the next one at once.",
        check=_observes,
    ),
    EngineRule(id="window", statement="An observation ends within its window and a budget.", check=_window),
    EngineRule(id="preflight", statement="Preflight has no effect.", check=_preflight),
    EngineRule(
        id="executes",
        statement="Tasks are seen where an executed plan put them, and back where they were after its rollback.",
        check=_executes,
    ),
    EngineRule(id="rollback-twice", statement="A second rollback changes nothing.", check=_twice),
    EngineRule(
        id="rollback-of-nothing",
        statement="The rollback of a receipt without steps and without undo changes nothing.",
        check=_unexecuted,
    ),
    EngineRule(
        id="impossible-step",
        statement="An impossible step is in the receipt, or preflight names its node; nothing is raised, and the "
        "rollback restores.",
        check=_impossible,
    ),
    EngineRule(
        id="node-lost",
        statement="A dead node is no longer observed, and its tasks can be placed on the others.",
        check=_node_lost,
    ),
    EngineRule(id="ended", statement="Once the application has ended, observing says so.", check=_ended),
    EngineRule(id="quiet", statement="Nothing is printed to standard output.", check=_quiet),
    EngineRule(id="closes", statement="Leaving ends every process, thread and port that it started.", check=_closes),
    EngineRule(id="opens-again", statement="It can be opened again in the same process.", check=_again),
)
"""The rules, in the order in which they are tried."""
