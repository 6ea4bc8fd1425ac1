"""From a request to the arrays of a problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import numpy as np

from headworks.model import Metrics
from headworks.model.rates import stream_rates
from headworks.model.topology import CORE, LOCAL, TUPLE_BYTES
from headworks.model.validate import check_request
from headworks.problem.arrays import traffic
from headworks.problem.arrays.arrays import STEP, Arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.model import Cluster, Component, Node, Request, Resources, Stream, StreamSample, Task, Topology

BASE = ("cpu", "memory")

A = TypeVar("A", bound=Arrays)


def build(kind: type[A], request: Request, *, measured: bool) -> A:
    """Build the arrays; see `Problem` for their shapes.

    Raises:
        DocumentError: The request contradicts itself.
    """
    check_request(request)
    nodes = sorted(request.cluster.nodes, key=lambda node: node.id)
    topologies = sorted(request.topologies, key=lambda topology: topology.id)
    tasks = tuple(task for topology in topologies for task in topology.tasks())
    parts = [part for topology in topologies for part in sorted(topology.components, key=lambda part: part.id)]
    names = _resource_names(request, parts)
    component = _indices([part.parallelism for part in parts])
    demand = _table([part.demand for part in parts], names)[component]
    thread_points = np.array([part.thread_points for part in parts], dtype=np.float64)[component]
    known = _measure(demand, request.metrics, tasks) if measured else np.zeros(len(tasks), dtype=bool)
    # A task that was seen to use more has more threads than its component says.
    seen = np.ceil(demand[:, 0] / CORE) * CORE
    thread_points = np.where(known, np.maximum(thread_points, seen), thread_points)
    current, limits = _current(request, tasks), request.limits
    rates = _traffic(request, topologies, tasks, measured=measured)
    transfer = _transfer(request, rates, topologies, tasks, measured=measured)
    if transfer[0]:  # what a task was measured to need has what it sent to other nodes from where it runs
        demand[known, 0] = np.maximum(demand[:, 0] - transfer[0] * rates.sent(current), 0.0)[known]
    wanted = _steps(demand[:, 0])
    demand[:, 0] = np.minimum(demand[:, 0], thread_points)
    live = np.array([each.live for each in topologies for _ in each.components], dtype=bool)[component]
    free = live | limits.restarts
    closed = (current >= 0) & ~free
    movable = np.array([part.movable for part in parts], dtype=bool)[component]
    problem = kind(
        request=request,
        measured=measured,
        tasks=tasks,
        resources=names,
        demand=_steps(demand),
        wanted=wanted,
        thread_points=thread_points,
        capacity=_steps(_table([node.capacity for node in nodes], names)),
        heap=_steps(np.array([part.task_heap for part in parts], dtype=np.float64)[component]),
        heap_limit=_heap_limits(topologies),
        component=component,
        topology=_indices([sum(part.parallelism for part in each.components) for each in topologies]),
        slots=_slots(request, nodes) - _slots_in_use(request, tasks, current, closed),
        traffic=rates,
        transfer=transfer,
        current=current,
        fixed=np.where(movable & (limits.max_moves != 0) & free, -1, current),
        closed=closed,
    )
    return _read_only(problem)


def copied(problem: A, request: Request) -> A:
    """Copy the arrays of a request for one that says the same: whoever writes to the one does not reach the other."""
    rates = problem.traffic
    return _read_only(
        attrs.evolve(
            problem,
            request=request,
            traffic=attrs.evolve(
                rates,
                blocks=attrs.evolve(rates.blocks, **_fresh(rates.blocks)),
                sparse=attrs.evolve(rates.sparse, **_fresh(rates.sparse)),
            ),
            **_fresh(problem),
        )
    )


def _fresh(owner: attrs.AttrsInstance) -> dict[str, Any]:
    """A copy of each array that is a field."""
    fields = attrs.asdict(owner, recurse=False)
    return {name: value.copy() for name, value in fields.items() if isinstance(value, np.ndarray)}


def _read_only(problem: A) -> A:
    """Make every array of a problem read-only, those of its traffic included."""
    blocks, sparse = problem.traffic.blocks, problem.traffic.sparse
    for owner in (problem, blocks, sparse):
        for value in attrs.asdict(owner, recurse=False).values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
    return problem


def _indices(counts: list[int]) -> NDArray[np.int64]:
    """Index of the owner of each task, int64 (n,), for the number of tasks of each owner."""
    return np.repeat(np.arange(len(counts), dtype=np.int64), np.array(counts, dtype=np.int64))


def _heap_limits(topologies: list[Topology]) -> NDArray[np.float64]:
    limits = [np.inf if each.worker_heap is None else each.worker_heap for each in topologies]
    return np.array(limits, dtype=np.float64)


def _resource_names(request: Request, parts: list[Component]) -> tuple[str, ...]:
    named = {name for part in parts for name in part.demand}
    named |= {name for node in request.cluster.nodes for name in node.capacity}
    return (*BASE, *sorted(named - set(BASE)))


def _table(amounts: list[Resources], names: tuple[str, ...]) -> NDArray[np.float64]:
    rows = [[amount.get(name, 0.0) for name in names] for amount in amounts]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(names))


def _steps(amounts: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.floor(amounts / STEP) * STEP


def _measure(demand: NDArray[np.float64], metrics: Metrics, tasks: tuple[Task, ...]) -> NDArray[np.bool_]:
    """Put measured demands in place of declared ones; the mask of the tasks whose CPU was measured, shape (n,)."""
    index = {task.id: number for number, task in enumerate(tasks)} if metrics.tasks else {}
    known = np.zeros(len(tasks), dtype=bool)
    for sample in metrics.tasks:
        row = index[sample.task]
        known[row] = sample.cpu is not None
        for column, amount in enumerate((sample.cpu, sample.memory)):
            if amount is not None:
                demand[row, column] = amount
    return known


def _current(request: Request, tasks: tuple[Task, ...]) -> NDArray[np.int64]:
    if not request.assignment:
        return np.full(len(tasks), -1, dtype=np.int64)
    nodes = sorted(request.cluster.nodes, key=lambda node: node.id)
    alive = {(node.id, port): index for index, node in enumerate(nodes) for port in node.slots}
    slots = (request.assignment.get(task.id) for task in tasks)
    return np.array([-1 if slot is None else alive.get((slot.node, slot.port), -1) for slot in slots], dtype=np.int64)


def _slots(request: Request, nodes: list[Node]) -> NDArray[np.int64]:
    """Slots of each node; shared ones count once for each topology, as none finds them taken by another."""
    times = max(len(request.topologies), 1) if request.cluster.shared_slots else 1
    return np.array([times * len(node.slots) for node in nodes], dtype=np.int64)


def _slots_in_use(
    request: Request, tasks: tuple[Task, ...], current: NDArray[np.int64], closed: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Slots of each node in which a closed task runs."""
    used = {(int(current[task]), request.assignment[tasks[task].id].port) for task in np.flatnonzero(closed).tolist()}
    nodes = np.array([node for node, _ in used], dtype=np.int64)
    return np.bincount(nodes, minlength=len(request.cluster.nodes)).astype(np.int64)


