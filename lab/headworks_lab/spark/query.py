"""The streaming queries of an experiment: a real one where the catalogue has it, else one that burns processor time."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Protocol

import attrs

from headworks_lab.spark.layers import Layer, layers
from headworks_lab.spark.work import SCHEMA, emit, work
from headworks_lab.spark.workload.catalogue import query_name
from headworks_lab.spark.workload.nexmark import NexmarkQuery
from headworks_spark.demo.flights import ticks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from headworks.model import Profile, Topology


class Query(Protocol):
    """A streaming query that stands for a topology."""

    @property
    def rows(self) -> float:
        """Rows that its sources emit in a micro-batch."""

    def frame(self, spark: SparkSession) -> DataFrame:
        """Its streaming DataFrame."""


@attrs.frozen
class Burners:
    """A query whose tasks use the processor time that is declared: one stage a layer, a shuffle between two.

    Attributes:
        stages: From `headworks_lab.spark.layers.layers`.
    """

    stages: tuple[Layer, ...]

    @property
    def rows(self) -> float:
        """Rows that its spouts emit in a micro-batch."""
        return sum(part.rows * part.tasks for part in self.stages[0].parts)

    def frame(self, spark: SparkSession) -> DataFrame:
        """Rows of random bytes, on their way from task to task."""
        first, *others = self.stages
        frame = ticks(spark, first.tasks).mapInArrow(functools.partial(emit, first.parts), SCHEMA)
        for each in others:
            frame = frame.repartition(each.tasks, "key").mapInArrow(functools.partial(work, each.parts), SCHEMA)
        return frame


def query_of(topology: Topology, profiles: Sequence[Profile], interval: float, engine: float = 0.0) -> Query:
    """The query that stands for a topology.

    Args:
        topology: The topology.
        profiles: As for `headworks_lab.spark.layers.layers`.
        interval: Seconds of rows in a micro-batch.
        engine: As for `headworks_lab.spark.layers.layers`.

    Raises:
        EngineError: Spark has no such query.
        DocumentError: Its streams form a cycle.
    """
    if name := query_name(topology):
        return NexmarkQuery.of(name, topology, interval)
    return Burners(layers(topology, profiles, interval, engine))


def start(spark: SparkSession, name: str, query: Query, interval: float, folder: Path) -> StreamingQuery:
    """Start a query, with a sink that takes all rows and does nothing with them.

    Args:
        spark: The session.
        name: Its name.
        query: The query.
        interval: Seconds from trigger to trigger.
        folder: Its checkpoint.
    """
    return (
        query.frame(spark)
        .writeStream.queryName(name)
        .format("noop")
        .option("checkpointLocation", str(folder))
        .trigger(processingTime=f"{round(interval * 1000)} milliseconds")
        .start()
    )
