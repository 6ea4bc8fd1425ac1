"""Arrival of a change: waits until workers run what Nimbus stored, and until all others send their tuples there."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headworks.model import Step

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from headworks.model import Slot
    from headworks_storm.nimbus.snapshot import Snapshot
    from headworks_storm.target import StormTarget, Watch
    from headworks_storm.workers.measures import Life

POLL = 0.5
"""Seconds between two looks at workers."""
UNTOLD = 20.0
"""Seconds after which a worker that stays has read where others have moved: 10 until its supervisor knows, and 10 of
Storm's `task.refresh.poll.secs`. With less, one that does not tell may still send to former places; with more, a change
beside such workers takes longer."""
ROUTED = 60.0
"""Seconds that workers which tell are given for that: two reports at the slowest pace more, and some to be late."""


def misplaced(seen: Mapping[str, Slot], snapshot: Snapshot, wanted: Mapping[str, Slot]) -> list[str]:
    """Executors that are not where they are wanted; those of a topology that is gone are not missed.

    Args:
        seen: Slot by task id.
        snapshot: The newest round of Nimbus.
        wanted: Slot by task id that is asked for.
    """
    there = {task for each in snapshot.scheduled for task in each.executors}
    return sorted(task for task, slot in wanted.items() if task in there and seen.get(task) != slot)


def wait_until_alive(target: StormTarget, watch: Watch, asked: Mapping[str, Slot], past: frozenset[Life]) -> Step:
    """Wait until executors are reported in their slots, as long as workers may take to start.

    Args:
        asked: Slot by task id.
        past: Processes that were to end, whose reports prove nothing.
    """
    began = time.monotonic()
    while True:
        snapshot = target.latest()
        away = misplaced(watch.alive(snapshot, past=past), snapshot, asked)
        if not away:
            return Step(action="alive", subject="workers", message=f"{len(asked)} executors are alive where asked")
        missing = {task: asked[task] for task in away}
        waited, patience = time.monotonic() - began, target.starting(snapshot, missing)
        # By then Nimbus has dropped every executor that it has no heartbeat of: it knows better than our silence.
        if waited > snapshot.starting(missing) and not misplaced(snapshot.assignment, snapshot, missing):
            return _silent(missing, asked)
        if waited > patience:
            started = {slot for life, slot in watch.lives(snapshot).items() if life not in past}
            return _not_alive(missing, started, patience)
        time.sleep(POLL)


def wait_until_routed(target: StormTarget, watch: Watch, staying: Mapping[Life, Slot]) -> Sequence[Step]:
    """Wait until workers send to the places that Nimbus assigns now; a step where some never do.

    Args:
        staying: The workers, each with its slot; one that is seen no more is not waited for.
    """
    began = time.monotonic()
    while True:
        found, waited = watch.routing(target.latest()), time.monotonic() - began
        former = [slot for life, slot in staying.items() if found.get(life) == "former"]
        untold = any(found.get(life) == "untold" for life in staying)
        if not former and not (untold and waited < UNTOLD):
            return ()
        if waited > ROUTED:
            message = f"{len(former)} workers ({some(sorted(map(str, former)))}) still send to former places"
            return (Step(action="verify", subject="workers", message=f"{message} after {ROUTED:.0f} s"),)
        time.sleep(POLL)


def _silent(missing: Mapping[str, Slot], asked: Mapping[str, Slot]) -> Step:
    nodes = ", ".join(sorted({slot.node for slot in missing.values()}))
    message = (
        f"{len(asked) - len(missing)} executors are alive where asked; {len(missing)} ({some(sorted(missing))}) run "
        f"by Nimbus's heartbeats, but do not report: look at the token file and the worker logs on {nodes}"
    )
    return Step(action="alive", subject="workers", message=message)


def _not_alive(missing: Mapping[str, Slot], started: Collection[Slot], patience: float) -> Step:
    message = f"{len(missing)} executors ({some(sorted(missing))}) are not alive where asked after {patience:.0f} s"
    if count := sum(slot in started for slot in missing.values()):
        message += f"; the worker processes of {count} have started"
    return Step(action="alive", subject="workers", done=False, message=message)


def some(tasks: Sequence[str]) -> str:
    """The first three of some names, in words.

    Args:
        tasks: The names.
    """
    return ", ".join(tasks[:3]) + (", ..." if len(tasks) > 3 else "")
