"""Tuples of a topology that are under way, by the reports of its workers: a pure function of them.

Spouts of acked topologies know it to the tuple: what they sent to be acked, less what was acked or failed. Without
acks there are the counts and the queues of all tasks alone: a tuple in the hands of a bolt is seen if the bolt tells.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import attrs

from headworks.model import Backlog
from headworks_storm.nimbus.snapshot import component_of
from headworks_storm.workers.measures import lives
from headworks_storm.workers.topologies import ends, task_numbers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from headworks_storm.nimbus.snapshot import Scheduled, Snapshot
    from headworks_storm.workers.reports import Report

QUIET = 2
"""Reports in a row in which a worker moved no tuple. With one, a tuple between two workers is overlooked; with more, a
pause lasts longer."""
ACKER = "__acker"
"""Component of Storm's ackers."""


@attrs.frozen
class Pause:
    """The pause of a topology's spouts, in seconds since 1970 by the collector's clock.

    Attributes:
        begin: When Nimbus was told; reports of the time before say nothing.
        certain: From when on spouts of which no report tells that they pause are taken to. A worker looks every few
            seconds whether it may emit, later where the machine is busy.
    """

    begin: float = math.inf
    certain: float = math.inf


def backlog(scheduled: Scheduled, reports: Iterable[Report], *, active: bool, pause: Pause) -> Backlog:
    """The backlog of a topology.

    Args:
        reports: The newest ones, of any topologies, in any order.
        active: Whether its sources may emit.
        pause: Since when they do not.
    """
    lives = _lives(scheduled, reports)
    seen = {row.task for life in lives for row in life[-1].tasks}
    missing = [name for name, number in task_numbers(scheduled) if number not in seen]
    if missing:
        return Backlog(active=active, why=f"{len(missing)} executors ({missing[0]}, ...) do not report")
    acked = any(component_of(name) == ACKER for name in scheduled.executors)
    if acked and any(life[-1].pending is None for life in lives):
        return Backlog(active=active, why="workers have an older jar, which does not count pending tuples")
    pending = sum(row.tuples for life in lives for row in life[-1].pending or ())
    if pending:
        return Backlog(active=active, tuples=pending, why="neither acked nor failed")
    held = sum(row.tuples for life in lives for row in life[-1].held)
    if held:
        return Backlog(active=active, tuples=held, why="held by bolts, as these tell")
    spouts = {scheduled.executors[name][0] for name in ends(scheduled)[0]}
    if not all(_pauses(life, pause, spouts) for life in lives):
        return Backlog(active=active, why="spouts have not looked yet whether they may emit")
    if not all(_is_quiet(life, pause.begin) for life in lives):
        return Backlog(active=active, why="tuples moved in the last reports")
    return Backlog(active=active, tuples=0, why="all acked" if acked else "nothing moves; tuples are not acked")


def in_place(reports: Sequence[Report], snapshot: Snapshot) -> list[Report]:
    """The reports of processes in slots that Nimbus gives their topology now; others have ended, or are about to.

    A topology that was just moved seems to report as long as its former workers are remembered.

    Args:
        reports: In any order, of any topologies.
        snapshot: The round of Nimbus that says where executors are to run.
    """
    slots = {each.topology.id: {*each.assignment.values()} for each in snapshot.scheduled}
    where = lives(reports, snapshot)
    return [each for each in reports if where.get(each.process) in slots.get(each.topology, ())]


def _lives(scheduled: Scheduled, reports: Iterable[Report]) -> list[list[Report]]:
    """Reports of the processes that were the last to report some task, by process, the oldest first."""
    own = [each for each in reports if each.topology == scheduled.topology.id]
    lives: dict[object, list[Report]] = defaultdict(list)
    owner: dict[int, object] = {}
    for each in sorted(own, key=lambda each: (each.received, each.started, each.number)):
        lives[each.process].append(each)
        owner |= {row.task: each.process for row in each.tasks}
    return [lives[process] for process in sorted(set(owner.values()), key=str)]


def _pauses(life: list[Report], pause: Pause, spouts: Collection[int]) -> bool:
    """Check that all spouts of a process paused in its last reports: they tell so, or it is long ago."""
    return all(
        each.received - each.window >= (pause.begin if _tells_pause(each, spouts) else pause.certain)
        for each in life[-QUIET:]
    )


def _tells_pause(report: Report, spouts: Collection[int]) -> bool:
    own = {row.task for row in report.tasks}.intersection(spouts)
    return own <= {row.task for row in report.paused or () if row.milliseconds}


def _is_quiet(life: list[Report], since: float) -> bool:
    last = life[-QUIET:]
    return len(last) == QUIET and all(each.received - each.window >= since and _is_idle(each) for each in last)


def _is_idle(report: Report) -> bool:
    moved = any(row.received or row.emitted or row.acked or row.failed for row in report.tasks)
    return not (moved or report.flows or any(row.queue for row in report.executors))
