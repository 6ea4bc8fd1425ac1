"""Migration of tasks as an assignment changes: sync cycles of supervisors and workers, lazy killing, restarts.

The model of N-Storm (paper 001, sections 3.3, 3.4 and Fig. 4): each supervisor reads the new assignment at its own
moment within T_S, each worker learns of it within T_W more. The old worker ends a task at its moment (D_K later if it
kills lazily), the new one starts it at its own: in between the task is absent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.model import Slot

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping

    from headworks_sim.fluid.timing import Timing


@attrs.frozen(kw_only=True)
class TaskMigration:
    """The migration of one task: it ends at `source` at `off` and runs at `target` from `on`; seconds.

    `on` may come before `off`: then it is never absent. A task that was not running has no source, one that
    shall not run any more no target.
    """

    task: str
    source: Slot | None
    target: Slot | None
    off: float
    on: float

    @property
    def absent(self) -> float:
        """Seconds without the task."""
        return max(self.on - self.off, 0.0) if self.source and self.target else 0.0


def migrations(
    now: float, before: Mapping[str, Slot], after: Mapping[str, Slot], timing: Timing, dice: random.Random
) -> tuple[TaskMigration, ...]:
    """Draw the migrations of tasks when `after` is asked for at `now` while `before` runs; in order of task.

    Args:
        now: When the assignment is written, seconds.
        before: Slots of running tasks.
        after: Slots asked for; a task that is not in it stops.
        timing: Cycles, delays and the style of moving.
        dice: Source of the moments at which supervisors and workers look: of each node, then of each slot, by id.
    """
    moved = sorted(task for task in before.keys() | after.keys() if before.get(task) != after.get(task))
    touched = {slot for task in moved for slot in (before.get(task), after.get(task)) if slot is not None}
    # `rebalance` stops all tasks at once, and starts them together: there is no moment to draw.
    if timing.style == "rebalance":
        return _rebalanced(now, moved, before, after, timing)
    # Workers are told of a move to a seat: nobody reads an assignment for it. What begins or ends has no seat to leave.
    if timing.style == "seats" and all(task in before and task in after for task in moved):
        return tuple(_seated(now, task, before[task], after[task], timing) for task in moved)
    learns = _moments(now, touched, timing, dice)
    if timing.style == "worker":
        return _restarted(before, after, touched, learns, timing)
    return tuple(_moved(task, before.get(task), after.get(task), learns, timing) for task in moved)


def _moments(now: float, slots: Iterable[Slot], timing: Timing, dice: random.Random) -> dict[Slot, float]:
    """The moment at which each worker learns of a new assignment: uniform in T_S for its supervisor, then in T_W."""
    slots = sorted(slots)
    reads = {node: now + timing.supervisor_cycle * dice.random() for node in sorted({slot.node for slot in slots})}
    return {slot: reads[slot.node] + timing.worker_cycle * dice.random() for slot in slots}


def _moved(
    task: str, source: Slot | None, target: Slot | None, learns: Mapping[Slot, float], timing: Timing
) -> TaskMigration:
    """Its old worker ends a task D_K after it learns of the assignment, its new one starts it when it learns of it."""
    off = learns[source] + timing.kill_delay if source else learns[target] if target else 0.0
    on = learns[target] + timing.start if target else off
    return TaskMigration(task=task, source=source, target=target, off=off, on=on)


def _seated(now: float, task: str, source: Slot, target: Slot, timing: Timing) -> TaskMigration:
    return TaskMigration(task=task, source=source, target=target, off=now, on=now + timing.seat)


def _restarted(
    before: Mapping[str, Slot],
    after: Mapping[str, Slot],
    touched: set[Slot],
    learns: Mapping[Slot, float],
    timing: Timing,
) -> tuple[TaskMigration, ...]:
    """Every task of a worker that changes is absent while it restarts, those that stay too."""
    found = []
    for task in sorted(before.keys() | after.keys()):
        source, target = before.get(task), after.get(task)
        ends = [learns[slot] for slot in (source, target) if slot in touched]
        if ends:
            # It stops as its worker ends; a task that had no worker stops, as it were, when its new one is told.
            off = learns[source] if source in touched and source else min(ends)
            on = learns[target] + timing.restart if target in touched and target else off
            found.append(TaskMigration(task=task, source=source, target=target, off=off, on=on))
    return tuple(found)


def _rebalanced(
    now: float, moved: list[str], before: Mapping[str, Slot], after: Mapping[str, Slot], timing: Timing
) -> tuple[TaskMigration, ...]:
    """All tasks of the topologies that change stop at once."""
    topologies = {task.partition("/")[0] for task in moved}
    tasks = sorted(task for task in before.keys() | after.keys() if task.partition("/")[0] in topologies)
    return tuple(
        TaskMigration(task=task, source=before.get(task), target=after.get(task), off=now, on=now + timing.stop)
        for task in tasks
    )
