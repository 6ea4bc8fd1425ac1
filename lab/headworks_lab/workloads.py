"""The plugins `spark-lab` and `storm-lab`: workloads that run on real clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.hooks import Description, hookimpl
from headworks_lab.spark.workload.catalogue import workloads as spark_workloads
from headworks_lab.storm.workload import workloads as storm_workloads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.model import Workload


class SparkLab:
    """Nexmark's queries on Spark: `headworks sweep --engine spark -w spark-lab:nexmark-q5`."""

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the workloads."""
        return Description(summary=self.__doc__ or "")

    @hookimpl
    def headworks_workloads(self) -> Sequence[Workload]:
        """Name the queries."""
        return spark_workloads()


class StormLab:
    """Nexmark's queries and sentiment on Storm: `headworks storm submit storm-lab:nexmark-q5`."""

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the workloads."""
        return Description(summary=self.__doc__ or "")

    @hookimpl
    def headworks_workloads(self) -> Sequence[Workload]:
        """Name the topologies."""
        return storm_workloads()


spark, storm = SparkLab(), StormLab()
