"""Topologies: components, the streams between them, and constraints on where tasks run."""

from __future__ import annotations

import enum

import attrs

from headworks.model.values import FrozenMap, Resources


class ConstraintKind(enum.StrEnum):
    """Kind of a constraint."""

    TOGETHER = "together"
    """All tasks of the components are in one domain."""
    APART = "apart"
    """No domain holds tasks of two of the components; of a single component, no two tasks."""
    AT_MOST = "at_most"
    """No domain holds more than `limit` tasks of the components, counted together."""
    ONLY_ON = "only_on"
    """Tasks of the components run on nodes with the labels alone."""
    NEVER_ON = "never_on"
    """Tasks of the components run on no node with the labels."""
    PREFER = "prefer"
    """`only_on` that is always soft."""


class Scope(enum.StrEnum):
    """Domain within which tasks are counted. Nodes without a rack, or without a zone, share one that has no name."""

    NODE = "node"
    HOST = "host"
    RACK = "rack"
    ZONE = "zone"
    WORKER = "worker"


COUNTED = frozenset({ConstraintKind.TOGETHER, ConstraintKind.APART, ConstraintKind.AT_MOST})
"""Kinds that count tasks in domains; the others look at labels."""


@attrs.frozen(kw_only=True)
class Constraint:
    """A placement constraint on the tasks of some components of one topology.

    A node has the labels of a constraint if each name has one of the given values there. The names `node` (its id),
    `host`, `rack`, `zone` and `machine_type` stand for the node's own fields.

    Attributes:
        components: Ids of the components; empty means every component of the topology.
        scope: Domain of `together`, `apart` and `at_most`.
        limit: Tasks that one domain may hold, for `at_most` alone.
        labels: Values by label name, for `only_on`, `never_on` and `prefer`.
        hard: Whether no plan may break it. A soft one is kept if there is room.
        weight: Weight of each task that breaks a soft one; heavier ones are kept first.
    """

    kind: ConstraintKind
    components: tuple[str, ...] = ()
    scope: Scope = Scope.NODE
    limit: int | None = None
    labels: FrozenMap[str, tuple[str, ...]] = FrozenMap()
    hard: bool = True
    weight: float = 1.0

    @property
    def is_hard(self) -> bool:
        """True if no plan may break it."""
        return self.hard and self.kind is not ConstraintKind.PREFER

    @property
    def key(self) -> tuple[object, ...]:
        """Sort key: what a constraint says, whatever the order in which its components and values are given."""
        labels = tuple(sorted((name, tuple(sorted(values))) for name, values in self.labels.items()))
        parts = tuple(sorted(self.components))
        return self.kind, self.scope, parts, self.limit or 0, labels, self.hard, self.weight

    def __str__(self) -> str:
        names = ", ".join(sorted(self.components)) or "all components"
        wanted = " and ".join(f"{name}={'|'.join(sorted(values))}" for name, values in sorted(self.labels.items()))
        match self.kind:
            case ConstraintKind.TOGETHER:
                return f"{names} together on one {self.scope}"
            case ConstraintKind.APART:
                return f"{names} apart on every {self.scope}"
            case ConstraintKind.AT_MOST:
                return f"at most {self.limit} of {names} a {self.scope}"
            case ConstraintKind.ONLY_ON:
                return f"{names} only on {wanted}"
            case ConstraintKind.NEVER_ON:
                return f"{names} never on {wanted}"
            case _:
                return f"{names} preferably on {wanted}"


CORE = 100.0
"""CPU points of one core."""


class Kind(enum.StrEnum):
    """Kind of a component."""

    SPOUT = "spout"
    BOLT = "bolt"