def _traffic(
    request: Request, topologies: list[Topology], tasks: tuple[Task, ...], *, measured: bool, unit: str | None = None
) -> traffic.Traffic:
    ranges = _ranges(topologies)
    metrics = request.metrics if measured else Metrics()
    unit = unit or _unit(request.cluster, metrics)
    flows, seen = _flows(metrics, tasks, unit)
    uniform = [_even(stream, unit, ranges) for stream in metrics.streams]
    for topology in topologies:
        if topology.id in seen:
            continue
        rates = stream_rates(topology)
        for stream, rate in zip(topology.streams, rates, strict=True):
            if stream.grouping == LOCAL:
                flows += _paired(stream, rate * _weight(stream, unit), topology.id, ranges)
            else:
                uniform += _uniform(stream, rate * _weight(stream, unit), topology.id, ranges)
    return traffic.build(len(tasks), uniform, flows, unit)


def _transfer(
    request: Request, rates: traffic.Traffic, topologies: list[Topology], tasks: tuple[Task, ...], *, measured: bool
) -> NDArray[np.float64]:
    """CPU points of a unit of traffic where it leaves a node, and where it comes to one; see `Arrays.transfer`."""
    cost = np.array([request.transfer.send, request.transfer.receive])
    if not cost.any() or not rates.total:
        return np.zeros(2)
    tuples = _traffic(request, topologies, tasks, measured=measured, unit="tuples/s")
    each: NDArray[np.float64] = cost * (tuples.total / tuples.scale) / rates.total
    return each


