"""The executor of plans on the simulated engine: it stores the assignment, and lets time pass until its tasks run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from headworks.model import FrozenMap, Receipt, Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headworks.model import Move, Plan, Slot
    from headworks_sim.target import SimTarget

LEVEL = "simulated"
"""Level of enforcement in receipts."""
GRACE = 1.0
"""Seconds that the executor looks on after the last task should have started. With 0, a start at that very moment would
be missed."""


def preflight(target: SimTarget, plan: Plan) -> Sequence[str]:
    """Warn of what is not carried out of a plan, and of what the style of moving does to tasks that stay."""
    return (*_ignored(target, plan), *_disturbed(target, plan))


def _ignored(target: SimTarget, plan: Plan) -> Iterator[str]:
    problem = target.world.layout.problem
    counts = Counter(f"{task.topology}/{task.component}" for task in problem.tasks)
    other = (
        ()
        if target.world.empty
        else sorted(name for name, count in plan.parallelism.items() if counts.get(name, count) != count)
    )
    if other:
        yield f"{', '.join(other)}: the number of tasks stays as in the request; the plan asks for another one"
    if plan.input_rate is not None:
        yield f"the input rate of {plan.input_rate:g} is not set: spouts emit by the request and the trace"


def _disturbed(target: SimTarget, plan: Plan) -> Iterator[str]:
    style = target.world.timing.style
    moved = [move for move in plan.moves if move.source is not None]
    if style == "rebalance" and moved:
        names = sorted({move.task.partition("/")[0] for move in moved})
        yield f"{', '.join(names)} stand for {target.world.timing.stop:g} s"
    if style == "worker" and moved:
        workers = {slot for move in moved for slot in (move.source, move.target) if slot is not None}
        running = target.world.places.running
        stay = sum(plan.assignment.get(task) == slot and slot in workers for task, slot in running.items())
        if stay:
            yield f"{stay} tasks that stay restart with their workers"


def execute(target: SimTarget, plan: Plan) -> Receipt:
    """Ask for the plan's assignment and let time pass until the last of its tasks should run.

    Numbers of tasks that the plan chooses are those with which topologies are submitted; of what runs, they stay.

    A step is done when its task was then seen to run where asked, or to run no more; on a node that has died it
    is not.

    Args:
        target: The engine, whose time passes.
        plan: The plan; a task that it does not name stops.
    """
    undo = FrozenMap(target.world.places.asked)
    if plan.parallelism and target.world.empty:
        target.world.submit(plan.parallelism)
    _ask(target, plan.assignment)
    steps = tuple(_step(target, move, plan.assignment) for move in plan.moves)
    return Receipt(done=all(step.done for step in steps), level=LEVEL, steps=steps, undo=undo)


def rollback(target: SimTarget, receipt: Receipt) -> Receipt:
    """Ask for the assignment from before a plan, and let time pass until it is there.

    A receipt without steps and without `undo` is that of nothing: nothing stops.

    Args:
        target: The engine.
        receipt: Of the plan; its `undo` is that assignment.
    """
    undo = FrozenMap(target.world.places.asked)
    if not receipt.steps and not receipt.undo:
        return Receipt(level=LEVEL, undo=undo)
    _ask(target, receipt.undo)
    step = Step(action="restore", subject="assignment", message=f"{len(receipt.undo)} tasks are asked for")
    return Receipt(level=LEVEL, steps=(step,), undo=undo)


def _ask(target: SimTarget, assignment: Mapping[str, Slot]) -> None:
    last = target.world.assign(assignment)
    # Nothing to wait for if nothing changes: a plan without moves takes no time.
    if last > target.world.now:
        target.world.advance(last + GRACE)


def _step(target: SimTarget, move: Move, wanted: Mapping[str, Slot]) -> Step:
    seen, asked = target.world.places.running.get(move.task), wanted.get(move.task)
    done = seen == asked
    message = f"runs at {seen}" if seen else "does not run"
    if not done:
        message = f"{message} at {target.now:g} s{_why(target, asked)}"
    return Step(action=move.kind, subject=move.task, done=done, message=message)


def _why(target: SimTarget, asked: Slot | None) -> str:
    places = target.world.places
    if asked is None or places.can_run(asked.node):
        return ""
    return f": node {asked.node} is dead" if asked.node in places.down else f": there is no node {asked.node}"