@attrs.frozen(kw_only=True)
class Component:
    """A spout or a bolt (a source or an operator).

    Attributes:
        parallelism: Number of tasks.
        demand: Declared need of *one task*.
        heap: MB of its worker's heap that one task needs; by default its memory demand.
        rate: Tuples per second that a spout emits, all tasks together; None if unknown.
        selectivity: Tuples emitted for each tuple received.
        movable: Whether a scheduler may move its running tasks.
        min_parallelism: Fewest tasks that it can have while it runs; None is no bound. `max_parallelism`: the most. A
            scheduler keeps within these bounds, and an executor ignores numbers beyond them.
        threads: Threads of *one task*, each of which uses one core at most: 1, or more if it has a pool.
    """

    id: str
    kind: Kind = Kind.BOLT
    parallelism: int = 1
    demand: Resources = Resources()
    heap: float | None = None
    rate: float | None = None
    selectivity: float = 1.0
    movable: bool = True
    min_parallelism: int | None = None
    max_parallelism: int | None = None
    threads: int = 1

    @property
    def thread_points(self) -> float:
        """CPU points that one task can use: one core for each thread."""
        return CORE * self.threads

    @property
    def task_heap(self) -> float:
        """MB of worker heap that one task needs."""
        return self.demand.memory if self.heap is None else self.heap


LOCAL = "local-or-shuffle"
"""Grouping of a stream that a task sends to tasks of its own worker where there are any."""


@attrs.frozen(kw_only=True)
class Stream:
    """The tuples that one component sends to another.

    Attributes:
        grouping: `shuffle`, `fields`, `partial-key` (spread over the target's tasks), `local-or-shuffle` (spread over
            those in the sender's worker, where there are any), `all` (every tuple to every task), `global` (all tuples
            to the lowest task), `direct`.
        fanout: `copy` sends each tuple that the source emits down this stream as well as every other (Storm);
            `split` shares the source's output evenly with its other `split` streams.
        rate: Tuples per second on this stream; computed from spout rates and selectivities if absent.
        tuple_bytes: Bytes of one tuple on the wire, where known.
    """

    source: str
    target: str
    name: str = "default"
    grouping: str = "shuffle"
    fanout: str = "copy"
    rate: float | None = None
    tuple_bytes: float | None = None


TUPLE_BYTES = 100.0
"""Bytes of a tuple whose stream states none, on every engine."""


@attrs.frozen(order=True)
class Task:
    """The schedulable unit: a Storm executor (index = its first task) or a Spark partition."""

    topology: str
    component: str
    index: int

    @property
    def id(self) -> str:
        """`topology/component/index`, the name of the task in every document."""
        return f"{self.topology}/{self.component}/{self.index}"


@attrs.frozen(kw_only=True)
class Topology:
    """A streaming application.

    Attributes:
        name: Its name, the same when it is submitted again under another id; None if the engine has no such name.
        owner: Who submitted it.
        priority: Lower numbers are more important (Storm).
        workers: Worker processes asked for (`topology.workers`).
        worker_heap: MB of heap that one worker process may have; None means no limit.
        desired_nodes: Nodes that it would like to use. `minimum_nodes`: nodes that it must have.
        isolated_nodes: Hosts to keep for this topology alone (`isolation.scheduler.machines`); None shares.
        constraints: Rules on the places of its tasks.
        sequential: Whether it works in batches, as on Spark: tasks of a component begin when all tasks that it reads
            from have ended. A batch is as long as the slowest node of each stage, stage after stage.
        live: Whether its tasks move between its workers without a restart.
    """

    id: str
    components: tuple[Component, ...] = ()
    streams: tuple[Stream, ...] = ()
    name: str | None = None
    owner: str | None = None
    priority: int = 0
    workers: int = 1
    worker_heap: float | None = None
    desired_nodes: int | None = None
    minimum_nodes: int | None = None
    isolated_nodes: int | None = None
    constraints: tuple[Constraint, ...] = ()
    sequential: bool = False
    live: bool = False

    @property
    def claims_nodes(self) -> bool:
        """True if it asks for nodes: as many as it would like, must have, or is to have alone."""
        return any(each is not None for each in (self.desired_nodes, self.minimum_nodes, self.isolated_nodes))

    def tasks(self) -> tuple[Task, ...]:
        """Every task, by component id and index: the order of indices in all arrays."""
        return tuple(
            Task(self.id, component.id, index)
            for component in sorted(self.components, key=lambda each: each.id)
            for index in range(component.parallelism)
        )
