"""Requests to schedulers, workloads that make some, observations of monitors, and the metrics in both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from headworks.model.cluster import Cluster, Slot
from headworks.model.topology import Topology
from headworks.model.values import FrozenMap


@attrs.frozen(kw_only=True)
class TaskSample:
    """One task: CPU in points, memory and state in MB, tuples per second in and out, tuples waiting in its queue.

    `state` has to be loaded by another node before the task can run there.

    `source` names how `cpu` was measured (`jvm`, `python_process_time`, `thread`, `declared`, ...).
    """

    task: str
    cpu: float | None = None
    memory: float | None = None
    received: float | None = None
    emitted: float | None = None
    queue: float | None = None
    source: str = ""
    state: float | None = None


@attrs.frozen(kw_only=True)
class Flow:
    """The stream from one task to another: tuples per second and bytes per second (None if not measured)."""

    source: str
    target: str
    tuples: float | None = None
    bytes: float | None = None


@attrs.frozen(kw_only=True)
class StreamSample:
    """One stream, evenly spread: every task of the source sends as much to every task of the target.

    Tuples per second and bytes per second (None if not measured) of all its pairs of tasks together.
    """

    topology: str
    source: str
    target: str
    tuples: float | None = None
    bytes: float | None = None


@attrs.frozen(kw_only=True)
class NodeSample:
    """One node: CPU in points and memory in MB in use, by anything that runs there.

    `speed` is the speed of its cores relative to the fastest node.
    """

    node: str
    cpu: float | None = None
    memory: float | None = None
    source: str = ""
    speed: float | None = attrs.field(default=None, metadata={"least": 0.01, "most": 1})


@attrs.frozen(kw_only=True)
class TopologySample:
    """One topology: tuples per second offered to it and completed, complete latency in milliseconds.

    `interval` is the time from one batch to the next in seconds, if it works in batches.
    """

    topology: str
    offered: float | None = None
    throughput: float | None = None
    latency: float | None = None
    source: str = ""
    interval: float | None = None


@attrs.frozen(kw_only=True)
class Metrics:
    """One window of measurement, averaged over `window` seconds.

    If a topology has any flow or stream, it is taken as measured: pairs of its tasks without one exchange nothing. A
    pair exchanges its flow and its share of the stream.
    """

    window: float = 0.0
    tasks: tuple[TaskSample, ...] = ()
    flows: tuple[Flow, ...] = ()
    nodes: tuple[NodeSample, ...] = ()
    topologies: tuple[TopologySample, ...] = ()
    streams: tuple[StreamSample, ...] = ()


@attrs.frozen(kw_only=True)
class Profile:
    """Cost of a component on a machine type: CPU = e * rate + met (heterogeneity paper, Eq. 5).

    `e` is in percent-seconds per tuple, `met` in percent of the machine. `alpha` replaces the stated selectivity of a
    bolt, unless it is None. A spout emits at its rate and has none, or 1.
    """

    topology: str
    component: str
    machine_type: str
    e: float
    met: float = 0.0
    alpha: float | None = None


@attrs.frozen(kw_only=True)
class TransferCost:
    """CPU that a tuple costs on its way to another node, beyond its cost within a worker.

    In percent-seconds of a core a tuple; one is 10 ms.

    Attributes:
        send: In the thread of the sending task, so measurements of the task contain it.
        receive: On the receiving node, in none of its tasks.
    """

    send: float = 0.0
    receive: float = 0.0


FILL = 0.8
"""`Limits.fill` of everything that runs: a node that is full never catches up with a backlog."""
FILL_DEADLINES = 2.3
"""Times `Limits.deadline` that all plans together may take where `Limits.fill` cannot be kept."""


@attrs.frozen(kw_only=True)
class Limits:
    """Limits of one round.

    Attributes:
        deadline: Seconds to plan.
        max_moves: Running tasks that may move; None is any.
        slowdown: Longest batch of a sequential topology, as a multiple of its time if each task ran on the core that is
            free first, as under the engine's own scheduler; None is any. Running batches that are slower may stay.
        fill: Share of each node's CPU to plan for, if that holds every task; None is all of it. Nothing moves for a
            running assignment that is a little above it.
        restarts: Whether running workers may restart. If not, none of their tasks moves and no task joins them, except
            in topologies whose tasks move `live`. Other tasks go into free slots.
    """

    deadline: float = attrs.field(default=5.0, metadata={"help": "Seconds of CPU to plan.", "above": 0})
    max_moves: int | None = attrs.field(
        default=None, metadata={"help": "Running tasks that may move in a round.", "least": 0}
    )
    restarts: bool = True
    slowdown: float | None = attrs.field(
        default=1.0,
        metadata={"help": "Longest batch, as a multiple of its time under the engine's own scheduler.", "least": 1},
    )
    fill: float | None = attrs.field(
        default=None,
        metadata={
            "help": "Share of each node's CPU to plan for, if tasks fit.",
            "above": 0,
            "most": 1,
            "default": FILL,
        },
    )


@attrs.frozen(kw_only=True)
class Observation:
    """The state of an engine as a monitor saw it: nodes, topologies, places of tasks, measurements.

    `profiles` and `transfer` come from the engine's own description or from learned knowledge. `notes` are sentences
    for people; no scheduler decides by them.
    """

    cluster: Cluster = Cluster()
    topologies: tuple[Topology, ...] = ()
    assignment: FrozenMap[str, Slot] = FrozenMap()
    metrics: Metrics = Metrics()
    profiles: tuple[Profile, ...] = ()
    notes: tuple[str, ...] = ()
    transfer: TransferCost = TransferCost()


@attrs.frozen(kw_only=True)
class Request:
    """The input of a scheduler. `assignment` maps the ids of running tasks to their slots."""

    cluster: Cluster = Cluster()
    topologies: tuple[Topology, ...] = ()
    assignment: FrozenMap[str, Slot] = FrozenMap()
    metrics: Metrics = Metrics()
    profiles: tuple[Profile, ...] = ()
    limits: Limits = Limits()
    seed: int = 0
    transfer: TransferCost = TransferCost()
    views: dict[bool, Any] = attrs.field(init=False, eq=False, repr=False, factory=dict)
    """Array views made of it, by whether measurements count; kept by `headworks.problem.Problem.of`."""

    @classmethod
    def of(cls, observation: Observation, *, limits: Limits | None = None, seed: int = 0) -> Request:
        """Make the request of an observation."""
        return cls(
            cluster=observation.cluster,
            topologies=observation.topologies,
            assignment=observation.assignment,
            metrics=observation.metrics,
            profiles=observation.profiles,
            transfer=observation.transfer,
            limits=limits or Limits(),
            seed=seed,
        )


@attrs.frozen(kw_only=True)
class Workload:
    """A named request to try schedulers on.

    Attributes:
        build: Makes the request.
        details: Facts that the request cannot hold and an engine needs to run it for real, by the engine's own keys.
    """

    name: str
    summary: str
    build: Callable[[], Request]
    details: Mapping[str, Any] = attrs.field(factory=dict)
