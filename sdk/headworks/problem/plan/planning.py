"""From a decision on nodes to a whole plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.model import FrozenMap, Plan, Reason, Status
from headworks.problem.arrays.arrays import Arrays
from headworks.problem.arrays.constraints import CountRule, LabelRule, binds
from headworks.problem.plan.changes import Changes
from headworks.problem.plan.places import seat
from headworks.problem.plan.score import score
from headworks.problem.repair.constraints import constraint_reason, keep_running
from headworks.problem.repair.slowdown import BatchRule
from headworks.problem.room.moves import Route, order_moves
from headworks.problem.room.room import Room
from headworks.problem.room.slots import assign_slots
from headworks.problem.rules.violations import new_breaches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headworks.model import Repair, Slot
    from headworks.problem.rules.rule import PlacementRule

SHOWN = 5
"""Unplaced tasks that get a reason of their own; one more reason counts the others."""

ROUNDS = 3
"""Times that tasks without a slot, for constraints within workers, look for another node."""


def make_plan(
    problem: Arrays,
    node_of: NDArray[np.int64],
    explanation: str = "",
    decided: tuple[Reason, ...] = (),
    worker_of: NDArray[np.int64] | None = None,
    *,
    repair: bool = True,
) -> Plan:
    """Make a plan of node indices; see `Problem.plan`.

    Args:
        decided: Reasons for tasks that the scheduler leaves out on purpose.
    """
    if worker_of is not None and worker_of.shape != (problem.n,):
        raise ValueError(f"worker_of has shape {worker_of.shape}, the problem has {problem.n} tasks")
    if node_of.shape != (problem.n,):
        raise ValueError(f"node_of has shape {node_of.shape}, the problem has {problem.n} tasks")
    if problem.n and (node_of.min() < -1 or node_of.max() >= problem.m):
        raise ValueError(f"node_of holds {node_of.min()}..{node_of.max()}, the nodes are 0..{problem.m - 1}")
    planning = _Planning(problem, worker_of, decided, Changes(problem, node_of))
    node_of = planning.changes.fix(node_of)
    if not repair:
        way = planning.route(node_of)
        broken = (*planning.changes.reasons(), *_broken_rules(problem, way))
        return _refused(problem, broken, explanation) if broken else _finished(problem, way, (), explanation)
    for rule in problem.rules:
        if isinstance(rule, BatchRule) and rule.limit.slow(node_of):
            changed = f"changed for batches of at most {rule.limit.said} (limits.slowdown)"
            explanation = f"{explanation}; {changed}" if explanation else changed
    way = planning.repaired(node_of)
    return _finished(problem, way, planning.changes.repairs(way.node_of), explanation)


def _finished(problem: Arrays, way: _Way, repaired: tuple[Repair, ...], explanation: str) -> Plan:
    reasons = way.reasons.copy()
    if way.route.dropped and problem.request.limits.max_moves is not None:
        reasons += [_limited(problem, way.route.dropped)]
    assignment = _assignment(problem, way.route)
    complete = len(assignment) == problem.n
    if not complete and not reasons:
        reasons = [_no_way(problem, len(assignment))]
    return Plan(
        status=Status.OK if complete else Status.INFEASIBLE,
        reasons=tuple(reasons),
        assignment=assignment,
        moves=way.route.moves,
        scores=score(problem, assignment),
        measured=problem.measured,
        repaired=repaired,
        explanation=explanation,
    )


def _refused(problem: Arrays, broken: tuple[Reason, ...], explanation: str) -> Plan:
    """The plan in which nothing moves, as the decision breaks rules."""
    assignment = _assignment(problem, _standing(problem))
    return Plan(
        status=Status.INFEASIBLE,
        reasons=broken,
        assignment=assignment,
        scores=score(problem, assignment),
        measured=problem.measured,
        explanation=explanation,
    )


def _broken_rules(problem: Arrays, way: _Way) -> Iterator[Reason]:
    assignment = _assignment(problem, way.route)
    for rule in problem.rules:
        yield from rule.breaches(assignment)


@attrs.frozen(eq=False)
class _Way:
    """A decision on nodes, int64 (n,); why tasks of it are left; and the moves that carry it out."""

    node_of: NDArray[np.int64]
    reasons: list[Reason]
    route: Route


@attrs.define(eq=False)
class _Planning:
    """Makes a decision keep the rules, with a note of each change."""

    problem: Arrays
    worker_of: NDArray[np.int64] | None
    decided: tuple[Reason, ...]
    changes: Changes

    def repaired(self, node_of: NDArray[np.int64]) -> _Way:
        """The decision with its constraints kept and its batches within the limit.

        Else what runs stays, and new tasks go where a core is free.
        """
        rules = self.problem.rules
        # The last rule may undo what an earlier one repaired: the earlier ones have the last word.
        for rule in (*rules, *rules[:-1]):
            node_of = self._repaired(rule, node_of)
        way = self._routed(node_of)
        # A limit on moves may cut the way short, and the last repair may move tasks again.
        batches = rules[-1] if rules else None
        if not isinstance(batches, BatchRule) or not any(batches.breaches(_assignment(self.problem, way.route))):
            return way
        found = keep_running(self.problem, batches.limit.free)
        node_of = self.changes.note(way.node_of, found, batches.cause)
        for rule in rules[:-1]:
            node_of = self._repaired(rule, node_of)
        return self._routed(node_of)

    def _repaired(self, rule: PlacementRule, node_of: NDArray[np.int64]) -> NDArray[np.int64]:
        for found, cause in rule.repair(node_of, _left_out(self.problem, self.decided)):
            node_of = self.changes.note(node_of, found, cause)
        return node_of

    def _routed(self, node_of: NDArray[np.int64]) -> _Way:
        """The way to a decision whose workers and moves keep the constraints; some tasks may be left for that."""
        constraints = self.problem.constraints
        if not constraints:
            return self.route(node_of)
        way = self.route(self._with_slots(node_of))
        broken = _broken(self.problem, way.route)
        # A limit on moves may cut the way short where a constraint is broken: then what runs stays.
        if broken and (self.problem.current >= 0).any():
            found = keep_running(self.problem, way.node_of)
            way = self.route(self.changes.note(way.node_of, found, self.changes.stays))
            broken = _broken(self.problem, way.route)
        # What no worker can hold together is found only with the slots: then what is new of it is left.
        new = constraints.bound[self.problem.component] & (self.problem.current < 0)
        while broken and (way.node_of[new] >= 0).any():
            left = (
                new
                & np.array([each in broken for each in self.problem.topology_ids], dtype=bool)[self.problem.topology]
            )
            found = np.where(left if (way.node_of[left] >= 0).any() else new, -1, way.node_of)
            way = self.route(self.changes.note(way.node_of, found, self.changes.left))
            broken = _broken(self.problem, way.route)
        if not broken:
            return way
        # Workers that run would be divided anew, and not as constraints ask: all that runs keeps its slot.
        found = self.changes.note(way.node_of, self.problem.current, self.changes.stays)
        return _Way(found, _unplaced(self.problem, found, self.decided), _standing(self.problem))

    def _with_slots(self, node_of: NDArray[np.int64]) -> NDArray[np.int64]:
        for _ in range(ROUNDS if self.problem.constraints.workers else 0):
            moved = _to_free_slots(self.problem, node_of, assign_slots(self.problem, node_of, self.worker_of)[0])
            if (moved == node_of).all():
                break
            node_of = self.changes.note(node_of, moved, self.changes.slots)
        return node_of

    def route(self, node_of: NDArray[np.int64]) -> _Way:
        """The way to a decision as it is, but for equal tasks, which keep their places."""
        seating = seat(self.problem, node_of, self.worker_of)
        if self.worker_of is not None:
            self.worker_of = self.worker_of[seating.taken]
        node_of = self.changes.exchange(node_of, seating.taken)
        reasons = _unplaced(self.problem, node_of, self.decided) + seating.reasons
        return _Way(node_of, reasons, order_moves(self.problem, seating.slots))


def _standing(problem: Arrays) -> Route:
    """The way on which all that runs keeps its slot."""
    running, ids = problem.request.assignment, problem.task_ids
    slots = {task: running[ids[task]] for task in np.flatnonzero(problem.current >= 0).tolist()}
    return Route(moves=(), slots=slots)


def _broken(problem: Arrays, route: Route) -> set[str]:
    """Topologies of which a way ends in a new breach of a hard constraint."""
    return {reason.subject for reason in new_breaches(problem, _assignment(problem, route))}


def _assignment(problem: Arrays, route: Route) -> FrozenMap[str, Slot]:
    return FrozenMap({problem.task_ids[task]: slot for task, slot in sorted(route.slots.items())})


def _left_out(problem: Arrays, decided: tuple[Reason, ...]) -> NDArray[np.bool_]:
    """Tasks of the topologies that a scheduler left out on purpose, bool (n,)."""
    subjects = {reason.subject for reason in decided}
    known = np.array([topology in subjects for topology in problem.topology_ids], dtype=bool)
    return known[problem.topology] if problem.n else np.zeros(0, dtype=bool)


def _to_free_slots(problem: Arrays, node_of: NDArray[np.int64], target: dict[int, Slot]) -> NDArray[np.int64]:
    """Move tasks for which constraints within workers leave no slot on their node to nodes with a free one."""
    lost = [task for task in np.flatnonzero((node_of >= 0) & (problem.fixed < 0)).tolist() if task not in target]
    room, left = Room(problem, node_of), problem.slots.copy()
    for slot in set(target.values()):
        left[problem.node_index[slot.node]] -= 1
    for task in lost:
        room.remove(task)
        fits = room.fits(task) & (left > 0)
        there = int(np.where(fits, left, -1).argmax()) if fits.any() else int(node_of[task])
        room.place(task, there)
        left[there] -= 1
    return room.node_of.copy()


def _unplaced(problem: Arrays, node_of: NDArray[np.int64], decided: tuple[Reason, ...]) -> list[Reason]:
    missing = np.flatnonzero((node_of < 0) & ~_left_out(problem, decided)).tolist()
    if not missing:
        return list(decided)
    room = Room(problem, node_of)
    reasons = [*decided, *(_why(problem, task, room) for task in missing[:SHOWN])]
    if len(missing) > SHOWN:
        message = f"{len(missing) - SHOWN} more of {problem.n} tasks are unplaced"
        reasons.append(Reason(code="unplaced", subject="tasks", message=message))
    return reasons


def _why(problem: Arrays, task: int, room: Room) -> Reason:
    """Name the resource that is shortest for the task on the node with the most left of it."""
    name, demand = problem.task_ids[task], problem.demand[task]
    if not problem.m:
        message = f"{name} has no node to go to: the cluster is empty"
        return Reason(code="nodes", subject=name, message=message, resource="nodes", need=1.0, have=0.0)
    limit = problem.heap_limit[problem.topology[task]]
    if problem.heap[task] > limit:
        message = f"{name} needs {problem.heap[task]:g} MB of heap, a worker of its topology may have {limit:g}"
        need, have = float(problem.heap[task]), float(limit)
        return Reason(code="heap", subject=name, message=message, resource="heap", need=need, have=have)
    spare = np.where(room.free < 0, -np.inf, np.inf)  # a node that is overloaded in anything takes nothing
    ratio = np.divide(room.free, demand, out=spare, where=demand > 0)
    wide = ratio.min(axis=1) >= 1
    if wide.any():
        return _no_worker(problem, task, wide, room)
    node = int(ratio.min(axis=1).argmax())
    short = int(ratio[node].argmin())
    resource, need, have = problem.resources[short], float(demand[short]), max(float(room.free[node, short]), 0.0)
    message = f"{name} needs {need:g} {resource}, the node with most room, {problem.node_ids[node]}, has {have:g}"
    return Reason(code="capacity", subject=name, message=message, resource=resource, need=need, have=have)


def _no_worker(problem: Arrays, task: int, wide: NDArray[np.bool_], room: Room) -> Reason:
    """Say why a task is not on any of the `wide` nodes, which have the capacity for it."""
    name = problem.task_ids[task]
    both = wide & room.has_worker(task)
    constraints = problem.constraints
    if both.any() and not (both & room.open_to(task)).any():
        return constraint_reason(problem, task, room.node_of)
    if both.any():
        if rules := _binding(problem, constraints.workers, task):
            message = f"{name} finds no worker where a constraint allows it: {rules}; more heap or slots, or relax it"
            return Reason(code="constraint", subject=name, message=message, resource=rules, need=1.0, have=0.0)
        if rules := _binding(problem, constraints.hard, task):
            message = f"{name} is left so that its topology breaks no constraint: {rules}; relax it, or make room"
            return Reason(code="constraint", subject=name, message=message, resource=rules, need=1.0, have=0.0)
    if both.any() and not room.fits(task).any():
        node = problem.node_ids[int(both.argmax())]
        message = f"{name} needs a slot; where it has the capacity, as on {node}, constraints give others all workers"
        return Reason(code="slots", subject=name, message=message, resource="slots", need=1.0, have=0.0)
    if both.any():
        message = f"{name} has room on node {problem.node_ids[int(both.argmax())]}, but the scheduler did not place it"
        return Reason(code="declined", subject=name, message=message)
    node = problem.node_ids[int(wide.argmax())]
    message = f"{name} needs a slot or heap in a worker; the nodes with the capacity for it, as {node}, have neither"
    return Reason(code="slots", subject=name, message=message, resource="slots", need=1.0, have=0.0)


def _binding(problem: Arrays, rules: Iterable[LabelRule | CountRule], task: int) -> str:
    """Those of some hard constraints that bind a task."""
    return "; ".join(str(rule.constraint) for rule in rules if binds(rule, int(problem.component[task])))


def _limited(problem: Arrays, dropped: int) -> Reason:
    limit = problem.request.limits.max_moves
    message = f"{dropped} more tasks would move, the limit is {limit}; the next round continues"
    return Reason(code="move-limit", subject="moves", message=message, need=dropped, have=limit)


def _no_way(problem: Arrays, placed: int) -> Reason:
    message = f"{problem.n - placed} tasks wait for room that only further moves would free"
    return Reason(code="order", subject="moves", message=message)
