"""Validation of a request: an amount, id or reference that contradicts itself is refused with a pointer."""

from __future__ import annotations

import reprlib
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import attrs

from headworks.errors import DocumentError, pointer
from headworks.model import ConstraintKind, Kind, NodeSample, Slot
from headworks.model.rates import depths, stream_rates
from headworks.model.topology import COUNTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headworks.model import Component, Constraint, Limits, Request, Topology

MAX_TASKS = 500_000
"""More tasks than this in one request are taken for a mistake."""

MAX_NODES = 200_000
"""So are more nodes."""

MAX_AMOUNT = 1e15
"""So is a larger amount; sums of whole amounts up to here are exact in float64."""

MAX_AMOUNTS = 4_000_000
"""So are more amounts, when each task and each node has one of each resource: algorithms compute on such arrays."""

MAX_CHARACTERS = 50_000_000
"""So are more characters in the ids of all tasks, each of which has those of its topology and its component."""

MAX_LABELS = 1_000
"""So are more labels of one node or of one constraint; a machine has some ten."""

GROUPINGS = frozenset(
    {"shuffle", "fields", "local-or-shuffle", "partial-key", "all", "global", "direct", "none", "custom"}
)

JOINERS = {0x200C: "_", 0x200D: "_"}
"""Characters that Python does not call printable and that words need: the joiners of Persian and of Indian scripts."""

NODE_LABELS = frozenset({"node", "host", "rack", "zone", "machine_type"})
"""Names of labels that stand for a node's own fields."""


def check_request(request: Request) -> None:
    """Refuse a request that contradicts itself.

    Raises:
        DocumentError: An id that is empty, an id, a stream or a profile that stands twice, an unknown id, an amount
            that is negative, NaN or above `MAX_AMOUNT`, a limit beyond its bounds, a cycle without a rate, more than
            `MAX_TASKS` tasks or `MAX_AMOUNTS` amounts; the pointer names the first place found. Tasks may be assigned
            to nodes that are not there: see `check_places`.
    """
    _unique((node.id for node in request.cluster.nodes), "node", "cluster", "nodes")
    for index, node in enumerate(request.cluster.nodes):
        where = ("cluster", "nodes", index)
        _id(node.id, *where, "id")
        _amounts(node.capacity.items(), *where, "capacity")
        _amount(node.price, *where, "price")
        _amount(node.bandwidth, *where, "bandwidth")
        _unique(node.slots, "slot", *where, "slots")
        for name in node.labels:
            if name in NODE_LABELS:
                raise DocumentError(pointer(*where, "labels", name), f"{name!r} is a field of the node: state it there")
    _unique((topology.id for topology in request.topologies), "topology", "topologies")
    for index, topology in enumerate(request.topologies):
        _check_topology(topology, index)
    _check_amounts(request, check_size(request))
    _check_references(request)
    _check_profiles(request)
    _check_limits(request.limits)
    _amount(request.metrics.window, "metrics", "window")
    _amount(request.transfer.send, "transfer", "send")
    _amount(request.transfer.receive, "transfer", "receive")


def _check_limits(limits: Limits) -> None:
    """Refuse a limit that is beyond the bounds that its field states, as settings of the command line are."""
    for field in attrs.fields(type(limits)):
        value = getattr(limits, field.name)
        if value is not None and field.metadata:
            _amount(value, "limits", field.name)
            _bounds(value, field.metadata, "limits", field.name)


def _bounds(value: float, stated: Mapping[str, Any], *where: str | int) -> None:
    above, least, most = (stated.get(name) for name in ("above", "least", "most"))
    said = f"{value!r} is out of bounds: {{}} is needed"
    if above is not None and value <= above:
        raise DocumentError(pointer(*where), said.format(f"more than {above}"))
    if least is not None and value < least:
        raise DocumentError(pointer(*where), said.format(f"{least} or more"))
    if most is not None and value > most:
        raise DocumentError(pointer(*where), said.format(f"at most {most}"))


