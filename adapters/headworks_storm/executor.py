"""The executor of plans on Storm: wish an assignment, see it stored by Nimbus, see its executors alive in workers.

Tasks that have seats move to another one instead, while all workers run, and more or fewer of them work
(`headworks_storm.seats.plan`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.model import FrozenMap, Receipt, Slot, Step
from headworks.model.scaling import rescale_differences, rescale_refusals
from headworks_storm.arrival import misplaced, some, wait_until_alive, wait_until_routed
from headworks_storm.seats.counts import count_changes
from headworks_storm.seats.plan import SEATS, carry_out, seat_tasks
from headworks_storm.workers.verification import Expected, expect, restarting, touched

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headworks.model import Plan, Topology
    from headworks_storm.nimbus.snapshot import Snapshot
    from headworks_storm.seats.counts import CountChange
    from headworks_storm.target import StormTarget
    from headworks_storm.workers.measures import Life

LEVEL = "nimbus"
"""Level of enforcement in receipts: Nimbus stores the assignment, supervisors restart the workers that it changes."""


def preflight(target: StormTarget, plan: Plan) -> Sequence[str]:
    """Warn of what a plan costs, and of what is not carried out: Storm moves executors by restarting whole workers.

    Args:
        plan: The plan that may follow.

    Returns:
        Sentences for the operator, none if only executors restart that move and all of them are seen.
    """
    snapshot = target.latest()
    wanted = _changes(snapshot, plan.assignment)
    unseen = _expected(target, snapshot, wanted).unverified
    changes = count_changes(snapshot, target.seated(snapshot)[0], plan.parallelism)
    differences = (*rescale_differences(plan, _rigid(snapshot)), *(each.why for each in changes if each.why))
    return (*differences, *_evicted(plan), *_bystanders(snapshot, wanted), *(sentence for _, sentence in unseen))


def keeps(target: StormTarget, plan: Plan) -> bool:
    """False if a plan changes how many tasks work: those that do no more make no move."""
    if not plan.parallelism:
        return True
    snapshot = target.latest()
    changes = count_changes(snapshot, target.seated(snapshot)[0], plan.parallelism)
    return all(each.after == each.before for each in changes)


def _rigid(snapshot: Snapshot) -> tuple[Topology, ...]:
    """Topologies without seats, whose numbers of executors cannot change while they run."""
    return tuple(each.topology for each in snapshot.scheduled if each.seating is None)


def _evicted(plan: Plan) -> Sequence[str]:
    gone = sum(move.target is None and move.task not in plan.assignment for move in plan.moves)
    return (f"tasks that the plan evicts, and that go on where they run: {gone}",) if gone else ()


def _bystanders(snapshot: Snapshot, wanted: Mapping[str, Slot]) -> Sequence[str]:
    workers = restarted(snapshot.assignment, {**snapshot.assignment, **wanted})
    bystanders = sum(slot in workers and wanted.get(task, slot) == slot for task, slot in snapshot.assignment.items())
    if not bystanders:
        return ()
    return (f"{bystanders} executors that stay are restarted with their workers {', '.join(map(str, workers))}",)


def restarted(before: Mapping[str, Slot], after: Mapping[str, Slot]) -> tuple[Slot, ...]:
    """The slots in use before whose executors change: Storm ends these workers.

    Args:
        before: Slot by task id that Nimbus has.
        after: Slot by task id that is asked for.
    """
    return tuple(sorted(touched(before, after) & set(before.values())))


def execute(target: StormTarget, plan: Plan) -> Receipt:
    """Carry out the assignment of a plan, and check that it holds.

    Args:
        target: The cluster; waited for as long as its Nimbus gives it, for the assignment and again for workers.

    Returns:
        A receipt whose steps are: each move to another seat and each number of working tasks, with its milliseconds;
        stored by Nimbus; alive where asked, of what starts anew; and what of it cannot be verified or is left out of
        the numbers of tasks, which is no failure. Nimbus shows a failure beside the topologies that were to move.
        Executors that a plan does not name stay, and so do topologies that it does not change. A plan for other numbers
        of executors of a topology without seats is refused: `headworks storm rebalance` changes them.
    """
    snapshot = target.latest()
    if refused := rescale_refusals(plan, _rigid(snapshot)):
        return Receipt(done=False, level=LEVEL, steps=refused)
    placed, _ = target.seated(snapshot)
    changes = count_changes(snapshot, placed, plan.parallelism)
    order = [move.task for move in plan.moves]
    return _all_ways(target, snapshot, placed, plan.assignment, order, changes)


def _topology(task: str) -> str:
    return task.partition("/")[0]


def _all_ways(
    target: StormTarget,
    snapshot: Snapshot,
    placed: Snapshot,
    asked: Mapping[str, Slot],
    order: Sequence[str],
    changes: Sequence[CountChange],
) -> Receipt:
    """Changes of tasks with seats first; where one fails, nothing restarts for the rest of the plan."""
    seats = carry_out(target.seats, snapshot, placed, asked, order, changes)
    wanted = _changes(snapshot, asked)
    receipt = seats if seats.steps else Receipt(level=LEVEL)
    if seats.done and wanted:
        receipt = _both(seats, _reach(target, snapshot, wanted))
    why = "; ".join(step.message for step in receipt.steps if not step.done)
    moved = {_topology(task) for task in (*wanted, *seats.undo, *seats.undo_parallelism)}
    target.rounds.say(dict.fromkeys(moved, f"Headworks: its last move failed: {why}") if why else {})
    return receipt


def _both(seats: Receipt, others: Receipt) -> Receipt:
    return Receipt(
        done=others.done,
        level=f"{SEATS}, {LEVEL}" if seats.steps else LEVEL,
        steps=(*seats.steps, *others.steps),
        undo=FrozenMap({**seats.undo, **others.undo}),
        undo_parallelism=seats.undo_parallelism,
        unseen=others.unseen,
    )


def _changes(snapshot: Snapshot, wanted: Mapping[str, Slot]) -> dict[str, Slot]:
    """The part of an assignment that is of topologies without seats which it changes: others are Nimbus's to repair."""
    scheduled = [each for each in snapshot.scheduled if each.seating is None]
    parts = [{task: wanted[task] for task in each.executors if task in wanted} for each in scheduled]
    places = snapshot.assignment
    changed = [part for part in parts if any(places.get(task) != slot for task, slot in part.items())]
    return {task: slot for part in changed for task, slot in part.items()}