def _ranges(topologies: list[Topology]) -> dict[tuple[str, str], traffic.Range]:
    ranges, start = {}, 0
    for topology in topologies:
        for component in sorted(topology.components, key=lambda each: each.id):
            ranges[topology.id, component.id] = (start, start + component.parallelism)
            start += component.parallelism
    return ranges


def _weight(stream: Stream, unit: str) -> float:
    """Bytes of a tuple where traffic is counted in bytes; a tuple of unknown size counts as `TUPLE_BYTES`."""
    return 1.0 if unit == "tuples/s" else (stream.tuple_bytes or TUPLE_BYTES)


def _uniform(
    stream: Stream, rate: float, topology: str, ranges: dict[tuple[str, str], traffic.Range]
) -> list[tuple[traffic.Range, traffic.Range, float]]:
    senders, receivers = ranges[topology, stream.source], ranges[topology, stream.target]
    if stream.grouping == "global":
        receivers = (receivers[0], min(receivers[0] + 1, receivers[1]))
    n_senders, n_receivers = senders[1] - senders[0], receivers[1] - receivers[0]
    if not n_senders or not n_receivers or rate <= 0:
        return []
    copies = n_receivers if stream.grouping == "all" else 1
    return [(senders, receivers, rate * copies / (n_senders * n_receivers))]


def _paired(
    stream: Stream, rate: float, topology: str, ranges: dict[tuple[str, str], traffic.Range]
) -> list[tuple[int, int, float]]:
    """A stream that stays in its worker where it can: each task sends to its share of the receivers alone.

    So a plan that puts each task beside its share gives the stream what the engine makes of it: nothing leaves, and
    every receiver has as much. Spread over all receivers, all senders could be on one node, and most receivers idle.
    """
    (a0, a1), (b0, b1) = ranges[topology, stream.source], ranges[topology, stream.target]
    senders, receivers = a1 - a0, b1 - b0
    if not senders or not receivers or rate <= 0:
        return []
    # In units of 1 / (senders * receivers), a sender has `receivers` of them, and a receiver `senders`.
    cuts = sorted({*range(0, senders * receivers, receivers), *range(0, senders * receivers, senders)})
    ends = [*cuts[1:], senders * receivers]
    part = rate / (senders * receivers)
    return [
        (a0 + start // receivers, b0 + start // senders, part * (end - start))
        for start, end in zip(cuts, ends, strict=True)
    ]


def _even(
    stream: StreamSample, unit: str, ranges: dict[tuple[str, str], traffic.Range]
) -> tuple[traffic.Range, traffic.Range, float]:
    """A measured stream: as much from every task of the one component to every task of the other."""
    senders, receivers = ranges[stream.topology, stream.source], ranges[stream.topology, stream.target]
    pairs = max((senders[1] - senders[0]) * (receivers[1] - receivers[0]), 1)
    return senders, receivers, ((stream.bytes if unit == "bytes/s" else stream.tuples) or 0.0) / pairs


def _unit(cluster: Cluster, metrics: Metrics) -> str:
    """Unit of traffic: bytes/s if all that was measured has them, or nothing was and some node has a bandwidth."""
    sizes = [flow.bytes for flow in metrics.flows] + [stream.bytes for stream in metrics.streams]
    known = None not in sizes if sizes else any(node.bandwidth is not None for node in cluster.nodes)
    return "bytes/s" if known else "tuples/s"


def _flows(metrics: Metrics, tasks: tuple[Task, ...], unit: str) -> tuple[list[tuple[int, int, float]], set[str]]:
    """Measured flows by task index, and the topologies that measurements cover."""
    index = {task.id: number for number, task in enumerate(tasks)} if metrics.flows else {}
    flows = [
        (index[flow.source], index[flow.target], (flow.bytes if unit == "bytes/s" else flow.tuples) or 0.0)
        for flow in metrics.flows
    ]
    covered = {tasks[source].topology for source, _, _ in flows} | {stream.topology for stream in metrics.streams}
    return flows, covered
