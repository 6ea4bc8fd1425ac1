"""The answer to a scheduling round: slots for the executors of each topology that changes, as JSON."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Literal

import attrs

from headworks.model import FrozenMap, Slot
from headworks_storm.nimbus.snapshot import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks_storm.nimbus.snapshot import Scheduled, Snapshot

Mode = Literal["assign", "own", "hold"]
"""assign: these slots; own: Storm's own scheduler, as if Headworks were not there; hold: running executors stay."""

LONGEST = 1000
"""Characters of a sentence for Nimbus, which keeps it, logs it, and tells it to everybody who asks for the cluster."""

Layout = FrozenMap[Slot, tuple[int, ...]]
"""Executors in each slot, as one flat row: first and last task id of one, then of the next."""


@attrs.frozen(kw_only=True)
class Answer:
    """The wanted layout of each topology that changes, by topology id, and a status line of each.

    A layout is whole: it holds every executor of the topology that has a slot now, and those that get one.

    Attributes:
        mode: Who decides: these layouts, Storm's own scheduler, or nobody.
        reason: Why nothing is assigned, for Nimbus's log; "" otherwise.
        layouts: Executors by slot, by topology id; topologies that are not named stay as they are.
        status: The line that Storm's UI shows as scheduling info, by topology id.
        last_resort: Ids of topologies whose executors without a slot Storm's own scheduler may place.
    """

    mode: Mode = "assign"
    reason: str = ""
    layouts: FrozenMap[str, Layout] = FrozenMap()
    status: FrozenMap[str, str] = FrozenMap()
    last_resort: tuple[str, ...] = ()

    def text(self, snapshot: Snapshot) -> str:
        """The answer as the bridge in Nimbus reads it; the snapshot's round and Nimbus tell it from a late one."""
        document = {
            "v": VERSION,
            "nimbus": snapshot.nimbus,
            "round": snapshot.round,
            "mode": self.mode,
            "reason": _short(self.reason),
            "topologies": {
                topology: [[slot.node, slot.port, executors] for slot, executors in sorted(layout.items())]
                for topology, layout in self.layouts.items()
            },
            "status": {topology: _short(text) for topology, text in self.status.items()},
            "last_resort": list(self.last_resort),
        }
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _short(text: str) -> str:
    """A sentence in one line: what a scheduler gives as its reasons may be of any length, and hold anything."""
    start = text[:LONGEST]
    shown = start if start.isprintable() else "".join(each if each.isprintable() else " " for each in start)
    return shown if len(text) <= LONGEST else f"{shown}..."


def layouts(snapshot: Snapshot, wanted: Mapping[str, Slot]) -> FrozenMap[str, Layout]:
    """Layout of every topology in which some executor is wanted elsewhere than it is.

    Args:
        wanted: Slot by task id; an executor that runs and is not in it stays where it is.
    """
    changed = ((each, _slots(each, wanted)) for each in snapshot.scheduled)
    # Only topologies that change are named: Nimbus leaves the slots of the others alone.
    return FrozenMap(
        {each.topology.id: _layout(each, slots) for each, slots in changed if slots != dict(each.assignment)}
    )


def _slots(each: Scheduled, wanted: Mapping[str, Slot]) -> dict[str, Slot]:
    slots = {task: wanted.get(task, each.assignment.get(task)) for task in each.executors}
    return {task: slot for task, slot in slots.items() if slot is not None}


def _layout(each: Scheduled, slots: Mapping[str, Slot]) -> Layout:
    found: dict[Slot, list[int]] = defaultdict(list)
    for task, slot in slots.items():
        found[slot].extend(each.executors[task])
    return FrozenMap({slot: tuple(executors) for slot, executors in found.items()})
