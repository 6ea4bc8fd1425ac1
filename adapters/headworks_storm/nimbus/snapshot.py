"""The snapshot that Nimbus sends with a scheduling round: supervisors, topologies and slots, as values of the model.

Storm schedules executors, ranges of task ids `[start, end]`. The k-th executor of a component, by start, is the
task with index k of the model.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs

from headworks.errors import DocumentError
from headworks.model import (
    Cluster,
    Component,
    Constraint,
    FrozenMap,
    Kind,
    Node,
    Observation,
    Resources,
    Slot,
    Stream,
    Task,
    Topology,
)
from headworks.model.rates import stream_rates
from headworks.model.validate import MAX_AMOUNT
from headworks_storm.nimbus.constraints.translate import constraints_of
from headworks_storm.nimbus.constraints.unread import unread_constraints
from headworks_storm.nimbus.names import renamed, shown
from headworks_storm.nimbus.seating import STREAM, Seating, seating_of
from headworks_storm.nimbus.timing import Timing, seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

VERSION = 1
"""Version of the round protocol. A higher one asks for a newer jar in Nimbus, which otherwise holds."""
CPU, MEMORY = "cpu.pcore.percent", "memory.mb"
ON_HEAP, OFF_HEAP = "onheap.memory.mb", "offheap.memory.mb"
"""Storm's normalised names of resources (`org.apache.storm.Constants`, COMMON_..._RESOURCE_NAME)."""
UNIFORM = 1.0
"""Tuples per second that a spout is assumed to emit before anything is measured, and a bolt for each that it receives
unless a profile knows better; in a topology with a cycle, or a bolt that no spout reaches, those on each stream."""
TIMEOUT = "topology.worker.timeout.secs"
"""Key of a topology's configuration: seconds of silence after which its executors count as dead."""
DESIRED, MINIMUM = "topology.headworks.desired.nodes", "topology.headworks.minimum.nodes"
"""Keys of a topology's configuration: nodes that it would like to use, and nodes that it must have."""

Executor = tuple[int, int]
"""First and last of the task ids that one thread of a worker runs."""


@attrs.frozen(kw_only=True)
class Scheduled:
    """A topology of a round: its model, its executors by the model's task id, and where Nimbus says that they run.

    `unkept` says what of its constraints, and of an order to rebalance, is left out, "" if nothing is. If tasks have
    seats (`seating`), each seat is an executor, and none may move: the worker that it leaves would restart, and the one
    that it joins. Where tasks are shown in place of seats, `idle` has the slots of those that do not work; all else is
    of those that do.

    If components share memory (`shares_memory`), Storm's own scheduler places the executors: the model has no word for
    what a worker or a node needs once. They do not move. `timeout` is the seconds of silence after which Nimbus gives
    its executors up, if the topology says that itself, else 0.
    """

    topology: Topology
    name: str
    executors: FrozenMap[str, Executor]
    assignment: FrozenMap[str, Slot]
    unkept: str = ""
    seating: Seating | None = None
    idle: FrozenMap[str, Slot] = FrozenMap()
    shares_memory: bool = False
    timeout: float = 0.0

    @property
    def unassigned(self) -> tuple[str, ...]:
        """Task ids without a slot."""
        return tuple(task for task in self.executors if task not in self.assignment)


