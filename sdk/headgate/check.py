"""Checks at the boundary: of a request before planning, of a plan before anything is done with it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np

from headgate.errors import DocumentError, pointer
from headgate.model import FrozenMap, MoveKind, Plan, Reason, Slot, Status
from headgate.profiled import FULL, OVER, Profiled, counts_of, load_at
from headgate.rates import stream_rates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headgate.model import Request, Topology
    from headgate.problem import Problem

MAX_TASKS = 500_000
"""More tasks than this in one request are taken for a mistake."""
MAX_AMOUNT = 1e15
"""So is a larger amount; sums of whole amounts up to here are exact in float64."""

GROUPINGS = frozenset(
    {"shuffle", "fields", "local-or-shuffle", "partial-key", "all", "global", "direct", "none", "custom"}
)


def check_request(request: Request) -> None:
    """Refuse a request that contradicts itself.

    Raises:
        DocumentError: An id that is empty or stands twice, an unknown id, an amount that is negative, NaN or above
            `MAX_AMOUNT`, a cycle without a rate, or more than `MAX_TASKS` tasks; the pointer names the first place
            found. Tasks may be assigned to nodes that are not there: see `check_places`.
    """
    _unique((node.id for node in request.cluster.nodes), "node", "cluster", "nodes")
    for index, node in enumerate(request.cluster.nodes):
        where = ("cluster", "nodes", index)
        _id(node.id, *where, "id")
        _amounts(node.capacity.items(), *where, "capacity")
        _amount(node.price, *where, "price")
        _unique(node.slots, "slot", *where, "slots")
    _unique((topology.id for topology in request.topologies), "topology", "topologies")
    for index, topology in enumerate(request.topologies):
        _check_topology(topology, index)
    check_size(request)
    _check_references(request)
    _check_profiles(request)
    for name in ("deadline", "max_moves"):
        _amount(getattr(request.limits, name), "limits", name)
    _amount(request.metrics.window, "metrics", "window")


def check_places(request: Request) -> None:
    """Refuse an assignment to a node or slot that is not there.

    A request that was made from an engine's own state may have one: a supervisor dies before its tasks are
    reassigned, and `Problem.current` then says that they run nowhere. Somebody's document may not.

    Raises:
        DocumentError: With a pointer to the task.
    """
    known = {Slot(node.id, port) for node in request.cluster.nodes for port in node.slots}
    nodes = {node.id for node in request.cluster.nodes}
    for task, slot in request.assignment.items():
        _known(slot.node, nodes, "node", "assignment", task)
        if slot not in known:
            raise DocumentError(pointer("assignment", task), f"node {slot.node!r} has no slot {slot.port}")


def _check_topology(topology: Topology, index: int) -> None:
    where = ("topologies", index)
    _id(topology.id, *where, "id")
    if "/" in topology.id:
        raise DocumentError(
            pointer(*where, "id"), f"{topology.id!r} has a /, which ends a topology's id in a task's id"
        )
    _amount(topology.worker_heap, *where, "worker_heap")
    for name in ("workers", "desired_nodes", "minimum_nodes", "isolated_nodes"):
        _amount(getattr(topology, name), *where, name)
    _check_components(topology, *where)
    _check_streams(topology, *where)


def _check_components(topology: Topology, *where: str | int) -> None:
    _unique((component.id for component in topology.components), "component", *where, "components")
    for number, part in enumerate(topology.components):
        at = (*where, "components", number)
        _id(part.id, *at, "id")
        _amounts(part.demand.items(), *at, "demand")
        for name in ("heap", "rate", "selectivity", "parallelism"):
            _amount(getattr(part, name), *at, name)


def _check_streams(topology: Topology, *where: str | int) -> None:
    names = {component.id for component in topology.components}
    for number, stream in enumerate(topology.streams):
        at = (*where, "streams", number)
        for end in ("source", "target"):
            _known(getattr(stream, end), names, f"component of {topology.id!r}", *at, end)
        _known(stream.grouping, GROUPINGS, "grouping", *at, "grouping")
        _known(stream.fanout, {"copy", "split"}, "fanout", *at, "fanout")
        _amount(stream.rate, *at, "rate")
        _amount(stream.tuple_bytes, *at, "tuple_bytes")
    for number, rate in enumerate(stream_rates(topology, pointer(*where))):
        _amount(rate, *where, "streams", number)


def check_size(request: Request) -> None:
    """Refuse more than `MAX_TASKS` tasks, before anything is made of them.

    Raises:
        DocumentError: With a pointer to the component that is one too many.
    """
    total = 0
    for index, topology in enumerate(request.topologies):
        for number, part in enumerate(topology.components):
            total += part.parallelism
            if total > MAX_TASKS:
                where = pointer("topologies", index, "components", number, "parallelism")
                raise DocumentError(where, f"{total} tasks so far, at most {MAX_TASKS} are taken; lower it")


def _check_references(request: Request) -> None:
    metrics = request.metrics
    if not (request.assignment or metrics.tasks or metrics.flows or metrics.nodes or metrics.topologies):
        return
    tasks = {task.id for topology in request.topologies for task in topology.tasks()}
    nodes = {node.id for node in request.cluster.nodes}
    topologies = {topology.id for topology in request.topologies}
    for task in request.assignment:
        _known(task, tasks, "task", "assignment", task)
    _samples(metrics.tasks, "task", tasks, ("cpu", "memory", "received", "emitted", "queue"), "tasks")
    _samples(metrics.nodes, "node", nodes, ("cpu", "memory"), "nodes")
    _samples(metrics.topologies, "topology", topologies, ("offered", "throughput", "latency"), "topologies")
    for index, flow in enumerate(metrics.flows):
        for end in ("source", "target"):
            _known(getattr(flow, end), tasks, "task", "metrics", "flows", index, end)
        _amount(flow.tuples, "metrics", "flows", index, "tuples")
        _amount(flow.bytes, "metrics", "flows", index, "bytes")


def _check_profiles(request: Request) -> None:
    parts = {(topology.id, part.id) for topology in request.topologies for part in topology.components}
    for index, profile in enumerate(request.profiles):
        if (profile.topology, profile.component) not in parts:
            message = f"topology {profile.topology!r} has no component {profile.component!r}"
            raise DocumentError(pointer("profiles", index), message)
        for name in ("e", "met", "alpha"):
            _amount(getattr(profile, name), "profiles", index, name)


def _samples(samples: tuple[object, ...], subject: str, known: set[str], amounts: tuple[str, ...], name: str) -> None:
    _unique((getattr(sample, subject) for sample in samples), subject, "metrics", name)
    for index, sample in enumerate(samples):
        _known(getattr(sample, subject), known, subject, "metrics", name, index, subject)
        for amount in amounts:
            _amount(getattr(sample, amount), "metrics", name, index, amount)


def _unique(names: Iterable[object], what: str, *where: str | int) -> None:
    seen: set[object] = set()
    for index, name in enumerate(names):
        if name in seen:
            raise DocumentError(pointer(*where, index), f"{what} {name!r} is named twice")
        seen.add(name)


def _id(text: str, *where: str | int) -> None:
    if not text or not text.isprintable():
        raise DocumentError(pointer(*where), f"{text!r} is no id: it is empty or has a character that cannot be shown")


def _known(name: str, known: Iterable[str], what: str, *where: str | int) -> None:
    if name not in known:
        raise DocumentError(pointer(*where), f"{name!r} is no {what}")


def _amounts(amounts: Iterable[tuple[str, float]], *where: str | int) -> None:
    for name, amount in amounts:
        _amount(amount, *where, name)


def _amount(amount: float | None, *where: str | int) -> None:
    if amount is None:
        return
    if not isinstance(amount, int | float) or not 0 <= amount <= MAX_AMOUNT:
        raise DocumentError(pointer(*where), f"{amount!r} is not an amount: a number of 0 to {MAX_AMOUNT:g} is needed")


def check_plan(problem: Problem, plan: Plan) -> tuple[Reason, ...]:
    """Find what is wrong with a plan; nothing if it may be carried out.

    Every task is known and, if the status is OK, has a slot; every slot exists and hosts one topology within its
    heap limit; no node is overloaded, at the end or after any move (a node or worker that was overloaded before may
    stay so, but takes nothing); fixed tasks stay; moves lead from the running assignment to the planned one, within
    the move limit.
    """
    return tuple(_violations(problem, plan))


def _violations(problem: Problem, plan: Plan) -> Iterable[Reason]:
    malformed = _malformed(plan)
    if malformed:
        yield Reason(code="type", subject="plan", message=malformed)
        return
    unknown = [task for task in plan.assignment if task not in problem.task_index]
    known = {(node.id, port) for node in problem.request.cluster.nodes for port in node.slots}
    lost = [task for task, slot in plan.assignment.items() if (slot.node, slot.port) not in known]
    for task in unknown:
        yield Reason(code="unknown-task", subject=task, message=f"{task!r} is no task of the request")
    for task in lost:
        yield Reason(code="unknown-slot", subject=task, message=f"{task}: no slot {plan.assignment[task]}")
    if unknown or lost:
        return
    missing = problem.n - len(plan.assignment)
    if plan.status is Status.OK and missing:
        yield Reason(code="unplaced", subject="tasks", message=f"status is ok, but {missing} tasks have no slot")
    yield from _capacity(problem, plan)
    yield from _profiled_capacity(problem, plan)
    yield from _workers(problem, plan)
    yield from _fixed(problem, plan)
    yield from _moves(problem, plan)


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


def _capacity(problem: Problem, plan: Plan) -> Iterable[Reason]:
    node_of = problem.node_of(plan.assignment)
    usage, before = np.zeros_like(problem.capacity), np.zeros_like(problem.capacity)
    np.add.at(usage, node_of[node_of >= 0], problem.demand[node_of >= 0])
    runs = problem.current >= 0
    np.add.at(before, problem.current[runs], problem.demand[runs])
    for node, resource in np.argwhere(usage > np.maximum(problem.capacity, before)).tolist():
        name, what = problem.node_ids[node], problem.resources[resource]
        need, have = float(usage[node, resource]), float(problem.capacity[node, resource])
        message = f"node {name} would carry {need:g} {what} and has {have:g}"
        yield Reason(code="capacity", subject=name, message=message, resource=what, need=need, have=have)


def _profiled_capacity(problem: Problem, plan: Plan) -> Iterable[Reason]:
    """Nodes that profiles say are overloaded at the plan's input rate; without one, declared demands alone count."""
    if plan.input_rate is None or not problem.request.profiles:
        return
    profiled, node_of = Profiled.of(problem.request), problem.node_of(plan.assignment)
    counts = np.where(profiled.covered[:, None], counts_of(problem, node_of), 0)
    for part, node in np.argwhere((counts > 0) & ~profiled.covers).tolist():
        name, where = "/".join(problem.components[part]), problem.node_ids[node]
        message = f"{name} has no profile for node {where}, where the plan puts a task of it"
        yield Reason(code="profile", subject=name, message=message)
    load = load_at(problem, node_of, plan.input_rate)
    for node in np.flatnonzero((load > FULL * (1 + OVER)) & counts.any(axis=0)).tolist():
        name = problem.node_ids[node]
        message = f"node {name} would be {load[node]:g} % busy at {plan.input_rate:g} tuples/s"
        have = {"need": float(load[node]), "have": FULL}
        yield Reason(code="capacity", subject=name, message=message, resource="cpu", **have)


