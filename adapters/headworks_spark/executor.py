"""Executor of plans on Spark: places pushed to the driver, a receipt of what was done, and its rollback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.errors import EngineError
from headworks.model import STARVED, FrozenMap, Receipt, Step
from headworks.model.scaling import rescale_differences, rescale_refusals
from headworks_spark.driver.advice import warnings
from headworks_spark.driver.session import ADAPTIVE, NOT_OURS, executors, level_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headworks.model import Plan
    from headworks_spark.target import SparkTarget


def preflight(target: SparkTarget, plan: Plan) -> tuple[str, ...]:
    """Parts of a plan that the session cannot enforce, one sentence each.

    Args:
        plan: The plan that is to be carried out.
    """
    if target.placement is None:
        return (NOT_OURS,)
    rescales = rescale_differences(plan, (target.topology,))
    # A query that runs with adaptive execution is refused.
    known = ADAPTIVE if target.query is not None else ()
    weak = (each for each in warnings(target.spark) if not each.startswith(known))
    return (*rescales, *weak, *target.notes, *_unknown_stages(target, plan), *_dead_nodes(target, plan))


def keeps(target: SparkTarget, plan: Plan) -> bool:
    """True if all that a plan wants of this topology is asked for already: Spark deals tasks out anew in each stage.

    Args:
        plan: A plan, of which tasks of other topologies are passed over.
    """
    if target.placement is None:
        return True
    if starves(target, plan):
        return target.held
    known = target.tasks()
    wanted = {task: slot.node for task, slot in plan.assignment.items() if task in known}
    return not target.held and wanted == {task: slot.node for task, slot in target.asked().items()}


def execute(target: SparkTarget, plan: Plan) -> Receipt:
    """Ask for the plan's assignment: all of it at once, from the next stage or micro-batch on.

    A task of the topology that the plan leaves out is left to Spark; a topology that the plan starves on purpose waits,
    stage by stage. The steps are the plan's moves of this topology, in order; whether tasks then ran there is for the
    monitor to say. A plan for other numbers of tasks is refused: Spark's are its partitions.

    Args:
        plan: A plan, of which tasks of other topologies are passed over.

    Returns:
        A receipt whose `undo` is what was asked before.
    """
    level = level_of(target.spark)
    if refused := rescale_refusals(plan, (target.topology,)):
        return Receipt(done=False, level=level, steps=refused)
    known = target.tasks()
    moves = [move for move in plan.moves if move.task in known]
    # Read before the table is replaced: a rollback asks for exactly this.
    undo = FrozenMap(target.asked())
    starving = starves(target, plan)
    message = _try(target.hold if starving else lambda: target.ask(plan.assignment))
    steps = tuple(
        Step(
            action=move.kind,
            subject=move.task,
            done=not message,
            message=message or ("nowhere" if starving else f"at {move.target or 'any host'}"),
        )
        for move in moves
    )
    if starving:
        steps += (Step(action="hold", subject=target.topology.id, done=not message, message=message or "waits"),)
    return Receipt(done=not message, level=level, steps=steps, undo=undo)


def rollback(target: SparkTarget, receipt: Receipt) -> Receipt:
    """Ask for what was asked before the receipt's plan. Without effect if that plan was not carried out.

    Args:
        receipt: What `execute` returned.
    """
    level = level_of(target.spark)
    if not receipt.done:
        return Receipt(level=level)
    undo = FrozenMap(target.asked())
    message = _try(lambda: target.ask(receipt.undo))
    step = Step(action="restore", subject=target.scope, done=not message, message=message)
    return Receipt(done=not message, level=level, steps=(step,), undo=undo)


def starves(target: SparkTarget, plan: Plan) -> bool:
    """True if a plan leaves this topology without a node on purpose.

    Args:
        plan: A plan of any topologies.
    """
    return any(each.code == STARVED and each.subject == target.topology.id for each in plan.reasons)


def _try(act: Callable[[], None]) -> str:
    """Ask for something; the reason why it could not be, "" if it was."""
    try:
        act()
    except EngineError as error:
        return str(error)
    return ""


def _unknown_stages(target: SparkTarget, plan: Plan) -> Iterator[str]:
    wanted = {task.component for task in target.topology.tasks() if task.id in plan.assignment}
    for component in sorted(wanted - set(target.stages)):
        yield (
            f"component {component!r} of {target.topology.id!r} has no stage: give SparkTarget.stages its ordinal, "
            f"known are {dict(target.stages)}"
        )


def _dead_nodes(target: SparkTarget, plan: Plan) -> Iterator[str]:
    alive = set(executors(target.spark).values())
    known = target.tasks()
    wanted = {slot.node for task, slot in plan.assignment.items() if task in known}
    for node in sorted(wanted - alive):
        yield f"no executor is alive on node {node!r}, so its tasks would run anywhere; alive are {sorted(alive)}"