def check_counts(data: Any) -> None:
    """Refuse plain data with more parts than a request may have, before values are made of them.

    Args:
        data: What is to become a request or an observation; nothing is known of it yet.

    Raises:
        DocumentError: With a pointer to what is one too many.
    """
    nodes, total = _list(_part(data, "cluster"), "nodes"), 0
    if len(nodes) > MAX_NODES:
        said = f"{len(nodes)} nodes, at most {MAX_NODES} are taken"
        raise DocumentError(pointer("cluster", "nodes", MAX_NODES), said)
    for index, node in enumerate(nodes):
        _check_labels(node, "cluster", "nodes", index)
    for index, topology in enumerate(_list(data, "topologies")):
        parts = _list(topology, "components")
        if total + len(parts) > MAX_TASKS:
            where = pointer("topologies", index, "components", MAX_TASKS - total)
            raise DocumentError(where, f"{total + len(parts)} components so far, at most {MAX_TASKS} tasks are taken")
        total += len(parts)
        for number, constraint in enumerate(_list(topology, "constraints")):
            _check_labels(constraint, "topologies", index, "constraints", number)
    check_assigned(data, min(_tasks(data), MAX_TASKS))


def check_assigned(data: Any, tasks: int = MAX_TASKS) -> None:
    """Refuse plain data that assign more tasks than there are, before values are made of them.

    Raises:
        DocumentError: With a pointer to the last of them.
    """
    assigned = _part(data, "assignment")
    if isinstance(assigned, dict) and len(assigned) > tasks:
        said = f"{len(assigned)} tasks are assigned, and there are {tasks}"
        raise DocumentError(
            pointer("assignment", next(reversed(assigned))), said if tasks < MAX_TASKS else f"{said} at most"
        )


def _check_labels(data: Any, *where: str | int) -> None:
    labels = _part(data, "labels")
    if isinstance(labels, dict) and len(labels) > MAX_LABELS:
        raise DocumentError(pointer(*where, "labels"), f"{len(labels)} labels, at most {MAX_LABELS} are taken")


def _tasks(data: Any) -> int:
    """The tasks of plain data; as many as may be where what it says is not a number of tasks."""
    topologies = data.get("topologies", []) if isinstance(data, dict) else []
    if not isinstance(topologies, list) or not all(isinstance(_part(each, "components"), list) for each in topologies):
        return MAX_TASKS
    parts = [part for each in topologies for part in _list(each, "components")]
    numbers = [part.get("parallelism", 1) if isinstance(part, dict) else 0 for part in parts]
    return sum(numbers) if all(isinstance(each, int) and each >= 1 for each in numbers) else MAX_TASKS


def _part(data: Any, key: str) -> Any:
    return data.get(key) if isinstance(data, dict) else None


def _list(data: Any, key: str) -> list[Any]:
    found = _part(data, key)
    return found if isinstance(found, list) else []


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
    names = {component.id for component in topology.components}
    for number, constraint in enumerate(topology.constraints):
        _check_constraint(constraint, names, topology.id, *where, "constraints", number)


def _check_constraint(constraint: Constraint, names: set[str], topology: str, *at: str | int) -> None:
    for index, name in enumerate(constraint.components):
        _known(name, names, f"component of {topology!r}", *at, "components", index)
    _unique(constraint.components, "component", *at, "components")
    _amount(constraint.weight, *at, "weight")
    kind, limit = constraint.kind, constraint.limit
    if kind is ConstraintKind.AT_MOST and (limit is None or limit < 1):
        raise DocumentError(pointer(*at, "limit"), f"{limit!r} is no limit: at_most needs a whole number of 1 or more")
    if kind is not ConstraintKind.AT_MOST and limit is not None:
        raise DocumentError(pointer(*at, "limit"), f"{kind} takes no limit; at_most does")
    if kind in COUNTED and constraint.labels:
        raise DocumentError(pointer(*at, "labels"), f"{kind} takes no labels; only_on, never_on and prefer do")
    if kind not in COUNTED and not constraint.labels:
        raise DocumentError(pointer(*at, "labels"), f"{kind} needs labels")
    for name, values in constraint.labels.items():
        if not values:
            raise DocumentError(pointer(*at, "labels", name), f"label {name!r} has no value")


