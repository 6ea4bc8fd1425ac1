"""A query of Nexmark as a streaming query of Spark, whose source makes the events."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Self

import attrs

from headworks.errors import EngineError
from headworks.model import Kind
from headworks_lab.nexmark import Nexmark
from headworks_lab.spark.workload.events import SCHEMA, emit
from headworks_lab.spark.workload.queries import queries
from headworks_spark.demo.flights import ticks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headworks.model import Topology


@attrs.frozen(kw_only=True)
class NexmarkQuery:
    """One of the queries, on events that come in micro-batches.

    Attributes:
        name: Its name, such as `q5`.
        nexmark: The generator.
        rows: Events of a micro-batch.
        sources: Tasks that make them.
        partitions: Tasks of each later stage.
    """

    name: str
    nexmark: Nexmark
    rows: float
    sources: int
    partitions: int

    @classmethod
    def of(cls, name: str, topology: Topology, interval: float) -> Self:
        """The query that a topology of the catalogue stands for.

        Args:
            name: From `headworks_lab.spark.workload.catalogue.query_name`.
            topology: The topology.
            interval: Seconds of events in a micro-batch.

        Raises:
            EngineError: Its sources state no rate.
        """
        spout = next(each for each in topology.components if each.kind is Kind.SPOUT)
        bolts = [each.parallelism for each in topology.components if each.kind is Kind.BOLT]
        if not spout.rate:
            raise EngineError(f"the spout {spout.id!r} of {topology.id!r} states no rate: give it one")
        return cls(
            name=name,
            nexmark=Nexmark(rate=spout.rate),
            rows=spout.rate * interval,
            sources=spout.parallelism,
            partitions=next(iter(bolts), 1),
        )

    def frame(self, spark: SparkSession) -> DataFrame:
        """The streaming DataFrame of its answers; what the session shuffles into is set to its partitions.

        Events come in the order of their times, so the watermark is the last one's time: none is ever late.

        Args:
            spark: The session.
        """
        spark.conf.set("spark.sql.shuffle.partitions", self.partitions)
        make = functools.partial(emit, self.nexmark, self.rows, self.sources)
        events = ticks(spark, self.sources).mapInArrow(make, SCHEMA).withWatermark("time", "0 seconds")
        return queries(self.nexmark.longest)[self.name](events)
