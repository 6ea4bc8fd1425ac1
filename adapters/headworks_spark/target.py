"""The handle of a placed Spark application, which monitor and executor are given as `target`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import attrs

from headworks.errors import EngineError
from headworks.model import FrozenMap, Metrics, Request, Resources, Slot, Task, Topology
from headworks.model.scaling import declared_from_measured
from headworks_spark.brokers import Brokers
from headworks_spark.driver.session import NOT_OURS
from headworks_spark.placement.lease import Lease
from headworks_spark.placement.table import PlacementTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headworks_spark.events.event import TaskEnd
    from headworks_spark.events.history import Job
    from headworks_spark.events.recorder import EventRecorder
    from headworks_spark.placement.table import Place

PORT = 0
"""Port of every slot: Spark has none, and all tasks of a node are in the one slot of the node's executor."""
UNMEASURED = Resources(cpu=10.0)
"""Demand of a task of which nobody said anything and nothing was measured yet, in points: Storm's default for an
executor."""

OUTDATED = 3
"""Batches without a planned stage after which a plan is taken to be another."""


class ExecutorTotal:
    """The number of executors that an application is to have, which those that are just being replaced belong to."""

    def __init__(self) -> None:
        """Begin without a number."""
        self._number = 0

    def see(self, alive: int) -> None:
        """Take a number of live executors into account: more than are known belong to the application, too."""
        self._number = max(self._number, alive)

    def change(self, alive: int, by: int) -> int:
        """The number after some more, or less.

        Args:
            alive: Executors that are alive now.
            by: Executors that come, or go if it is negative.
        """
        self.see(alive)
        self._number += by
        return self._number


def with_measured(topology: Topology, metrics: Metrics) -> Topology:
    """The topology with the measured demand in place of one that nobody declared."""
    (measured,) = declared_from_measured(Request(topologies=(topology,), metrics=metrics)).topologies
    pairs = zip(topology.components, measured.components, strict=True)
    return attrs.evolve(topology, components=tuple(new if old.demand == UNMEASURED else old for old, new in pairs))


