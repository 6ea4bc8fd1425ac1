"""The table of places that the task scheduler in the driver reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from headgate.errors import EngineError
from headgate_spark.driver.gateway import running_gateway
from headgate_spark.driver.session import HARD, level_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

Place = tuple[int, int]
"""(stage ordinal, partition): the ordinal is the rank of the stage among the stages of its job."""


@attrs.frozen(eq=False)
class PlacementTable:
    """The host of each (stage ordinal, partition), by scope: the table of the same name in the driver's JVM.

    A scope is the local property `headgate.scope` of the thread that starts a job, else the id of its streaming
    query, else its job group. A change holds from the next stage on, so from the next micro-batch on. Hosts are
    resolved when a task is queued: where no executor is alive on its host, a task runs anywhere.
    """

    level: ClassVar[str] = HARD
    _table: Any

    @classmethod
    def of(cls, spark: SparkSession) -> PlacementTable:
        """The table of a session.

        Raises:
            EngineError: The session does not have Headgate's task scheduler.
        """
        level = level_of(spark)
        if level != HARD:
            raise EngineError(
                f"this session is at level {level}, which cannot place tasks: "
                "make it with headgate_spark.session('spark://HOST:PORT')"
            )
        return cls(running_gateway().jvm.headgate.spark.PlacementTable)

    def push(self, scope: str, hosts: Mapping[Place, str]) -> None:
        """Replace the table of a scope, in one call to the driver.

        Args:
            scope: Id of a streaming query, job group, or local property `headgate.scope`.
            hosts: Host of each (stage ordinal, partition); tasks that are not in it are left to Spark.
        """
        # One text instead of a Java map: filling a map over py4j is a call for each entry.
        rows = (f"{stage} {partition} {host}" for (stage, partition), host in hosts.items())
        self._table.replace(scope, "\n".join(rows))

    def read(self, scope: str) -> dict[Place, str]:
        """The table of a scope, empty if it has none."""
        rows = (row.split(" ", 2) for row in self._table.read(scope).splitlines())
        return {(int(stage), int(partition)): host for stage, partition, host in rows}

    def clear(self, scope: str) -> None:
        """Leave the tasks of a scope to Spark."""
        self._table.replace(scope, "")
