"""Tasks compared with where a plan asked for them, after it was carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.control.round import Check

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headworks.model import Plan, Slot, Topology


def compare_assignments(asked: Mapping[str, Slot], seen: Mapping[str, Slot]) -> Check:
    """Count the tasks that were seen on the node that was asked for; a task not seen at all is missed.

    Args:
        asked: Slot of each task that the plan asks for.
        seen: Slot of each task that was observed.
    """
    missed = tuple(sorted(task for task, slot in asked.items() if task not in seen or seen[task].node != slot.node))
    return Check(asked=len(asked), hits=len(asked) - len(missed), missed=missed)


def without_missing_tasks(plan: Plan, topologies: Iterable[Topology]) -> dict[str, Slot]:
    """The slots that a plan asks for, but those of tasks beyond the number that an engine runs.

    Only components whose parallelism the plan chooses lose any: an engine may run fewer, and its receipt says so.

    Args:
        plan: The plan, with the parallelism that it chooses.
        topologies: The topologies as the engine runs them after it.
    """
    runs = {f"{topology.id}/{part.id}": part.parallelism for topology in topologies for part in topology.components}
    most = {name: runs[name] for name in plan.parallelism if name in runs}
    parts = ((task, slot, *task.rpartition("/")[::2]) for task, slot in plan.assignment.items())
    return {task: slot for task, slot, name, index in parts if name not in most or int(index) < most[name]}
