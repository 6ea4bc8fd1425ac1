"""Check of a plan against the arrays of its request: every violation is a reason."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from operator import add, sub
from typing import TYPE_CHECKING

import numpy as np

from headworks.model import THREADS, FrozenMap, MoveKind, Plan, Reason, Slot, Status
from headworks.problem.arrays.arrays import Placed
from headworks.problem.arrays.profiles import FULL, OVER, Profiled, counts_of, load_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from headworks.problem.arrays.arrays import Arrays


def check_plan(problem: Arrays, plan: Plan) -> tuple[Reason, ...]:
    """Find what is wrong with a plan; nothing if it may be carried out.

    Every task is known and, if the status is OK, has a slot; every slot exists and, unless slots are shared, hosts one
    topology within its heap limit; no task exceeds its threads at the plan's input rate; no node is overloaded, at the
    end or after any move (a node or worker that was overloaded before may stay so, but takes nothing); fixed tasks
    stay; without `limits.restarts` the tasks of each running worker are the same, but for topologies that are live;
    moves lead from the running assignment to the planned one, within the move limit; no hard constraint is broken that
    the running assignment keeps; batches are within `limits.slowdown`.
    """
    return tuple(_violations(problem, plan))


def _violations(problem: Arrays, plan: Plan) -> Iterable[Reason]:
    malformed = _malformed(plan)
    if malformed:
        yield Reason(code="type", subject="plan", message=malformed)
        return
    strangers = list(_strangers(problem, plan.assignment))
    yield from strangers
    if strangers:
        return
    missing = problem.n - len(plan.assignment)
    if plan.status is Status.OK and missing:
        yield Reason(code="unplaced", subject="tasks", message=f"status is ok, but {missing} tasks have no slot")
    placed = Placed.assigned(problem, plan.assignment)
    node_of = placed.node_of(problem)
    yield from _capacity(problem, node_of)
    yield from _profiled_capacity(problem, plan, node_of)
    yield from _workers(problem, placed)
    yield from _fixed(problem, plan)
    yield from _restarts(problem, plan)
    yield from _moves(problem, plan, node_of)
    for rule in problem.rules:
        yield from rule.breaches(plan.assignment)


def _strangers(problem: Arrays, assignment: Mapping[str, Slot]) -> Iterable[Reason]:
    """Tasks and slots that the request does not have."""
    for task in assignment:
        if task not in problem.task_index:
            yield Reason(code="unknown-task", subject=task, message=f"{task!r} is not a task of the request")
    ports = {node.id: node.slots for node in problem.request.cluster.nodes}
    lost = {slot for slot in set(assignment.values()) if slot.port not in ports.get(slot.node, ())}
    for task, slot in assignment.items() if lost else ():
        if slot in lost:
            yield Reason(code="unknown-slot", subject=task, message=f"{task}: no slot {slot}")


def _malformed(plan: object) -> str:
    """Say what is not of its type in what should be a plan; scores and provenance are the host's, so not looked at."""
    if not isinstance(plan, Plan):
        return f"a Plan is expected, not {type(plan).__name__}"
    numbers = [plan.input_rate, *plan.parallelism.values(), plan.bound.value if plan.bound else None]
    numbers += [number for reason in plan.reasons for number in (reason.need, reason.have)]
    if not all(number is None or math.isfinite(number) for number in numbers):
        return "a number of the plan is infinite or NaN"
    if plan.status not in (Status.OK, Status.INFEASIBLE) or not isinstance(plan.status, Status):
        return f"the status is {plan.status!r}; a scheduler says ok or infeasible"
    if not isinstance(plan.assignment, FrozenMap) or not all(isinstance(at, Slot) for at in plan.assignment.values()):
        return "the assignment is no FrozenMap of task ids to slots"
    return ""


def _capacity(problem: Arrays, node_of: NDArray[np.int64]) -> Iterable[Reason]:
    usage, before = problem.used(node_of), problem.used(problem.current)
    for node, resource in np.argwhere(usage > np.maximum(problem.capacity, before)).tolist():
        name, what = problem.node_ids[node], problem.resources[resource]
        need, have = float(usage[node, resource]), float(problem.capacity[node, resource])
        message = f"node {name} would carry {need:g} {what} and has {have:g}"
        yield Reason(code="capacity", subject=name, message=message, resource=what, need=need, have=have)


def _profiled_capacity(problem: Arrays, plan: Plan, node_of: NDArray[np.int64]) -> Iterable[Reason]:
    """Nodes that profiles say are overloaded at the plan's input rate; without one, declared demands alone count."""
    if plan.input_rate is None or not problem.request.profiles:
        return
    profiled = Profiled.of(problem.request)
    counts = np.where(profiled.covered[:, None], counts_of(problem, node_of), 0)
    for part, node in np.argwhere((counts > 0) & ~profiled.covers).tolist():
        name, where = "/".join(problem.components[part]), problem.node_ids[node]
        message = f"{name} has no profile for node {where}, where the plan puts a task of it"
        yield Reason(code="profile", subject=name, message=message)
    yield from _threads(problem, profiled, counts, plan.input_rate)
    load = load_at(problem, node_of, plan.input_rate)
    for node in np.flatnonzero((load > FULL * (1 + OVER)) & counts.any(axis=0)).tolist():
        name = problem.node_ids[node]
        message = f"node {name} would be {load[node]:g} % busy at {plan.input_rate:g} tuples/s"
        have = {"need": float(load[node]), "have": FULL}
        yield Reason(code="capacity", subject=name, message=message, resource="cpu", **have)


