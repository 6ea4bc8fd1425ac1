"""Reports of topologies with seats, for samples: what is written is the task, from the seat in which it lived.

A seat in which nobody lives reports, too: that it did nothing. As a sample of its task that would be a task without
load. So where a task lived is told by what its seats did, in the minute that is written and, if none did anything,
in those before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.model import Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from headworks_storm.nimbus.snapshot import Scheduled, Snapshot
    from headworks_storm.workers.reports import Report, TaskRow

Key = tuple[str, int]
"""Topology id and Storm's number of a task."""
NOWHERE = -1
"""Seat of a task that did nothing yet."""


def homes(reports: Iterable[Report], snapshot: Snapshot, before: Mapping[Key, int]) -> dict[Key, int]:
    """The seat that did something last, by topology and the first seat of each task; those known before go on.

    Args:
        reports: Of a minute, in any order.
        snapshot: The round of Nimbus that names their tasks.
        before: What this returned for the minute before; of topologies that are gone it is left out.
    """
    first = first_seats(snapshot)
    found = {key: before[key] for key in {(topology, seat) for (topology, _), seat in first.items()} if key in before}
    for report in sorted(reports, key=lambda each: (each.received, each.number)):
        for row in filter(_busy, report.tasks):
            if (task := first.get((report.topology, row.task))) is not None:
                found[report.topology, task] = row.task
    return found


def lived_in(reports: Iterable[Report], snapshot: Snapshot, home: Mapping[Key, int]) -> Iterator[Report]:
    """The reports without the rows of seats in which nobody lived.

    A window in which a seat did nothing counts where its task lived in no other seat in this minute.

    Args:
        snapshot: The round of Nimbus that names their tasks.
        home: Of this minute, by `homes`.
    """
    reports, first = tuple(reports), first_seats(snapshot)
    busy = {(each.topology, row.task) for each in reports for row in each.tasks if _busy(row)}
    moved = {
        (topology, first[topology, seat])
        for topology, seat in busy
        if (topology, seat) in first and home[topology, first[topology, seat]] != seat
    }
    for report in reports:
        rows = (row for row in report.tasks if _counts(report.topology, row, first, home, moved))
        yield attrs.evolve(report, tasks=tuple(rows))


def owners(snapshot: Snapshot, home: Mapping[Key, int]) -> dict[str, dict[str, list[int]]]:
    """The seat of each task by topology and component, as `headworks_storm.seats.view.logical_snapshot` is told.

    Args:
        home: By `homes`.
    """
    return {
        each.topology.id: {
            component: [home.get((each.topology.id, seats[0]), NOWHERE) for seats in _seats(each, component)]
            for component in each.seating.tasks
        }
        for each in snapshot.scheduled
        if each.seating is not None
    }


def first_seats(snapshot: Snapshot) -> dict[Key, int]:
    """The first seat of its task, by topology and each of the task's seats."""
    return {
        (each.topology.id, seat): seats[0]
        for each in snapshot.scheduled
        if each.seating is not None
        for component in each.seating.tasks
        for seats in _seats(each, component)
        for seat in seats
    }


def _seats(scheduled: Scheduled, component: str) -> Iterator[range]:
    assert scheduled.seating is not None
    first = scheduled.executors[Task(scheduled.topology.id, component, 0).id][0]
    return (scheduled.seating.seats(first, index) for index in range(scheduled.seating.tasks[component]))


def _busy(row: TaskRow) -> bool:
    return row.received > 0 or row.emitted > 0


def _counts(
    topology: str, row: TaskRow, first: Mapping[Key, int], home: Mapping[Key, int], moved: Iterable[Key]
) -> bool:
    task = first.get((topology, row.task))
    if task is None or _busy(row):
        return True
    return home.get((topology, task)) == row.task and (topology, task) not in moved
