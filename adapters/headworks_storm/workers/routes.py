"""Routes of workers: whether they send to the places that Nimbus assigns, or to former ones.

A worker that stays while others move reads the new places up to 20 seconds later (`task.refresh.poll.secs`, and its
supervisor asks Nimbus every 10 s). What it sends before that to a place that is no more is lost.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Literal

from headworks_storm.nimbus.snapshot import component_of
from headworks_storm.workers.topologies import task_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headworks.model import Slot
    from headworks_storm.nimbus.snapshot import Scheduled, Snapshot
    from headworks_storm.workers.measures import Life
    from headworks_storm.workers.reports import Report, Routes

Routing = Literal["new", "former", "untold"]
"""Where a worker sends: where Nimbus assigns, elsewhere, or it does not tell."""


def routing(reports: Iterable[Report], snapshot: Snapshot) -> dict[Life, Routing]:
    """Destinations of workers by the last report of each; those of topologies that are gone are left out.

    Args:
        reports: In any order, of any topologies.
    """
    places = {each.topology.id: _places(each) for each in snapshot.scheduled}
    last = {each.process: each for each in sorted(reports, key=lambda each: (each.received, each.number))}
    return {
        process: "untold" if each.routes is None else _compared(each.routes, places[each.topology])
        for process, each in last.items()
        if each.topology in places
    }


def _places(scheduled: Scheduled) -> dict[int, tuple[str, Slot]]:
    """Component and slot of each of Storm's tasks that have a slot."""
    return {
        number: (component_of(name), scheduled.assignment[name])
        for name, number in task_numbers(scheduled)
        if name in scheduled.assignment
    }


def _compared(routes: Routes, places: Mapping[int, tuple[str, Slot]]) -> Routing:
    components = {places[task][0] for task in routes.to if task in places}
    wanted = (_sum(task, slot) for task, (name, slot) in places.items() if name in components)
    agrees = set(routes.to) <= places.keys() and sum(wanted) == routes.digest
    return "new" if agrees else "former"


def _sum(task: int, slot: Slot) -> int:
    return zlib.crc32(f"{task} {slot.node}:{slot.port}".encode())