def _workers(problem: Problem, plan: Plan) -> Iterable[Reason]:
    heap = _heaps(problem, plan.assignment)
    live = (task for task, node in zip(problem.task_ids, problem.current.tolist(), strict=True) if node >= 0)
    before = _heaps(problem, {task: problem.request.assignment[task] for task in live})
    tenants = Counter(slot for slot, _ in heap)
    for slot, count in tenants.items():
        if count > 1 and any((slot, topology) not in before for other, topology in heap if other == slot):
            message = f"slot {slot} would host {count} topologies; a worker process serves one"
            yield Reason(code="shared-slot", subject=str(slot), message=message)
    for (slot, topology), need in heap.items():
        have = float(problem.heap_limit[topology])
        if need > max(have, before.get((slot, topology), 0.0)):
            message = f"the worker in {slot} would need {need:g} MB of heap, {have:g} are allowed"
            yield Reason(code="heap", subject=str(slot), message=message, resource="heap", need=need, have=have)


def _heaps(problem: Problem, assignment: Mapping[str, Slot]) -> dict[tuple[Slot, int], float]:
    """MB of heap in use by slot and topology."""
    heap: dict[tuple[Slot, int], float] = defaultdict(float)
    for task, slot in assignment.items():
        index = problem.task_index[task]
        heap[slot, int(problem.topology[index])] += float(problem.heap[index])
    return heap


