"""Slots for executors of topologies with seats: a worker for each seat of a task, whoever schedules.

Executors are dealt as Storm's even scheduler deals them, in the order of their tasks, so that every task has a seat in
each worker and begins where it would without seats. To where a scheduler wants it, a task comes by a move to another
seat, which restarts nothing. A topology that was rebalanced to fewer workers has several seats of a task in each.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import attrs

from headworks.model import FrozenMap, Slot
from headworks_storm.nimbus.snapshot import component_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headworks.model import Node, Resources
    from headworks_storm.nimbus.snapshot import Scheduled, Snapshot


@attrs.frozen(kw_only=True)
class SeatSlots:
    """Slots for executors of topologies with seats.

    Attributes:
        slots: Slot by task id.
        lacking: Why executors of a topology have none, by its id.
    """

    slots: FrozenMap[str, Slot] = FrozenMap()
    lacking: FrozenMap[str, str] = FrozenMap()


def assign_seat_slots(snapshot: Snapshot, granted: Mapping[str, Slot]) -> SeatSlots:
    """Give each worker of a topology with seats a slot in which nothing else runs; it begins whole or not at all.

    Args:
        granted: Slot by task id of what moves in this round.
    """
    at = {**snapshot.assignment, **granted}
    slots: dict[str, Slot] = {}
    lacking: dict[str, str] = {}
    for each in sorted(snapshot.scheduled, key=lambda each: (each.topology.priority, each.topology.id)):
        if each.seating is None or not each.unassigned:
            continue
        found = _slots_of(each, _Room(snapshot, {**at, **slots}))
        slots |= found
        missing = len(each.unassigned) - len(found)
        if missing:
            lacking[each.topology.id] = (
                f"{missing} executors have no slot: a worker for each seat of a task needs a free one"
            )
    return SeatSlots(slots=FrozenMap(slots), lacking=FrozenMap(lacking))


def _workers_of(scheduled: Scheduled) -> list[list[str]]:
    """Executors without a slot, those of each worker together."""
    assert scheduled.seating is not None
    count = max(1, min(scheduled.seating.workers, scheduled.topology.workers))
    workers: dict[int, list[str]] = defaultdict(list)
    # From 1, as the ids of Storm's tasks.
    for number, (_, task) in enumerate(sorted((pair, task) for task, pair in scheduled.executors.items()), 1):
        if task not in scheduled.assignment:
            workers[number % count].append(task)
    return [tasks for _, tasks in sorted(workers.items())]


def _slots_of(scheduled: Scheduled, room: _Room) -> dict[str, Slot]:
    groups = _workers_of(scheduled)
    used = Counter(slot.node for slot in set(scheduled.assignment.values()))
    demand = {each.id: each.demand for each in scheduled.topology.components}
    found: list[Slot] = []
    for tasks in groups:
        slot = room.take([demand[component_of(task)] for task in tasks], used)
        if slot is None:
            break
        used[slot.node] += 1
        found.append(slot)
    return _shared(scheduled, groups, found)


def _shared(scheduled: Scheduled, groups: list[list[str]], found: list[Slot]) -> dict[str, Slot]:
    """Slots of groups of executors. Fewer are shared by all that waits, as Storm does, if a worker may have the heap.

    Of a topology that begins, a part would be refused: its heap is looked at by who carries the answer out.
    """
    heap_of = {each.id: each.task_heap for each in scheduled.topology.components}
    limit = scheduled.topology.worker_heap if scheduled.assignment else None
    heap: dict[Slot, float] = defaultdict(float)
    slots: dict[str, Slot] = {}
    for number, tasks in enumerate(groups if found else ()):
        slot = found[number % len(found)]
        more = sum(heap_of[component_of(task)] for task in tasks)
        if number < len(found) or limit is None or heap[slot] + more <= limit:
            heap[slot] += more
            slots.update(dict.fromkeys(tasks, slot))
    return slots


class _Room:
    """Free slots of nodes that take new executors, and what is free there of their resources."""

    def __init__(self, snapshot: Snapshot, at: Mapping[str, Slot]) -> None:
        taken = set(at.values())
        self._nodes: dict[str, Node] = {each.id: each for each in snapshot.nodes if each.id not in snapshot.blacklisted}
        self._ports = {
            each.id: [port for port in each.slots if Slot(each.id, port) not in taken] for each in self._nodes.values()
        }
        self._free = {each.id: defaultdict(float, each.capacity) for each in self._nodes.values()}
        demand = {
            (it.topology.id, part.id): part.demand for it in snapshot.scheduled for part in it.topology.components
        }
        for task, slot in at.items():
            if slot.node in self._free:
                self._use(slot.node, demand[task.partition("/")[0], component_of(task)])

    def _use(self, node: str, amounts: Mapping[str, float]) -> None:
        for name, amount in amounts.items():
            self._free[node][name] -= amount

    def take(self, demands: Iterable[Resources], used: Mapping[str, int]) -> Slot | None:
        """A free slot on the node with fewest workers of the topology, of these one with room, the most first."""
        need: dict[str, float] = defaultdict(float)
        for name, amount in (item for each in demands for item in each.items()):
            need[name] += amount

        def rank(node: str) -> tuple[bool, int, float, str]:
            free = self._free[node]
            short = any(free[name] < amount for name, amount in need.items())
            return short, used.get(node, 0), -free["cpu"], node

        node = min((each for each, ports in self._ports.items() if ports), key=rank, default=None)
        if node is None:
            return None
        self._use(node, need)
        return Slot(node, self._ports[node].pop(0))