@attrs.frozen(kw_only=True, slots=False)
class Snapshot:
    """One round: which Nimbus asks, how many seconds it waits, its supervisors and topologies.

    A topology that is being killed is still among them. An assignment may name a supervisor or port that is gone.

    Attributes:
        nimbus: Id of the process that asks; another one after a failover.
        round: Its number in the life of that process.
        timeout: Seconds until the bridge gives up and holds.
        nodes: Supervisors, with what they offer in all.
        scheduled: Topologies.
        blacklisted: Ids of supervisors on hosts of Storm's blacklist, which get no new executors.
        resort: Executors for which there is no room elsewhere may start on those all the same.
        timing: Nimbus's own settings of time.
    """

    nimbus: str
    round: int
    timeout: float
    nodes: tuple[Node, ...]
    scheduled: tuple[Scheduled, ...]
    blacklisted: frozenset[str] = frozenset()
    resort: bool = False
    timing: Timing = attrs.field(factory=Timing)

    @cached_property
    def assignment(self) -> FrozenMap[str, Slot]:
        """Slot of every executor that has one, by task id."""
        return FrozenMap({task: slot for each in self.scheduled for task, slot in each.assignment.items()})

    @cached_property
    def unassigned(self) -> tuple[str, ...]:
        """Task ids of executors without a slot."""
        return tuple(task for each in self.scheduled for task in each.unassigned)

    def starting(self, tasks: Iterable[str]) -> float:
        """Seconds after which those of some executors that Nimbus still assigns run for sure.

        Args:
            tasks: Their task ids.
        """
        asked = {task.partition("/")[0] for task in tasks}  # TOPOLOGY/COMPONENT/INDEX
        return self.timing.starting(
            max((each.timeout for each in self.scheduled if each.topology.id in asked), default=0.0)
        )

    @cached_property
    def hosts(self) -> dict[str, str]:
        """Host of each supervisor, by its id."""
        return {node.id: node.hostname for node in self.nodes}

    def opened(self) -> Snapshot:
        """The round with all hosts taken off the blacklist."""
        return attrs.evolve(self, blacklisted=frozenset())

    def observation(self) -> Observation:
        """The same as a monitor reports it, without metrics.

        A blacklisted node offers just what runs there: it keeps its tasks and gets no more. A topology whose components
        share memory, and of which nothing runs, is left out.
        """
        topologies = tuple(each.topology for each in self.scheduled if each.assignment or not each.shares_memory)
        cluster = Cluster(nodes=tuple(map(self._offer, self.nodes)))
        return Observation(cluster=cluster, topologies=topologies, assignment=self.assignment)

    def _offer(self, node: Node) -> Node:
        if node.id not in self.blacklisted:
            return node
        # The model has no word for a blacklist: a node without room and without free slots is one.
        used: dict[str, float] = defaultdict(float)
        ports = set()
        for each in self.scheduled:
            demand = {component.id: component.demand for component in each.topology.components}
            for task, slot in each.assignment.items():
                if slot.node == node.id:
                    ports.add(slot.port)
                    for resource, amount in demand[component_of(task)].items():
                        used[resource] += amount
        return attrs.evolve(node, capacity=Resources(used), slots=tuple(sorted(ports & set(node.slots))))


def component_of(task: str) -> str:
    """The component in a task id."""
    return task.partition("/")[2].rpartition("/")[0]  # TOPOLOGY/COMPONENT/INDEX; a component's id may have a /


def read_snapshot(text: str) -> Snapshot:
    """Read a round as the bridge in Nimbus writes it.

    Raises:
        DocumentError: It is not a round, or one of another version of the protocol.
    """
    try:
        data = json.loads(text)
        if data["v"] != VERSION:
            message = f"the jar in Nimbus speaks version {data['v']} of the round protocol, this Headworks {VERSION}"
            raise DocumentError("/v", f"{message}: give Nimbus the jar of `headworks storm jar`")
        return _snapshot(data)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise DocumentError("", f"this is not a scheduling round of Storm: {error!r}") from None


def _snapshot(data: Mapping[str, Any]) -> Snapshot:
    isolation = data.get("isolation") or {}  # nodes of its own by topology name (isolation.scheduler.machines)
    return Snapshot(
        nimbus=data["nimbus"],
        round=data["round"],
        timeout=data["timeout"] / 1000,  # milliseconds
        nodes=tuple(map(_node, data["supervisors"])),
        scheduled=tuple(_scheduled(each, _nodes(isolation.get(each["name"]))) for each in data["topologies"]),
        blacklisted=frozenset(each["id"] for each in data["supervisors"] if each["blacklisted"]),
        resort=data.get("resort") is True,  # a jar of before refuses such an answer
        timing=Timing.of(data.get("settings") or {}),
    )


def _node(data: Mapping[str, Any]) -> Node:
    return Node(
        id=data["id"],
        host=data["host"],
        rack=data["rack"],
        slots=tuple(sorted(data["ports"])),
        capacity=_left(_resources(data["resources"]), _resources(data.get("beside") or {})),
        machine_type=data.get("machine"),
        bandwidth=_rate(data.get("bandwidth")),
    )


def _left(offered: Resources, beside: Resources) -> Resources:
    """What a supervisor offers to executors, without what Storm counts there beside what they ask for."""
    return Resources({name: max(amount - beside.get(name, 0.0), 0.0) for name, amount in offered.items()})


def _rate(said: str | None) -> float | None:
    """Bytes/s that an operator wrote; None for what is no such number."""
    try:
        found = float(said or "")
    except ValueError:
        return None
    return found if 0 < found < math.inf else None