def _threads(problem: Arrays, profiled: Profiled, counts: NDArray[np.int64], input_rate: float) -> Iterable[Reason]:
    """Components whose tasks would need more at an input rate than their threads can use."""
    factor = input_rate / profiled.input_rate if profiled.input_rate else 0.0
    load = profiled.task_load(counts, factor)
    over = (counts > 0) & (load > profiled.limit * (1 + OVER))
    for part in np.flatnonzero(over.any(axis=1)).tolist():
        name, node = "/".join(problem.components[part]), int(over[part].argmax())
        points = problem.capacity[node, 0] / FULL
        need, have = float(load[part, node] * points), float(profiled.limit[part, node] * points)
        message = f"a task of {name} would need {need:g} points at {input_rate:g} tuples/s, its threads have {have:g}"
        yield Reason(code=THREADS, subject=name, message=message, resource="cpu", need=need, have=have)


def _workers(problem: Arrays, placed: Placed) -> Iterable[Reason]:
    heap = placed.heaps(problem)
    live = np.flatnonzero(problem.current >= 0).tolist()
    running = problem.request.assignment
    before = Placed.of(live, [running[problem.task_ids[task]] for task in live]).heaps(problem)
    tenants = Counter(() if problem.request.cluster.shared_slots else (slot for slot, _ in heap))
    for slot, count in tenants.items():
        if count > 1 and any((slot, topology) not in before for other, topology in heap if other == slot):
            message = f"slot {slot} would host {count} topologies; a worker process serves one"
            yield Reason(code="shared-slot", subject=str(slot), message=message)
    for (slot, topology), need in heap.items():
        have = float(problem.heap_limit[topology])
        if need > max(have, before.get((slot, topology), 0.0)):
            message = f"the worker in {slot} would need {need:g} MB of heap, {have:g} are allowed"
            yield Reason(code="heap", subject=str(slot), message=message, resource="heap", need=need, have=have)


def _fixed(problem: Arrays, plan: Plan) -> Iterable[Reason]:
    for index in np.flatnonzero(problem.fixed >= 0).tolist():
        task, node = problem.task_ids[index], problem.node_ids[problem.fixed[index]]
        slot = plan.assignment.get(task)
        if slot is None or slot.node != node:
            yield Reason(code="fixed", subject=task, message=f"{task} runs on {node} and may not move")


def _restarts(problem: Arrays, plan: Plan) -> Iterable[Reason]:
    """Running workers whose tasks would not be the same, where none may restart."""
    closed = [problem.task_ids[task] for task in np.flatnonzero(problem.closed).tolist()]
    if not closed:
        return
    before = _tasks_in({task: problem.request.assignment[task] for task in closed})
    after = _tasks_in(plan.assignment)
    for slot in sorted(slot for slot in before if before[slot] != after[slot]):
        message = f"the worker in {slot} would restart: {len(before[slot])} tasks run in it, {len(after[slot])} would"
        yield Reason(code="restart", subject=str(slot), message=message)


def _tasks_in(assignment: Mapping[str, Slot]) -> dict[Slot, set[str]]:
    found: dict[Slot, set[str]] = defaultdict(set)
    for task, slot in assignment.items():
        found[slot].add(task)
    return found


def _moves(problem: Arrays, plan: Plan, node_of: NDArray[np.int64]) -> Iterable[Reason]:
    at = {
        task: slot
        for task, slot in problem.request.assignment.items()
        if problem.current[problem.task_index[task]] >= 0
    }
    if not at and _are_arrivals_with_room(problem, plan, node_of):
        yield from _limit(problem, plan)
        return
    # lists: rows are short, and read one by one
    free: list[list[float]] = problem.capacity.tolist()
    demand: list[list[float]] = problem.demand.tolist()
    for task, slot in at.items():
        node = problem.node_index[slot.node]
        free[node] = list(map(sub, free[node], demand[problem.task_index[task]]))
    for move in plan.moves:
        index = problem.task_index.get(move.task)
        if index is None or at.get(move.task) != move.source:
            yield Reason(code="move", subject=move.task, message=f"{move.task} does not run on {move.source}")
            return
        source = at.pop(move.task, None)
        if source is not None:
            node = problem.node_index[source.node]
            free[node] = list(map(add, free[node], demand[index]))
        if move.target is not None:
            at[move.task] = move.target
            node = problem.node_index.get(move.target.node, -1)
            if node < 0:
                yield Reason(code="unknown-slot", subject=move.task, message=f"no slot {move.target}")
                return
            free[node] = list(map(sub, free[node], demand[index]))
            if min(free[node]) < 0 and (source is None or source.node != move.target.node):
                message = f"{move.task} does not fit on {move.target.node} at its turn"
                yield Reason(code="move-order", subject=move.task, message=message)
    if at != dict(plan.assignment):
        yield Reason(code="moves", subject="moves", message="the moves do not lead to the planned assignment")
    yield from _limit(problem, plan)


def _are_arrivals_with_room(problem: Arrays, plan: Plan, node_of: NDArray[np.int64]) -> bool:
    """Check that every move places a task that runs nowhere, and that all have room together: so in any order."""
    placed = {move.task: move.target for move in plan.moves if move.source is None and move.target is not None}
    if len(placed) != len(plan.moves) or placed != dict(plan.assignment):
        return False
    return bool((problem.used(node_of) <= problem.capacity).all())


def _limit(problem: Arrays, plan: Plan) -> Iterable[Reason]:
    limit = problem.request.limits.max_moves
    moved = {move.task for move in plan.moves if move.kind is not MoveKind.PLACE}
    if limit is not None and len(moved) > limit:
        message = f"{len(moved)} running tasks would move, the limit is {limit}"
        yield Reason(code="move-limit", subject="moves", message=message, need=len(moved), have=limit)
