"""A round of Nimbus as schedulers see it where tasks have seats: one task for all of its seats, where it lives.

A task takes its CPU along and no memory: that of a worker is the heap of its JVM, which stays. A component of its own
stands for what stays, with a task in each worker; it also keeps the slot of a worker in which no task lives just now.
Tasks go where their topology has a worker, no more to a node than its workers have heap for. What has no seats stays.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from headworks.model import Component, Constraint, ConstraintKind, FrozenMap, Resources, Scope, Slot, Task
from headworks_storm.nimbus.snapshot import component_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headworks.model import Topology
    from headworks_storm.nimbus.seating import Seating
    from headworks_storm.nimbus.snapshot import Scheduled, Snapshot

    Owners = Mapping[str, Sequence[int]]
    """Id of the seat in which each task lives, by component."""

ALL_WORK: Mapping[str, Mapping[str, int]] = FrozenMap()
"""Numbers of working tasks where none is said: all work."""
WORKER = "__seats"
"""Id of the component that stands for the workers: like those of Storm's own, it is none of the topology's."""


@attrs.frozen(kw_only=True)
class SeatWish:
    """A `task`, by Storm's name of its `component` and its `index` there, and the id of the `seat` it is to get.

    `before` is the slot in which it lives.
    """

    task: str
    component: str
    index: int
    seat: int
    before: Slot


def logical_snapshot(
    snapshot: Snapshot, owners: Mapping[str, Owners], working: Mapping[str, Mapping[str, int]] = ALL_WORK
) -> Snapshot:
    """The round with the tasks of topologies with seats in place of their seats.

    Args:
        owners: Of each topology of which it is known, by id; all others stay as they are.
        working: Number of tasks that work, the first ones, by topology and component; all of those not named.
    """
    return attrs.evolve(snapshot, scheduled=tuple(_seen(each, owners, working) for each in snapshot.scheduled))


def seats_of(scheduled: Scheduled, component: str, index: int) -> dict[int, Slot]:
    """Slots of the seats of a task that have one, by the seat's task id.

    Args:
        scheduled: A topology as Nimbus has it.
        component: The component of the task.
        index: Number of the task in it.
    """
    if scheduled.seating is None or not 0 <= index < scheduled.seating.tasks.get(component, 0):
        return {}
    name = scheduled.topology.id
    parts = range(index * scheduled.seating.workers, (index + 1) * scheduled.seating.workers)
    names = (Task(name, component, part).id for part in parts)
    return {scheduled.executors[each][0]: scheduled.assignment[each] for each in names if each in scheduled.assignment}


def _seen(scheduled: Scheduled, owners: Mapping[str, Owners], working: Mapping[str, Mapping[str, int]]) -> Scheduled:
    name, seating = scheduled.topology.id, scheduled.seating
    if seating is None or name not in owners:
        return scheduled
    counts = {part: min(working.get(name, {}).get(part, count), count) for part, count in seating.tasks.items()}
    return _view(scheduled, seating, owners[name], counts)


def _view(scheduled: Scheduled, seating: Seating, owners: Owners, working: Mapping[str, int]) -> Scheduled:
    workers = tuple(sorted(set(scheduled.assignment.values())))
    executors = {task: pair for task, pair in scheduled.executors.items() if component_of(task) not in seating.tasks}
    assignment = {task: slot for task, slot in scheduled.assignment.items() if task in executors}
    idle: dict[str, Slot] = {}
    for component, count in seating.tasks.items():
        for index in range(count):
            task = Task(scheduled.topology.id, component, index).id
            first = scheduled.executors[Task(scheduled.topology.id, component, 0).id][0]
            ids = seating.seats(first, index)
            slot = seats_of(scheduled, component, index).get(owners[component][index])
            if index < working[component]:
                executors[task] = (ids[0], ids[-1])
                assignment |= {} if slot is None else {task: slot}
            elif slot is not None:
                idle[task] = slot
    stay = {Task(scheduled.topology.id, WORKER, number).id: slot for number, slot in enumerate(workers)}
    topology = _topology(scheduled, seating, workers, assignment, working)
    return attrs.evolve(
        scheduled,
        topology=topology,
        executors=FrozenMap(executors),
        assignment=FrozenMap({**assignment, **stay}),
        idle=FrozenMap(idle),
    )


def _topology(
    scheduled: Scheduled,
    seating: Seating,
    workers: tuple[Slot, ...],
    assignment: Mapping[str, Slot],
    working: Mapping[str, int],
) -> Topology:
    topology = scheduled.topology
    parts = tuple(_part(each, seating, working) for each in topology.components)
    rules = (_own_tasks(each, topology) for each in topology.constraints)
    held = Counter(slot for task, slot in scheduled.assignment.items() if component_of(task) in seating.tasks)
    # Seats of a task in a worker: one, unless the topology was rebalanced to fewer workers, or slots were few.
    seats = [count / sum(seating.tasks.values()) for count in held.values()] or [0.0]
    return attrs.evolve(
        topology,
        components=(*parts, _worker(topology.components, seating, len(workers), max(seats))) if workers else parts,
        constraints=(*rules, *_bounds(topology, seating, workers, min(seats), assignment)),
        live=True,
    )


def _part(component: Component, seating: Seating, working: Mapping[str, int]) -> Component:
    """The component with tasks in place of seats; but for elastic ones, none can have other numbers of tasks."""
    if component.id not in seating.tasks:
        fixed = component.parallelism
        return attrs.evolve(component, min_parallelism=fixed, max_parallelism=fixed)
    most = seating.tasks[component.id]
    demand = {name: amount * seating.workers for name, amount in component.demand.items() if name != "memory"}
    return attrs.evolve(
        component,
        parallelism=working[component.id],
        demand=Resources(demand),
        heap=0.0,
        movable=True,
        min_parallelism=1 if component.id in seating.elastic else most,
        max_parallelism=most,
    )


def _worker(components: Sequence[Component], seating: Seating, workers: int, each_task: float) -> Component:
    """The part of each worker that its seats take, so many of each task."""
    seats = [(each, seating.tasks[each.id] * each_task) for each in components if each.id in seating.tasks]
    memory = sum(each.demand.memory * count for each, count in seats)
    heap = sum(each.task_heap * count for each, count in seats)
    demand = Resources({"cpu": 0.0, "memory": memory})
    return Component(id=WORKER, parallelism=workers, demand=demand, heap=heap, movable=False)


def _own_tasks(constraint: Constraint, topology: Topology) -> Constraint:
    """A constraint on all components, as one on those that the topology has by itself."""
    names = tuple(each.id for each in topology.components)
    return constraint if constraint.components else attrs.evolve(constraint, components=names)


def _bounds(
    topology: Topology,
    seating: Seating,
    workers: tuple[Slot, ...],
    each_task: float,
    assignment: Mapping[str, Slot],
) -> Iterator[Constraint]:
    """Bounds of tasks with seats: they go to nodes with a worker, which has so many of each, as many as have heap."""
    names, nodes = tuple(sorted(seating.tasks)), Counter(slot.node for slot in workers)
    if not nodes or not names:
        return
    labels = FrozenMap(node=tuple(sorted(nodes)))
    yield Constraint(kind=ConstraintKind.ONLY_ON, components=names, labels=labels)
    heaps = {each.id: each.task_heap for each in topology.components if each.id in seating.tasks}
    # A seat has heap for `fit / workers` of a task: so many seats as a worker has are room for so many whole tasks.
    largest = max(heaps.values()) * seating.workers / seating.fit
    whole = sum(heaps[name] * count * each_task for name, count in seating.tasks.items())
    here = Counter(slot.node for task, slot in assignment.items() if component_of(task) in seating.tasks)
    most = max(int(whole / largest) * min(nodes.values()), *here.values(), 1) if largest else 0
    if 0 < most < sum(seating.tasks.values()):
        yield Constraint(kind=ConstraintKind.AT_MOST, components=names, scope=Scope.NODE, limit=most)