def _check_components(topology: Topology, *where: str | int) -> None:
    _unique((component.id for component in topology.components), "component", *where, "components")
    for number, part in enumerate(topology.components):
        if _is_sound(part):
            continue  # pointers to the parts of half a million sound components would be most of the time
        at = (*where, "components", number)
        _id(part.id, *at, "id")
        _amounts(part.demand.items(), *at, "demand")
        for name in ("heap", "rate", "selectivity", "parallelism", "min_parallelism", "max_parallelism"):
            _amount(getattr(part, name), *at, name)
        if not 1 <= part.threads <= MAX_AMOUNT:
            said = f"{part.threads!r} is not a number of threads: a whole number of 1 or more is needed"
            raise DocumentError(pointer(*at, "threads"), said)
        if part.min_parallelism is not None and part.max_parallelism is not None:
            least, most = part.min_parallelism, part.max_parallelism
            if least > most:
                said = f"{part.id!r} has {least} tasks at least and {most} at most"
                raise DocumentError(pointer(*at, "max_parallelism"), said)


def _is_sound(part: Component) -> bool:
    heap, rate = part.heap, part.rate  # absent for most, and half a million calls are a tenth of a second
    return (
        is_id(part.id)
        and (heap is None or _is_amount(heap))
        and (rate is None or _is_amount(rate))
        and _is_amount(part.selectivity)
        and _is_amount(part.parallelism)
        and part.min_parallelism is None
        and part.max_parallelism is None
        and part.threads == 1
        and (not part.demand or all(map(_is_amount, part.demand.values())))
    )


def _check_streams(topology: Topology, *where: str | int) -> None:
    names = {component.id for component in topology.components}
    _unique(map(attrgetter("source", "target", "name"), topology.streams), "stream", *where, "streams")
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
    if topology.sequential:
        depths(topology, pointer(*where))


def check_size(request: Request) -> int:
    """Refuse more than `MAX_TASKS` tasks, before anything is made of them; else how many there are.

    Raises:
        DocumentError: With a pointer to the component that is one too many.
    """
    total = characters = 0
    for index, topology in enumerate(request.topologies):
        for number, part in enumerate(topology.components):
            total += part.parallelism
            characters += part.parallelism * (len(topology.id) + len(part.id))
            if total > MAX_TASKS:
                where = pointer("topologies", index, "components", number, "parallelism")
                raise DocumentError(where, f"{total} tasks so far, at most {MAX_TASKS} are taken; lower it")
            if characters > MAX_CHARACTERS:
                where = pointer("topologies", index, "components", number, "id")
                said = (
                    f"the ids of {total} tasks so far have {characters} characters, at most {MAX_CHARACTERS} are taken"
                )
                raise DocumentError(where, f"{said}; shorten it")
    return total


def _check_amounts(request: Request, tasks: int) -> None:
    """Refuse more names of resources than arrays of all tasks and nodes have room for."""
    nodes = request.cluster.nodes
    parts = (part.demand for topology in request.topologies for part in topology.components)
    names = {name for amounts in (*(node.capacity for node in nodes), *parts) for name in amounts}
    if len(names) * (tasks + len(nodes)) > MAX_AMOUNTS:
        raise DocumentError(
            pointer("cluster"),
            f"{len(names)} resources of {len(nodes)} nodes and {tasks} tasks are {len(names) * (tasks + len(nodes))}"
            f" amounts, at most {MAX_AMOUNTS} are taken; name fewer resources",
        )


def _check_references(request: Request) -> None:
    metrics = request.metrics
    samples = (metrics.tasks, metrics.flows, metrics.nodes, metrics.topologies, metrics.streams)
    if not request.assignment and not any(samples):
        return
    tasks = {task.id for topology in request.topologies for task in topology.tasks()}
    nodes = {node.id for node in request.cluster.nodes}
    topologies = {topology.id for topology in request.topologies}
    for task in request.assignment:
        _known(task, tasks, "task", "assignment", task)
    _samples(metrics.tasks, "task", tasks, ("cpu", "memory", "received", "emitted", "queue", "state"), "tasks")
    _samples(metrics.nodes, "node", nodes, ("cpu", "memory", "speed"), "nodes")
    for index, sample in enumerate(metrics.nodes):
        if sample.speed is not None:
            _bounds(sample.speed, attrs.fields(NodeSample).speed.metadata, "metrics", "nodes", index, "speed")
    _samples(metrics.topologies, "topology", topologies, ("offered", "throughput", "latency", "interval"), "topologies")
    flows = () if _are_sound(metrics.flows, ("source", "target"), tasks, ("tuples", "bytes")) else metrics.flows
    for index, flow in enumerate(flows):
        for end in ("source", "target"):
            _known(getattr(flow, end), tasks, "task", "metrics", "flows", index, end)
        _amount(flow.tuples, "metrics", "flows", index, "tuples")
        _amount(flow.bytes, "metrics", "flows", index, "bytes")
    _check_streams_seen(request)


