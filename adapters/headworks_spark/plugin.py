"""The plugin `spark`: monitor and executor for PySpark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.errors import how_to_install
from headworks.hooks import Description, Finding, hookimpl
from headworks_local.java import java_finding
from headworks_spark.applications.run import open_application, run_application
from headworks_spark.targets import execute, keeps, look, observe, preflight, rollback, scale

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from threading import Event

    from headworks.model import Observation, Plan, Receipt
    from headworks_spark.targets import Target

PACKAGES = {
    "pyspark": f"the Spark engine: {how_to_install('spark')}",
    "pyarrow": f"samples: {how_to_install('pipeline')}",
}
"""Optional packages, and the purpose of each."""

DEADLINES = dict.fromkeys(("headworks_open", "headworks_observe", "headworks_scale"), 86_400.0)
"""Seconds of what waits by rules of its own: for two triggers of a query, which may be hours, or node after node. With
less, a query with long triggers is not observed; with more, a session that hangs is waited for even longer."""


class Spark:
    """Watch a PySpark application and place its tasks on executors, while it runs."""

    @hookimpl
    def headworks_describe(self) -> Description:
        """Summary of the adapter."""
        return Description(summary=self.__doc__ or "", deadlines=DEADLINES)

    @hookimpl
    def headworks_needs(self) -> Sequence[Finding]:
        """Java and the optional packages."""
        return java_finding(), *(Finding.of_package(name, fix) for name, fix in PACKAGES.items())

    @hookimpl
    def headworks_open(self, application: Sequence[str], address: str | None) -> AbstractContextManager[Target]:
        """See `headworks_spark.applications.run.open_application`."""
        return open_application(application, address)

    @hookimpl
    def headworks_run(
        self,
        application: Sequence[str],
        address: str | None,
        launch: Sequence[str],
        rounds: Callable[[Target, Event], object],
    ) -> int:
        """See `headworks_spark.applications.run.run_application`."""
        return run_application(application, address, launch, rounds)

    @hookimpl
    def headworks_observe(self, target: Target, window: float) -> Observation:
        """See `headworks_spark.targets.observe`."""
        return observe(target, window)

    @hookimpl
    def headworks_look(self, target: Target) -> Observation:
        """See `headworks_spark.targets.look`."""
        return look(target)

    @hookimpl
    def headworks_preflight(self, target: Target, plan: Plan) -> Sequence[str]:
        """See `headworks_spark.targets.preflight`."""
        return preflight(target, plan)

    @hookimpl
    def headworks_keeps(self, target: Target, plan: Plan) -> bool:
        """See `headworks_spark.targets.keeps`."""
        return keeps(target, plan)

    @hookimpl
    def headworks_execute(self, target: Target, plan: Plan) -> Receipt:
        """See `headworks_spark.targets.execute`."""
        return execute(target, plan)

    @hookimpl
    def headworks_rollback(self, target: Target, receipt: Receipt) -> Receipt:
        """See `headworks_spark.targets.rollback`."""
        return rollback(target, receipt)

    @hookimpl
    def headworks_scale(self, target: Target, add: int, drain: Sequence[str]) -> Receipt:
        """See `headworks_spark.targets.scale`."""
        return scale(target, add, drain)


spark = Spark()
