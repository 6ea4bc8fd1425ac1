"""Carry a plan out on the simulated engine: store the assignment, and look on until its tasks run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.model import FrozenMap, Receipt, Step
from headgate_sim.target import GRACE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headgate.model import Move, Plan, Slot
    from headgate_sim.target import SimTarget

LEVEL = "simulated"


def preflight(target: SimTarget, plan: Plan) -> Sequence[str]:
    """Say what the style of moving does to tasks that stay."""
    style = target.world.timing.style
    moved = [move for move in plan.moves if move.source is not None]
    if style == "executor" or not moved:
        return ()
    if style == "rebalance":
        names = sorted({move.task.rsplit("/", 2)[0] for move in moved})
        return (f"{', '.join(names)} stand for {target.world.timing.stop:g} s",)
    workers = {slot for move in moved for slot in (move.source, move.target) if slot is not None}
    stay = sum(plan.assignment.get(t) == slot and slot in workers for t, slot in target.world.places.running.items())
    return (f"{stay} tasks that stay restart with their workers",) if stay else ()


def execute(target: SimTarget, plan: Plan) -> Receipt:
    """Ask for the plan's assignment and let time pass until the last of its tasks should run.

    A step is done when its task was then seen to run where asked, or to run no more; on a node that has died it
    is not.
    """
    undo = FrozenMap(target.world.places.asked)
    _ask(target, plan.assignment)
    steps = tuple(_step(target, move, plan.assignment) for move in plan.moves)
    return Receipt(done=all(step.done for step in steps), level=LEVEL, steps=steps, undo=undo)


def rollback(target: SimTarget, receipt: Receipt) -> Receipt:
    """Ask for the assignment from before the plan."""
    undo = FrozenMap(target.world.places.asked)
    _ask(target, receipt.undo)
    step = Step(action="restore", subject="assignment", message=f"{len(receipt.undo)} tasks are asked for")
    return Receipt(level=LEVEL, steps=(step,), undo=undo)


def _ask(target: SimTarget, assignment: Mapping[str, Slot]) -> None:
    last = target.world.assign(assignment)
    if last > target.world.now:
        target.world.advance(last + GRACE)


def _step(target: SimTarget, move: Move, wanted: Mapping[str, Slot]) -> Step:
    seen, asked = target.world.places.running.get(move.task), wanted.get(move.task)
    done = seen == asked
    message = f"runs at {seen}" if seen else "does not run"
    if not done:
        dead = asked is not None and asked.node in target.world.places.down
        message = f"{message} at {target.now:g} s" + (f": node {asked.node} is dead" if dead and asked else "")
    return Step(action=move.kind, subject=move.task, done=done, message=message)
