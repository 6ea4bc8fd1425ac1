"""Verification of a change by the reports of workers: which executors start anew, and which of them can be seen."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import attrs

from headworks.model import FrozenMap, Slot

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from headworks_storm.nimbus.snapshot import Scheduled, Snapshot


@attrs.frozen(kw_only=True)
class Expected:
    """Executors that a change starts anew: the slot of each that has to be reported, and the others.

    Attributes:
        asked: Slot by task id.
        unverified: Topology or node, and why the executors there cannot be verified.
        unseen: Those executors, by task id.
    """

    asked: FrozenMap[str, Slot] = FrozenMap()
    unverified: tuple[tuple[str, str], ...] = ()
    unseen: tuple[str, ...] = ()


def touched(before: Mapping[str, Slot], after: Mapping[str, Slot]) -> frozenset[Slot]:
    """The slots that a change takes executors from, or gives them to: Storm starts a worker anew for another set.

    Args:
        before: Slot by task id that Nimbus has.
        after: Slot by task id that is asked for.
    """
    changed = [task for task in before.keys() | after.keys() if before.get(task) != after.get(task)]
    return frozenset(slot for task in changed for slot in (before.get(task), after.get(task)) if slot is not None)


def restarting(before: Mapping[str, Slot], after: Mapping[str, Slot]) -> FrozenMap[str, Slot]:
    """Slot by task id of the executors that a change moves, or restarts with those that move.

    Args:
        before: Slot by task id that Nimbus has.
        after: Slot by task id that is asked for.
    """
    slots = touched(before, after)
    return FrozenMap({task: slot for task, slot in sorted(after.items()) if slot in slots})


def expect(
    snapshot: Snapshot, wanted: Mapping[str, Slot], *, reported: Collection[str], alive: Collection[str]
) -> Expected:
    """Divide the executors that a change starts anew into those that will be reported, and those that may never be.

    Silence proves something only of what was heard before: a topology without hooks, a node whose workers may not
    report, and an executor that never did are running all the same.

    Args:
        snapshot: The round before the change.
        wanted: Slot by task id that is asked for.
        reported: Tasks that were reported at any time.
        alive: Tasks that were reported just now.
    """
    kept = {task: slot for task, slot in snapshot.assignment.items() if task not in wanted}
    anew = restarting(snapshot.assignment, {**kept, **wanted})
    hooked = [each for each in snapshot.scheduled if each.executors.keys() & set(reported)]
    mute = _mute_nodes(hooked, alive)
    asked: dict[str, Slot] = {}
    unseen: dict[tuple[str, str], list[str]] = defaultdict(list)
    for each in snapshot.scheduled:
        for task in sorted(each.executors.keys() & anew.keys()):
            new = task in reported or task not in snapshot.assignment
            if why := _why_not(each, anew[task], hooked=each in hooked, mute=mute, new=new):
                unseen[why].append(task)
            else:
                asked[task] = anew[task]
    return Expected(
        asked=FrozenMap(asked),
        unverified=tuple(_sentences(unseen)),
        unseen=tuple(sorted(task for tasks in unseen.values() for task in tasks)),
    )


def _why_not(
    scheduled: Scheduled, slot: Slot, *, hooked: bool, mute: Collection[str], new: bool
) -> tuple[str, str] | None:
    """The silent topology or node, and the place to look at; None where a report is to be expected."""
    if not hooked:
        return scheduled.topology.id, "no hooks: no worker of this topology has reported"
    if slot.node in mute:
        return slot.node, "no worker on this node reports: look at the token file and the collector in its storm.yaml"
    return None if new else (scheduled.topology.id, "they have never reported, though others of the topology do")


def _mute_nodes(hooked: list[Scheduled], alive: Collection[str]) -> set[str]:
    """Nodes on which topologies run that report elsewhere, and none of their executors reports."""
    runs: dict[str, bool] = defaultdict(bool)
    for each in hooked:
        for task, slot in each.assignment.items():
            runs[slot.node] |= task in alive
    return {node for node, heard in runs.items() if not heard}


def _sentences(unseen: Mapping[tuple[str, str], list[str]]) -> Iterator[tuple[str, str]]:
    for (subject, why), tasks in sorted(unseen.items()):
        yield subject, f"{len(tasks)} executors of {subject} cannot be verified: {why}"