def _fixed(problem: Problem, plan: Plan) -> Iterable[Reason]:
    for index in np.flatnonzero(problem.fixed >= 0).tolist():
        task, node = problem.task_ids[index], problem.node_ids[problem.fixed[index]]
        slot = plan.assignment.get(task)
        if slot is None or slot.node != node:
            yield Reason(code="fixed", subject=task, message=f"{task} runs on {node} and may not move")


def _moves(problem: Problem, plan: Plan) -> Iterable[Reason]:
    at = {
        task: slot
        for task, slot in problem.request.assignment.items()
        if problem.current[problem.task_index[task]] >= 0
    }
    free = problem.capacity.copy()
    for task, slot in at.items():
        free[problem.node_index[slot.node]] -= problem.demand[problem.task_index[task]]
    for move in plan.moves:
        index = problem.task_index.get(move.task)
        if index is None or at.get(move.task) != move.source:
            yield Reason(code="move", subject=move.task, message=f"{move.task} does not run on {move.source}")
            return
        source = at.pop(move.task, None)
        if source is not None:
            free[problem.node_index[source.node]] += problem.demand[index]
        if move.target is not None:
            at[move.task] = move.target
            node = problem.node_index.get(move.target.node, -1)
            if node < 0:
                yield Reason(code="unknown-slot", subject=move.task, message=f"no slot {move.target}")
                return
            free[node] -= problem.demand[index]
            if (free[node] < 0).any() and (source is None or source.node != move.target.node):
                message = f"{move.task} does not fit on {move.target.node} at its turn"
                yield Reason(code="move-order", subject=move.task, message=message)
    if at != dict(plan.assignment):
        yield Reason(code="moves", subject="moves", message="the moves do not lead to the planned assignment")
    yield from _limit(problem, plan)


def _limit(problem: Problem, plan: Plan) -> Iterable[Reason]:
    limit = problem.request.limits.max_moves
    moved = {move.task for move in plan.moves if move.kind is not MoveKind.PLACE}
    if limit is not None and len(moved) > limit:
        message = f"{len(moved)} running tasks would move, the limit is {limit}"
        yield Reason(code="move-limit", subject="moves", message=message, need=len(moved), have=limit)