def rollback(target: StormTarget, receipt: Receipt) -> Receipt:
    """Carry out the assignment and the numbers of working tasks from before a plan; without effect where none changed.

    Args:
        receipt: Of the plan; its `undo` is that assignment, its `undo_parallelism` those numbers.
    """
    if not receipt.undo and not receipt.undo_parallelism:
        return Receipt(level=LEVEL)
    snapshot = target.latest()
    placed, _ = target.seated(snapshot)
    changes = count_changes(snapshot, placed, receipt.undo_parallelism)
    seats = carry_out(target.seats, snapshot, placed, receipt.undo, changes=changes)
    back = {task: slot for task, slot in receipt.undo.items() if task not in seat_tasks(snapshot, receipt.undo)}
    if not back:
        return seats
    others = _reach(target, snapshot, back)
    return attrs.evolve(_both(seats, others), done=seats.done and others.done)


def _reach(target: StormTarget, snapshot: Snapshot, wanted: Mapping[str, Slot]) -> Receipt:
    """Wish an assignment, then look at what Nimbus stored, which executors workers report, and where they send."""
    before, past, staying = snapshot.assignment, _ending(target, snapshot, wanted), _staying(target, snapshot, wanted)
    expected = _expected(target, snapshot, wanted)
    patience = target.storing(snapshot)
    target.rounds.wish(wanted)
    try:
        stored = target.rounds.until(lambda each: not misplaced(each.assignment, each, wanted), patience)
    finally:
        # A wish that stays would put executors back that a later repair has placed elsewhere.
        target.rounds.wish({})
    steps = [_stored(target, wanted, stored, patience)]
    if stored is not None and target.watch is not None:
        alive = wait_until_alive(target, target.watch, expected.asked, past)
        steps += (alive, *(wait_until_routed(target, target.watch, staying) if alive.done else ()))
        steps += (Step(action="verify", subject=name, message=message) for name, message in expected.unverified)
    undo = FrozenMap({task: slot for task, slot in before.items() if task in wanted})
    done = all(step.done for step in steps)
    return Receipt(done=done, level=LEVEL, steps=tuple(steps), undo=undo, unseen=expected.unseen)


def _expected(target: StormTarget, snapshot: Snapshot, wanted: Mapping[str, Slot]) -> Expected:
    if target.watch is None:
        return Expected(unseen=tuple(restarting(snapshot.assignment, {**snapshot.assignment, **wanted})))
    reported, alive = target.watch.reported(snapshot), target.watch.alive(snapshot)
    return expect(snapshot, wanted, reported=reported, alive=alive)


def _ending(target: StormTarget, snapshot: Snapshot, wanted: Mapping[str, Slot]) -> frozenset[Life]:
    """The worker processes in slots whose executors change: whatever they say later proves nothing.

    Storm has to end those in slots that are in use; in the others they have just ended, and their reports are fresh.
    """
    if target.watch is None:
        return frozenset()
    ending = _ending_slots(snapshot, wanted)
    return frozenset(life for life, slot in target.watch.lives(snapshot).items() if slot in ending)


def _staying(target: StormTarget, snapshot: Snapshot, wanted: Mapping[str, Slot]) -> Mapping[Life, Slot]:
    """The worker processes of topologies whose tasks move that go on in their slots."""
    if target.watch is None:
        return {}
    moving = {_topology(task) for task in wanted}
    slots = {slot for each in snapshot.scheduled if each.topology.id in moving for slot in each.assignment.values()}
    stay = slots - _ending_slots(snapshot, wanted)
    return {life: slot for life, slot in target.watch.lives(snapshot).items() if slot in stay and life[0] in moving}


def _ending_slots(snapshot: Snapshot, wanted: Mapping[str, Slot]) -> frozenset[Slot]:
    kept = {task: slot for task, slot in snapshot.assignment.items() if task not in wanted}
    return touched(snapshot.assignment, {**kept, **wanted})


def _stored(target: StormTarget, wanted: Mapping[str, Slot], stored: Snapshot | None, patience: float) -> Step:
    if stored is not None:
        return Step(action="assign", subject="nimbus", message=f"round {stored.round} shows {len(wanted)} executors")
    last = target.latest()
    away = misplaced(last.assignment, last, wanted)
    message = f"{len(away)} executors ({some(away)}) are not assigned as asked after {patience:.0f} s"
    return Step(action="assign", subject="nimbus", done=False, message=message)
