"""The table of places that the task scheduler in the driver reads."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import attrs

from headworks.errors import EngineError
from headworks.model import FrozenMap
from headworks_spark.driver.driver import HARD
from headworks_spark.driver.reach import driver_of
from headworks_spark.driver.session import NOT_OURS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

HELD = "! held"
"""Table of a scope whose stages wait."""
Place = tuple[int, int]
"""(stage ordinal, partition): the ordinal is the rank of the stage among those of its job (`JobStart.in_order`)."""


@attrs.frozen(eq=False)
class PlacementTable:
    """The host of each (stage ordinal, partition), by scope: the table of the same name in the driver's JVM.

    A scope is the local property `headworks.scope` of the thread that starts a job, else the id of its streaming
    query, else its job group. A change holds from the next stage on, so from the next micro-batch on. Hosts are
    resolved when a task is queued: where no executor that may run it is on its host, a task runs anywhere.
    """

    _table: Any
    _leases: Any
    _counts: Any
    _changed: dict[str, float] = attrs.field(factory=dict, init=False)

    @classmethod
    def of(cls, spark: SparkSession) -> PlacementTable:
        """The table of a session.

        Raises:
            EngineError: The session does not have Headworks's task scheduler.
        """
        driver = driver_of(spark)
        if driver.level() != HARD:
            raise EngineError(NOT_OURS)
        found = driver.classes
        return cls(found.PlacementTable, found.TableLease, found.PlacementCounts)

    def push(self, scope: str, hosts: Mapping[Place, str], signatures: Mapping[int, str] = FrozenMap()) -> None:
        """Replace the table of a scope, in one call to the driver.

        Args:
            scope: Id of a streaming query, job group, or local property `headworks.scope`.
            hosts: Host of each (stage ordinal, partition); tasks that are not in it are left to Spark.
            signatures: Signature of the stage that is meant, by ordinal (`JobStart.signature`): another stage in its
                place is left to Spark. Any stage is meant where there is none.
        """
        # One text instead of a Java map: filling a map over py4j is a call for each entry.
        rows = [f"{stage} {partition} {host}" for (stage, partition), host in hosts.items()]
        meant = [f"#{stage} {signature}" for stage, signature in signatures.items()] if rows else []
        self._table.replace(scope, "\n".join([*meant, *rows]))
        self._changed[scope] = time.time()

    def hold(self, scope: str) -> None:
        """Have each stage of a scope wait before it begins, `spark.headworks.hold` at most, in place of its table.

        Args:
            scope: Id of a streaming query, job group, or local property `headworks.scope`.
        """
        self._table.replace(scope, HELD)
        self._changed[scope] = time.time()

    def held(self, scope: str) -> bool:
        """True while the stages of a scope wait."""
        return bool(self._table.held(scope))

    def changed(self, scope: str) -> float:
        """Time at which the table of a scope was last replaced here, seconds since the epoch; 0.0 if it never was."""
        return self._changed.get(scope, 0.0)

    def read(self, scope: str) -> dict[Place, str]:
        """The table of a scope, empty if it has none."""
        rows = (row.split(" ", 2) for row in self._table.read(scope).splitlines())
        return {(int(stage), int(partition)): host for stage, partition, host in rows}

    def left(self, scope: str) -> dict[str, int]:
        """Tasks of a scope that were not run where asked, by reason, since it has a table.

        `failed`: an attempt failed there, and the next ones went elsewhere; `gone`: no executor was there that may run
        it (dead, leaving, excluded, or of another resource profile); `held`: it was to wait, and did so for longer than
        `spark.headworks.hold`; `busy`: its host ran no task of the stage for
        longer than `spark.headworks.wait`; `crowded:NODE`: the third batch in a row found the node so busy, and its
        tasks wait no more until other places are asked for; `barrier`: all tasks of a barrier stage have to start at
        once;
        `shape`: it was another stage than the one that was planned, by its signature; `adaptive`: adaptive execution
        made its exchange a job of its own, whose stages have other ranks; `fault`: Headworks's own code
        failed in the driver, which `connection.warnings` tells, and places nothing more of the scope.
        """
        rows = (row.split(" ") for row in self._counts.read(scope).splitlines())
        return {reason: int(tasks) for reason, tasks in sorted(rows)}

    def clear(self, scope: str) -> None:
        """Leave the tasks of a scope to Spark."""
        self._leases.clear(scope)
        self._changed[scope] = time.time()

    def grant(self, scope: str, holder: str, group: str | None, seconds: float) -> None:
        """Let the table of a scope lapse unless it is renewed.

        Args:
            holder: Name of who renews it.
            group: The job group for whose jobs alone it holds, of a query the id of its run; None: for all.
            seconds: Time until it lapses.
        """
        self._leases.grant(scope, holder, group, round(seconds * 1000))

    def renew(self, scope: str, holder: str, seconds: float) -> bool:
        """Put off the end of a table; False if it has lapsed, or somebody else pushed another.

        Args:
            holder: Name that it was granted to.
            seconds: Time until it lapses.
        """
        return bool(self._leases.renew(scope, holder, round(seconds * 1000)))

    def holds(self, scope: str, group: str | None) -> bool:
        """True unless the table of a scope lapsed or is that of another group.

        Args:
            group: A job group, of a query the id of its run.
        """
        return bool(self._leases.holds(scope, group))

    def drop(self, scope: str, holder: str) -> None:
        """Leave the tasks of a scope to Spark, if the table is this holder's.

        Args:
            holder: Name that it was granted to.
        """
        self._leases.drop(scope, holder)
        self._changed[scope] = time.time()
