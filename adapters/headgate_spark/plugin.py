"""The plugin `spark`: monitor and executor for PySpark, and the commands that run a local cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.hooks import Description, hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    import click

    from headgate.model import Observation, Plan, Receipt
    from headgate_spark.target import SparkTarget


class Spark:
    """Watch a PySpark application and place its tasks on executors, while it runs."""

    @hookimpl
    def headgate_describe(self) -> Description:
        """Summary of the adapter."""
        return Description(summary=self.__doc__ or "")

    @hookimpl
    def headgate_open(self, application: Sequence[str], address: str | None) -> AbstractContextManager[SparkTarget]:
        """See `headgate_spark.application.open_application`."""
        from headgate_spark.application import open_application

        return open_application(application, address)

    @hookimpl
    def headgate_observe(self, target: SparkTarget, window: float) -> Observation:
        """See `headgate_spark.monitor.observe`."""
        from headgate_spark.monitor import observe

        return observe(target, window)

    @hookimpl
    def headgate_preflight(self, target: SparkTarget, plan: Plan) -> Sequence[str]:
        """See `headgate_spark.executor.preflight`."""
        from headgate_spark.executor import preflight

        return preflight(target, plan)

    @hookimpl
    def headgate_execute(self, target: SparkTarget, plan: Plan) -> Receipt:
        """See `headgate_spark.executor.execute`."""
        from headgate_spark.executor import execute

        return execute(target, plan)

    @hookimpl
    def headgate_rollback(self, target: SparkTarget, receipt: Receipt) -> Receipt:
        """See `headgate_spark.executor.rollback`."""
        from headgate_spark.executor import rollback

        return rollback(target, receipt)

    @hookimpl
    def headgate_scale(self, target: SparkTarget, add: int, drain: Sequence[str]) -> Receipt:
        """See `headgate_spark.elastic.scale`."""
        from headgate_spark.elastic import scale

        return scale(target, add, drain)

    @hookimpl
    def headgate_commands(self) -> Sequence[click.Command]:
        """The groups `headgate spark` and `headgate demo`."""
        from headgate_spark.commands import spark
        from headgate_spark.demo.command import demo

        return spark, demo


spark = Spark()