def _scheduled(data: Mapping[str, Any], isolated: int | None) -> Scheduled:
    # A component without executors has no task, and the model no stream to or from it.
    components = [each for each in data["components"] if each["executors"]]
    names = shown(each["id"] for each in components)
    conf = data["conf"]
    shares_memory = data.get("shares_memory") is True
    seating, constraints = seating_of(conf, components, names), constraints_of(conf, names.keys())
    unkept = [unread_constraints(conf, names.keys())]
    unkept += [seating.unkept(data["name"], data["workers"])] if seating is not None else []
    components = renamed(components, names)
    streams = (_stream(each["id"], item) for each in components for item in each["inputs"])
    topology = Topology(
        id=data["id"],
        components=tuple(_component(each, movable=seating is None and not shares_memory) for each in components),
        streams=tuple(each for each in streams if seating is None or each.name != STREAM),
        owner=data["owner"],
        priority=data["priority"],
        workers=max(0, data["workers"]),
        worker_heap=None if data["heap"] is None else _amount(data["heap"]),
        name=data["name"],
        # The thesis's desired number is what Storm calls the machines of an isolated topology.
        desired_nodes=_nodes(conf.get(DESIRED), isolated),
        minimum_nodes=_nodes(conf.get(MINIMUM)),
        isolated_nodes=isolated,
        constraints=tuple(_by_names(each, names) for each in constraints),
    )
    topology = _assumed(topology)
    pairs = [(task, pair) for each in components for task, pair in _executors(data["id"], each)]
    slots = [Slot(node, port) for node, port in data["slots"]]
    # One index into the slots for each executor, in the order of the components; -1 has none.
    placed = {task: slots[at] for (task, _), at in zip(pairs, data["assignment"], strict=True) if at >= 0}
    return Scheduled(
        topology=topology,
        name=data["name"],
        executors=FrozenMap(dict(pairs)),
        assignment=FrozenMap(placed),
        unkept="; ".join(filter(None, unkept)),
        seating=seating,
        shares_memory=shares_memory,
        timeout=seconds(conf.get(TIMEOUT)),
    )


def _by_names(constraint: Constraint, names: Mapping[str, str]) -> Constraint:
    return attrs.evolve(constraint, components=tuple(names[each] for each in constraint.components))


def _nodes(value: Any, default: int | None = None) -> int | None:
    """A number of nodes that somebody wrote down; a mistake in one must not stop the rounds of all."""
    return value if type(value) is int and 0 <= value <= MAX_AMOUNT else default


def _executors(topology: str, component: Mapping[str, Any]) -> list[tuple[str, Executor]]:
    flat = component["executors"]  # start, end, start, end, ..., by start
    pairs = zip(flat[::2], flat[1::2], strict=True)
    return [(Task(topology, component["id"], index).id, pair) for index, pair in enumerate(pairs)]


def _component(data: Mapping[str, Any], *, movable: bool) -> Component:
    return Component(
        id=data["id"],
        kind=Kind.SPOUT if data["type"] == "spout" else Kind.BOLT,
        parallelism=len(data["executors"]) // 2,
        demand=_resources(data["resources"]),
        heap=_amount(data["resources"].get(ON_HEAP, 0.0)),
        rate=UNIFORM if data["type"] == "spout" else None,
        movable=movable,
    )


def _assumed(topology: Topology) -> Topology:
    """The topology with a rate on each stream where what its spouts emit does not give it one."""
    try:
        known = all(stream_rates(topology))
    except DocumentError:  # a cycle
        known = False
    if known:
        return topology
    return attrs.evolve(topology, streams=tuple(attrs.evolve(each, rate=UNIFORM) for each in topology.streams))


def _stream(target: str, item: Sequence[str]) -> Stream:
    source, name, grouping = item
    return Stream(source=source, target=target, name=name, grouping=grouping)


def _resources(amounts: Mapping[str, float]) -> Resources:
    """Storm's names in the model's: CPU points are the same; a task's memory is on and off the heap.

    Nimbus says 0 of every further resource that some other component asks for.
    """
    left = {name: _amount(amount) for name, amount in amounts.items()}
    memory = left.pop(ON_HEAP, 0.0) + left.pop(OFF_HEAP, 0.0) + left.pop(MEMORY, 0.0)
    cpu = left.pop(CPU, 0.0)
    amounts = {"cpu": cpu, "memory": memory} | left
    return Resources({name: _amount(each) for name, each in amounts.items() if each or name in ("cpu", "memory")})


def _amount(said: Any) -> float:
    """An amount that the model takes: what one topology asks for beyond it is nowhere, and must not stop the others.

    Less than nothing, and what is no number (NaN comes as a text), is nothing.
    """
    known = isinstance(said, int | float) and said > 0
    return float(min(said, MAX_AMOUNT)) if known else 0.0