def _check_streams_seen(request: Request) -> None:
    parts = {topology.id: {part.id for part in topology.components} for topology in request.topologies}
    for index, stream in enumerate(request.metrics.streams):
        where = ("metrics", "streams", index)
        _known(stream.topology, parts, "topology", *where, "topology")
        for end in ("source", "target"):
            _known(getattr(stream, end), parts[stream.topology], f"component of {stream.topology!r}", *where, end)
        _amount(stream.tuples, *where, "tuples")
        _amount(stream.bytes, *where, "bytes")


def _check_profiles(request: Request) -> None:
    parts = {(topology.id, part.id): part.kind for topology in request.topologies for part in topology.components}
    _unique(map(attrgetter("topology", "component", "machine_type"), request.profiles), "profile", "profiles")
    for index, profile in enumerate(request.profiles):
        if (profile.topology, profile.component) not in parts:
            message = f"topology {profile.topology!r} has no component {profile.component!r}"
            raise DocumentError(pointer("profiles", index), message)
        for name in ("e", "met", "alpha"):
            _amount(getattr(profile, name), "profiles", index, name)
        if profile.alpha not in {None, 1} and parts[profile.topology, profile.component] is Kind.SPOUT:
            message = f"{profile.component!r} is a spout, which emits at its rate: leave alpha out, or state the rate"
            raise DocumentError(pointer("profiles", index, "alpha"), message)


def _samples(samples: tuple[object, ...], subject: str, known: set[str], amounts: tuple[str, ...], name: str) -> None:
    _unique((getattr(sample, subject) for sample in samples), subject, "metrics", name)
    if _are_sound(samples, (subject,), known, amounts):
        return
    for index, sample in enumerate(samples):
        _known(getattr(sample, subject), known, subject, "metrics", name, index, subject)
        for amount in amounts:
            _amount(getattr(sample, amount), "metrics", name, index, amount)


def _are_sound(
    samples: tuple[object, ...], subjects: tuple[str, ...], known: set[str], amounts: tuple[str, ...]
) -> bool:
    """Check field by field; pointers to those of all flows would be most of the time."""
    return all(known.issuperset(map(attrgetter(name), samples)) for name in subjects) and all(
        all(map(_is_amount, map(attrgetter(name), samples))) for name in amounts
    )


def _unique(names: Iterable[object], what: str, *where: str | int) -> None:
    names, seen = tuple(names), set[object]()
    if len(set(names)) == len(names):
        return
    for index, name in enumerate(names):
        if name in seen:
            raise DocumentError(pointer(*where, index), f"{what} {name!r} is named twice")
        seen.add(name)


def is_id(text: str) -> bool:
    """Check whether a text can be an id: it can be shown, and it is not empty."""
    return bool(text) and (text.isprintable() or text.translate(JOINERS).isprintable())


def _id(text: str, *where: str | int) -> None:
    if not is_id(text):
        raise DocumentError(
            pointer(*where), f"{reprlib.repr(text)} is not an id: it is empty or has a character that cannot be shown"
        )


def _known(name: str, known: Iterable[str], what: str, *where: str | int) -> None:
    if name not in known:
        raise DocumentError(pointer(*where), f"{name!r} is not a {what}")


def _amounts(amounts: Iterable[tuple[str, float]], *where: str | int) -> None:
    for name, amount in amounts:
        _amount(amount, *where, name)


def _amount(amount: float | None, *where: str | int) -> None:
    if not _is_amount(amount):
        raise DocumentError(pointer(*where), f"{amount!r} is not an amount: a number of 0 to {MAX_AMOUNT:g} is needed")


def _is_amount(amount: float | None) -> bool:
    return amount is None or (isinstance(amount, int | float) and 0 <= amount <= MAX_AMOUNT)