@attrs.frozen(kw_only=True, eq=False)
class SparkTarget:
    """One topology of a Spark session: a streaming query, or the jobs of one job group.

    A task (topology, component, index) is the partition `index` of the stage with ordinal `stages[component]`.

    Attributes:
        spark: The classic session it runs in.
        topology: The application in Headworks's words, one component a stage.
        scope: Id of the streaming query, job group, or local property `headworks.scope`.
        stages: Stage ordinal of each component id.
        signatures: What says that the stage of an ordinal is the one that is meant; any stage is where there is none.
        placement: Table of the hosts that are asked for; None in a session that cannot place.
        recorder: Recorder of the session's events, for the monitor.
        cluster: The local cluster that was started for it, whose Workers come and go with its executors.
        query: The streaming query; None of a job group, and then nobody notices that it is over.
        total: Number of executors that it is to have.
        brokers: Brokers of Kafka beside it, as the last window found them.
        notes: Sentences on what of it is not placed.
    """

    spark: Any
    topology: Topology
    scope: str
    stages: Mapping[str, int]
    signatures: Mapping[int, str] = FrozenMap()
    placement: PlacementTable | Lease | None = None
    recorder: Any = None
    query: Any = None
    cluster: Any = None
    total: ExecutorTotal = attrs.field(factory=ExecutorTotal)
    brokers: Brokers = attrs.field(factory=Brokers)
    notes: tuple[str, ...] = ()

    @classmethod
    def placeable(
        cls, spark: SparkSession, recorder: EventRecorder, topology: Topology, scope: str, stages: Mapping[str, int]
    ) -> Self:
        """The handle for monitor and executor, in a session that can place tasks.

        Args:
            spark: A session at level hard.
            recorder: A started recorder of it.
            topology: The application in Headworks's words, one component a stage.
            scope: Id of the streaming query, job group, or local property `headworks.scope`.
            stages: Stage ordinal of each component id.

        Raises:
            EngineError: The session cannot.
        """
        placement = PlacementTable.of(spark)
        return cls(spark=spark, topology=topology, scope=scope, stages=stages, placement=placement, recorder=recorder)

    def changed(self) -> float:
        """Time at which its places were last changed here, seconds since the epoch; 0.0 if they never were."""
        return self.placement.changed(self.scope) if self.placement else 0.0

    @property
    def held(self) -> bool:
        """True while each of its stages waits before it begins, as a plan leaves it without a node."""
        return self.placement is not None and self.placement.held(self.scope)

    @property
    def given_back(self) -> bool:
        """True if its tasks were left to Spark for good: the connection or the follower has ended."""
        return isinstance(self.placement, Lease) and self.placement.closed

    def place(self, task: Task) -> Place | None:
        """(stage ordinal, partition) of a task, None if it is not of this topology or its stage is not known."""
        if task.topology != self.topology.id or task.component not in self.stages:
            return None
        return self.stages[task.component], task.index

    def tasks(self) -> dict[str, Place]:
        """(stage ordinal, partition) of every task whose stage is known, by task id."""
        places = {task.id: self.place(task) for task in self.topology.tasks()}
        return {task: place for task, place in places.items() if place is not None}

    def meant(self, jobs: Sequence[Job]) -> tuple[Job, ...]:
        """Those of some jobs that have the planned stages, and so the same shuffles.

        Args:
            jobs: Finished jobs of this scope.
        """
        return tuple(
            job
            for job in jobs
            if all(job.start.signature(ordinal) == planned for ordinal, planned in self.signatures.items())
        )

    def runs(self, job: Job) -> bool:
        """True if a job is the planned one: it ran the last of the planned stages.

        Sources may have other tasks in each batch, and a small job beside it may begin in the same way.
        """
        last = max(self.stages, key=lambda each: self.stages[each], default="")
        return bool(self.ran(job, last))

    def is_outdated(self) -> bool:
        """True if the last `OUTDATED` batches with data ran no planned stage: the query's plan is another."""
        jobs = [job for job in self.recorder.jobs(self.scope) if job.tasks] if self.recorder else []
        # A job of no batch is one by itself.
        batches: dict[object, bool] = {}
        for job in jobs:
            batch = ("job", job.start.job) if job.start.batch is None else job.start.batch
            batches[batch] = batches.get(batch, False) or self.runs(job)
        last = list(batches.values())[-OUTDATED:]
        return len(last) == OUTDATED and not any(last)

    def ran(self, job: Job, component: str) -> tuple[TaskEnd, ...]:
        """The tasks of a component in a job, by partition; none if the job has another stage in its place.

        Args:
            job: A finished job of this scope.
            component: Id of a component.
        """
        if component not in self.stages:
            return ()
        ordinal = self.stages[component]
        return job.stage(ordinal, self.signatures.get(ordinal))

    def asked(self) -> dict[str, Slot]:
        """The assignment that is asked for now, by task id."""
        table = self.placement.read(self.scope) if self.placement else {}
        return {task: Slot(table[place], PORT) for task, place in self.tasks().items() if place in table}

    def left(self) -> dict[str, int]:
        """Tasks that were not run where asked, by reason (`PlacementTable.left`)."""
        return self.placement.left(self.scope) if self.placement else {}

    def ask(self, assignment: Mapping[str, Slot]) -> None:
        """Ask for an assignment, in place of what was asked before; other topologies' tasks are left out.

        Raises:
            EngineError: The session cannot place tasks.
        """
        placement, places = self._placeable(), self.tasks()
        hosts = {places[task]: slot.node for task, slot in assignment.items() if task in places}
        placement.push(self.scope, hosts, self.signatures)

    def hold(self) -> None:
        """Have each of its stages wait before it begins.

        Raises:
            EngineError: The session cannot place tasks.
        """
        self._placeable().hold(self.scope)

    def _placeable(self) -> PlacementTable | Lease:
        if self.placement is None:
            raise EngineError(NOT_OURS)
        return self.placement
