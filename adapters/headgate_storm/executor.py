"""Carrying a plan out on Storm: wish it, see it stored by Nimbus, see it alive."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headgate.model import FrozenMap, Receipt, Step
from headgate.model.rescale import rescale_differences, rescale_refusals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headgate.model import Plan, Slot
    from headgate_storm.nimbus.snapshot import Snapshot
    from headgate_storm.target import StormTarget
    from headgate_storm.workers.measures import Life

LEVEL = "nimbus"
"""Nimbus stores the assignment, supervisors restart the workers that it changes."""
POLL = 0.5
"""Seconds between two looks at workers."""


def preflight(target: StormTarget, plan: Plan) -> Sequence[str]:
    """Say what the plan costs: Storm moves executors by restarting their workers whole; and what is not carried out."""
    snapshot = target.rounds.latest(target.patience)
    return (*rescale_differences(plan, snapshot.observation().topologies), *_bystanders(snapshot, plan))


def _bystanders(snapshot: Snapshot, plan: Plan) -> Sequence[str]:
    touched = restarted(snapshot.assignment, plan.assignment)
    bystanders = sum(
        slot in touched and plan.assignment.get(task) == slot for task, slot in snapshot.assignment.items()
    )
    if not bystanders:
        return ()
    workers = ", ".join(map(str, touched))
    return (f"{bystanders} executors that stay are restarted with their workers {workers}",)


def restarted(before: Mapping[str, Slot], after: Mapping[str, Slot]) -> tuple[Slot, ...]:
    """The slots in use before whose executors change: Storm ends these workers."""
    tasks = before.keys() | after.keys()
    changed = [task for task in tasks if before.get(task) != after.get(task)]
    touched = {slot for task in changed for slot in (before.get(task), after.get(task)) if slot is not None}
    return tuple(sorted(touched & set(before.values())))


def execute(target: StormTarget, plan: Plan) -> Receipt:
    """Make the assignment of a plan true, and see that it is.

    Returns:
        A receipt whose steps are: stored by Nimbus; alive where asked. Executors that a plan does not name stay. A
        plan for other numbers of executors is refused: `headgate storm rebalance` changes them.
    """
    if refused := rescale_refusals(plan, target.rounds.latest(target.patience).observation().topologies):
        return Receipt(done=False, level=LEVEL, steps=refused)
    return _reach(target, plan.assignment)


def rollback(target: StormTarget, receipt: Receipt) -> Receipt:
    """Wish the assignment from before the plan; without effect where there was none."""
    if not receipt.undo:
        return Receipt(level=LEVEL)
    return _reach(target, receipt.undo)


def _reach(target: StormTarget, wanted: Mapping[str, Slot]) -> Receipt:
    snapshot = target.rounds.latest(target.patience)
    before, past = snapshot.assignment, _ending(target, snapshot, wanted)
    target.rounds.wish(wanted)
    try:
        stored = target.rounds.until(lambda each: not _astray(each.assignment, each, wanted), target.patience)
    finally:
        target.rounds.wish({})
    steps = [_stored(target, wanted, stored)]
    if stored is not None and target.watch is not None:
        steps.append(_wait_until_alive(target, wanted, past))
    undo = FrozenMap({task: slot for task, slot in before.items() if task in wanted})
    return Receipt(done=all(step.done for step in steps), level=LEVEL, steps=tuple(steps), undo=undo)


def _ending(target: StormTarget, snapshot: Snapshot, wanted: Mapping[str, Slot]) -> frozenset[Life]:
    """The worker processes that Storm has to end for this: whatever they say later proves nothing."""
    if target.watch is None:
        return frozenset()
    kept = {task: slot for task, slot in snapshot.assignment.items() if task not in wanted}
    touched = restarted(snapshot.assignment, {**kept, **wanted})
    return frozenset(life for life, slot in target.watch.lives(snapshot).items() if slot in touched)


def _astray(seen: Mapping[str, Slot], snapshot: Snapshot, wanted: Mapping[str, Slot]) -> list[str]:
    """Executors that are not where they are wanted; those of a topology that is gone are not missed."""
    there = {task for each in snapshot.scheduled for task in each.executors}
    return sorted(task for task, slot in wanted.items() if task in there and seen.get(task) != slot)


def _stored(target: StormTarget, wanted: Mapping[str, Slot], stored: Snapshot | None) -> Step:
    if stored is not None:
        return Step(action="assign", subject="nimbus", message=f"round {stored.round} shows {len(wanted)} executors")
    last = target.rounds.latest(target.patience)
    astray = _astray(last.assignment, last, wanted)
    message = f"{len(astray)} executors ({_some(astray)}) are not assigned as asked after {target.patience:.0f} s"
    return Step(action="assign", subject="nimbus", done=False, message=message)


def _wait_until_alive(target: StormTarget, wanted: Mapping[str, Slot], past: frozenset[Life]) -> Step:
    assert target.watch is not None
    deadline = time.monotonic() + target.patience
    while True:
        snapshot = target.rounds.latest(target.patience)
        astray = _astray(target.watch.alive(snapshot, past=past), snapshot, wanted)
        if not astray:
            return Step(action="alive", subject="workers", message=f"{len(wanted)} executors are alive where asked")
        if time.monotonic() > deadline:
            break
        time.sleep(POLL)
    message = f"{len(astray)} executors ({_some(astray)}) are not alive where asked after {target.patience:.0f} s"
    return Step(action="alive", subject="workers", done=False, message=message)


def _some(tasks: list[str]) -> str:
    return ", ".join(tasks[:3]) + (", ..." if len(tasks) > 3 else "")
