"""A check of a plan at the moment of acting: places that hold no more on the engine as it is by then are dropped.

Seconds lie between an observation and its moves, and minutes where topologies are drained. Meanwhile nodes die,
topologies end, and others move tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import FrozenMap, Move, MoveKind, Plan, Status
from headworks.model.parts import known_metrics, without_topologies
from headworks.model.scaling import rescaled, with_instances
from headworks.model.validate import check_request
from headworks.problem import Problem
from headworks.problem.plan.check import check_plan
from headworks.problem.plan.score import score
from headworks.problem.room.moves import order_moves

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headworks.model import Observation, Reason, Receipt, Request, Slot, Topology
    from headworks.problem.room.moves import Route


@attrs.frozen(kw_only=True)
class Rechecked:
    """The part of a plan that still holds, and why the place of each other task is dropped, by task id."""

    plan: Plan
    dropped: FrozenMap[str, str] = FrozenMap()


def recheck(plan: Plan, request: Request, seen: Observation) -> Rechecked:
    """The part of a plan that holds on an engine by now.

    A place holds if its topology, node and slot are there, nobody else has moved its task, and there is room. The
    places that are left break no rule that `check_plan` knows. A task whose place is dropped stays where it runs, and
    so does one that began to run meanwhile.

    Args:
        plan: A plan that keeps all rules on the request.
        request: What it was made for.
        seen: The engine as it is now; what it measures does not count.

    Raises:
        DocumentError: What was seen contradicts itself.
    """
    now = as_it_is(request, seen)
    if now == request:
        return Rechecked(plan=plan)
    check_request(now)
    return _Recheck(plan, request, now).result()


def without(plan: Plan, request: Request, held: Mapping[str, str]) -> Rechecked:
    """The part of a plan that holds if some of its tasks stay where they run.

    Args:
        plan: A plan that keeps all rules on the request.
        request: What it was made for.
        held: Those tasks, each with the reason.
    """
    return _Recheck(plan, request, request).result(held)


def way_back(request: Request, receipt: Receipt) -> Plan:
    """The plan that undoes another one by its receipt; tasks that the request does not have are left out."""
    known = {f"{each.id}/{part.id}" for each in request.topologies for part in each.components}
    counts = {name: count for name, count in receipt.undo_parallelism.items() if name in known}
    tasks = {task.id for each in with_instances(request, counts).topologies for task in each.tasks()}
    before = request.assignment
    after = {task: slot for task, slot in {**before, **receipt.undo}.items() if task in tasks}
    moves = tuple(
        Move(kind=MoveKind.MIGRATE, task=task, source=before.get(task), target=slot)
        for task, slot in sorted(after.items())
        if before.get(task) != slot
    )
    return Plan(assignment=FrozenMap(after), moves=moves, parallelism=FrozenMap(counts))


def is_void(plan: Plan, dropped: Mapping[str, str]) -> bool:
    """True if nothing is left to do of a plan: each task that it moves is dropped.

    Args:
        dropped: The dropped places, by task id.
    """
    return bool(plan.moves) and not plan.parallelism and all(move.task in dropped for move in plan.moves)


def as_it_is(request: Request, seen: Observation) -> Request:
    """The request with the nodes, topologies and places of now, and what is known and was measured of those before.

    A topology that has other numbers of tasks by now is another one. Where slots are shared, an engine may deal its
    tasks out anew at any time, and that is nobody's move.
    """
    shapes = {each.id: _shape(each) for each in seen.topologies}
    gone = {each.id for each in request.topologies if shapes.get(each.id) != _shape(each)}
    same = without_topologies(request, gone)
    kept, running = {each.id for each in same.topologies}, {task.partition("/")[0] for task in seen.assignment}
    others = tuple(each for each in seen.topologies if each.id in running and each.id not in kept)
    places = seen.assignment
    if seen.cluster.shared_slots:
        alien = {task: slot for task, slot in places.items() if task.partition("/")[0] not in kept}
        places = FrozenMap({**same.assignment, **alien})
    topologies = (*same.topologies, *others)
    now = attrs.evolve(same, cluster=seen.cluster, topologies=topologies, assignment=places)
    return attrs.evolve(now, metrics=known_metrics(same.metrics, now))


def _shape(topology: Topology) -> dict[str, int]:
    return {part.id: part.parallelism for part in topology.components}


class _Recheck:
    """Drops places until those that are left hold together."""

    def __init__(self, plan: Plan, request: Request, now: Request) -> None:
        before = {each.id: each for each in request.topologies}
        self._same = {each.id for each in now.topologies if before.get(each.id) == each}
        counts = {name: count for name, count in plan.parallelism.items() if name.partition("/")[0] in self._same}
        self._plan = attrs.evolve(plan, parallelism=FrozenMap(counts))
        self._before = request.assignment
        asked = rescaled(now, self._plan)
        self._problem = problem = Problem.of(asked, measured=plan.measured)
        ids = problem.task_ids
        live = [ids[task] for task in np.flatnonzero(problem.current >= 0).tolist()]
        self._runs = {task: asked.assignment[task] for task in live}
        self._ports = {node.id: node.slots for node in asked.cluster.nodes}
        # A rule that is broken by what runs counts only where it is broken by more.
        runs = order_moves(problem, self._places({}))
        self._known = {(each.code, each.subject): each.need or 0.0 for each in self._breaches(runs)}

    def result(self, held: Mapping[str, str] = FrozenMap()) -> Rechecked:
        """The part of the plan that holds, without the tasks that are held; each turn drops at least one more."""
        dropped = {task: why for task in {**self._before, **self._plan.assignment} if (why := self._obstacle(task))}
        dropped |= held
        while True:
            target = self._places(self._wanted(dropped))
            route = order_moves(self._problem, target)
            found = self._without_room(target, route) or self._breaking(route, dropped)
            if not found:
                return Rechecked(plan=self._made(route), dropped=FrozenMap(dropped))
            dropped |= found

    def _obstacle(self, task: str) -> str:
        """Reason why the place of a task, or its end, holds no more; "" if it does, but for room and rules."""
        slot, found = self._plan.assignment.get(task), self._runs.get(task)
        topology = task.partition("/")[0]
        if found == slot:
            return ""
        if topology not in self._same:
            return f"topology {topology} is gone, or has other numbers of tasks"
        if found is not None and found != self._before.get(task):
            return f"it was moved to {found} since it was observed"
        if slot is not None and slot.node not in self._ports:
            return f"node {slot.node} is gone"
        return f"slot {slot} is gone" if slot is not None and slot.port not in self._ports[slot.node] else ""

    def _wanted(self, dropped: Mapping[str, str]) -> dict[str, Slot | None]:
        """Slot that is asked for of each task, None for one that is to end."""
        return {
            task: self._plan.assignment.get(task)
            for task in {**self._before, **self._plan.assignment}
            if task not in dropped
        }

    def _places(self, wanted: Mapping[str, Slot | None]) -> dict[int, Slot]:
        """Slot by task index once what is asked for has been done."""
        index, places = self._problem.task_index, {**self._runs, **wanted}
        return {index[task]: slot for task, slot in places.items() if slot is not None}

    def _without_room(self, target: Mapping[int, Slot], route: Route) -> dict[str, str]:
        """Tasks that find no room on the way, each with the reason."""
        late = {task: slot for task, slot in target.items() if route.slots.get(task) != slot}
        return {self._problem.task_ids[task]: f"there is no room left in {slot}" for task, slot in late.items()}

    def _breaking(self, route: Route, dropped: Mapping[str, str]) -> dict[str, str]:
        """Tasks by whose moves a rule is broken, each with the reason."""
        found: dict[str, str] = {}
        moved = {task: places for task, places in self._moved(route) if task not in dropped}
        for reason in self._breaches(route):
            if (reason.need or 0.0) > self._known.get((reason.code, reason.subject), -1.0):
                concerned = [task for task, places in moved.items() if reason.subject in _names(task, places)]
                found |= dict.fromkeys(concerned or moved, reason.message)
        return found

    def _moved(self, route: Route) -> Iterator[tuple[str, tuple[Slot | None, Slot | None]]]:
        """Tasks whose slots differ after the way, each with its slots before and after."""
        after = {self._problem.task_ids[task]: slot for task, slot in route.slots.items()}
        for task in sorted({*self._runs, *after}):
            if self._runs.get(task) != after.get(task):
                yield task, (self._runs.get(task), after.get(task))

    def _breaches(self, route: Route) -> tuple[Reason, ...]:
        return check_plan(self._problem, self._carried(route))

    def _carried(self, route: Route) -> Plan:
        """The plan that takes a way."""
        ids = self._problem.task_ids
        assignment = FrozenMap({ids[task]: slot for task, slot in sorted(route.slots.items())})
        status = Status.OK if len(assignment) == self._problem.n else Status.INFEASIBLE
        return attrs.evolve(self._plan, status=status, assignment=assignment, moves=route.moves)

    def _made(self, route: Route) -> Plan:
        plan = self._carried(route)
        return attrs.evolve(plan, scores=score(self._problem, plan.assignment, plan.input_rate))


def _names(task: str, places: tuple[Slot | None, Slot | None]) -> set[str]:
    """Subjects of reasons that are about the move of a task."""
    slots = [slot for slot in places if slot is not None]
    return {
        *(task, task.partition("/")[0], task.rpartition("/")[0]),
        *(slot.node for slot in slots),
        *map(str, slots),
    }
