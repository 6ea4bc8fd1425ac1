"""The handle of a placed Spark application, which monitor and executor are given as `target`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import attrs

from headgate.errors import EngineError
from headgate.model import Slot, Task, Topology
from headgate_spark.placement.state import StatePlacement
from headgate_spark.placement.table import PlacementTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headgate_spark.events.recorder import EventRecorder
    from headgate_spark.placement.table import Place

PORT = 0
"""Port of every slot: Spark has none, and all tasks of a node are in the one slot of the node's executor."""


@attrs.frozen(kw_only=True, eq=False)
class SparkTarget:
    """One topology of a Spark session: a streaming query, or the jobs of one job group.

    A task (topology, component, index) is the partition `index` of the stage with ordinal `stages[component]`.

    Attributes:
        spark: The classic session it runs in.
        topology: The application in Headgate's words, one component a stage.
        scope: Id of the streaming query, job group, or local property `headgate.scope`.
        stages: Stage ordinal of each component id.
        placement: Table of the hosts that are asked for; None in a session that cannot place.
        recorder: Recorder of the session's events, for the monitor.
        cluster: The local cluster that was started for it, whose Workers come and go with its executors.
        query: The streaming query; None of a job group, and then nobody notices that it is over.
    """

    spark: Any
    topology: Topology
    scope: str
    stages: Mapping[str, int]
    placement: PlacementTable | StatePlacement | None = None
    recorder: Any = None
    query: Any = None
    cluster: Any = None

    @classmethod
    def placeable(
        cls, spark: SparkSession, recorder: EventRecorder, topology: Topology, scope: str, stages: Mapping[str, int]
    ) -> Self:
        """The handle for monitor and executor, in a session that can place tasks.

        Args:
            spark: A session at level hard.
            recorder: A started recorder of it.
            topology: The application in Headgate's words, one component a stage.
            scope: Id of the streaming query, job group, or local property `headgate.scope`.
            stages: Stage ordinal of each component id.

        Raises:
            EngineError: The session cannot.
        """
        placement = PlacementTable.of(spark)
        return cls(spark=spark, topology=topology, scope=scope, stages=stages, placement=placement, recorder=recorder)

    def place(self, task: Task) -> Place | None:
        """(stage ordinal, partition) of a task, None if it is not of this topology or its stage is not known."""
        if task.topology != self.topology.id or task.component not in self.stages:
            return None
        return self.stages[task.component], task.index

    def tasks(self) -> dict[str, Place]:
        """(stage ordinal, partition) of every task whose stage is known, by task id."""
        places = {task.id: self.place(task) for task in self.topology.tasks()}
        return {task: place for task, place in places.items() if place is not None}

    def asked(self) -> dict[str, Slot]:
        """The assignment that is asked for now, by task id."""
        table = self.placement.read(self.scope) if self.placement else {}
        return {task: Slot(table[place], PORT) for task, place in self.tasks().items() if place in table}

    def ask(self, assignment: Mapping[str, Slot]) -> None:
        """Ask for an assignment, in place of what was asked before; other topologies' tasks are left out.

        Raises:
            EngineError: The session cannot place tasks.
        """
        if self.placement is None:
            raise EngineError(f"tasks of {self.topology.id!r} cannot be placed: SparkTarget.placement is None")
        places = self.tasks()
        hosts = {places[task]: slot.node for task, slot in assignment.items() if task in places}
        self.placement.push(self.scope, hosts)
