"""The demo's job: a year of New York departures, replayed as twelve feeds into statistics per airport.

A feed is a group of carriers; an airport is a destination. Each feed reads its own file, so only the exchange
between feeds and airports crosses nodes. Any five consecutive batches are one whole year, that is, the same
336,776 rows: the bytes of two placements compare directly, whatever batch each began with.
"""

from __future__ import annotations

import bisect
import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headworks.model import Component, FrozenMap, Kind, Resources, Stream, Topology
from headworks_spark.demo.dataset import DAYS, FEEDS, flights

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from headworks_spark.events.recorder import EventRecorder
    from headworks_spark.target import SparkTarget

BATCHES_A_YEAR = 5
"""Micro-batches that hold one year; it divides `DAYS`."""
STAGES: FrozenMap[str, int] = FrozenMap({"feeds": 0, "airports": 1})
"""Rank of each component's stage in the job of a micro-batch."""


@attrs.frozen
class Airport:
    """Statistics of one destination.

    Attributes:
        flights: Departures. `arrived`: those whose delay is known.
        delay: Minutes of arrival delay in sum. `worst`: the largest; None if none is known.
    """

    flights: int
    arrived: int
    delay: float
    worst: float | None


@attrs.frozen(kw_only=True)
class FlightsQuery:
    """The streaming query and what is known about it beforehand.

    Attributes:
        folder: Scratch folder for feeds and checkpoint, empty or from an earlier run of the same data.
        name: Topology id, scope of the placement, and name of the in-memory table of the answer.
        interval: Seconds from one batch to the next; 0 starts each as soon as the last is done.
    """

    folder: Path
    name: str = "flights"
    interval: float = 0.0

    def topology(self) -> Topology:
        """Twelve feeds and twelve partitions of airports, hashed by destination."""
        demand = Resources(cpu=10.0)
        return Topology(
            id=self.name,
            components=(
                Component(id="feeds", kind=Kind.SPOUT, parallelism=FEEDS, demand=demand),
                Component(id="airports", parallelism=FEEDS, demand=demand),
            ),
            streams=(Stream(source="feeds", target="airports", grouping="fields"),),
            sequential=True,
        )

    def target(self, spark: SparkSession, recorder: EventRecorder) -> SparkTarget:
        """The handle for monitor and executor.

        Args:
            spark: A session at level hard.
            recorder: A started recorder of it.
        """
        # Spark's Python workers import this module, and need none of the 0.1 s that the driver's side takes.
        from headworks_spark.target import SparkTarget

        return SparkTarget.placeable(spark, recorder, self.topology(), self.name, STAGES)

    def frame(self, spark: SparkSession) -> DataFrame:
        """The streaming frame: ticks, flights of each tick, one exchange, statistics as state.

        The repartition comes before the aggregation, so that rows and not partial sums cross the exchange. It serves
        the state as well, as long as the session shuffles into the same number of partitions, which is set here.
        """
        # PySpark and pyarrow are optional: the offline demo says that the data set is missing, or needs it alone.
        from pyspark.sql import functions as fn

        # pyarrow, as above.
        from headworks_spark.demo.feeds import SCHEMA, emit

        spark.conf.set("spark.sql.shuffle.partitions", FEEDS)
        rows = ticks(spark, FEEDS, DAYS // BATCHES_A_YEAR).mapInArrow(
            functools.partial(emit, str(self.folder / "feeds")), SCHEMA
        )
        delay = fn.col("arr_delay")
        frame: DataFrame = (
            rows.repartition(FEEDS, "dest")
            .groupBy("dest")
            .agg(
                fn.count(fn.lit(1)).alias("flights"),
                fn.count(delay).alias("arrived"),
                fn.sum(delay).alias("delay"),
                fn.max(delay).alias("worst"),
                fn.max("day").alias("day"),
            )
        )
        return frame

    def start(self, spark: SparkSession) -> StreamingQuery:
        """Prepare the feeds if need be and start; the query's tasks are placed under the scope `name`."""
        feeds = self.folder / "feeds"
        if not feeds.is_dir():
            # pyarrow is optional, as above.
            from headworks_spark.demo.feeds import prepare

            prepare(feeds)
        # The property goes with the thread that starts the query to all of its jobs, and is taken back for others.
        spark.sparkContext.setLocalProperty("headworks.scope", self.name)
        try:
            return (
                self.frame(spark)
                .writeStream.queryName(self.name)
                .format("memory")
                .outputMode("complete")
                .option("checkpointLocation", str(self.folder / "checkpoint"))
                .trigger(processingTime=f"{round(self.interval * 1000)} milliseconds")
                .start()
            )
        finally:
            spark.sparkContext.setLocalProperty("headworks.scope", None)

    def answer(self, days: int) -> dict[str, Airport]:
        """The answer over the first `days` days, without Spark."""
        years, rest = divmod(days, DAYS)
        table = flights()
        total = _statistics(table, years)
        for airport, part in _statistics(table.slice(0, _rows(table, rest)), 1).items():
            total[airport] = _add(total[airport], part) if airport in total else part
        return total

    def streamed(self, spark: SparkSession) -> tuple[int, dict[str, Airport]]:
        """The running query's answer, and the days it covers."""
        rows = spark.table(self.name).collect()
        days = max((row["day"] + 1 for row in rows), default=0)
        return days, {row["dest"]: _airport(row) for row in rows}

    def check(self, query: StreamingQuery, spark: SparkSession) -> tuple[str, ...]:
        """Compare the stream with the answer over the same rows: one sentence a difference.

        An empty tuple says that no row was lost and none counted twice.

        Args:
            query: The query, which may be running.
        """
        done = _days_done(query)  # first: the query may end a batch meanwhile
        days, found = self.streamed(spark)
        covered = max(days, done)
        wanted = self.answer(covered)
        return tuple(
            f"{airport}: the stream says {found.get(airport)}, {covered} days hold {wanted.get(airport)}"
            for airport in sorted(found.keys() | wanted.keys())
            if found.get(airport) != wanted.get(airport)
        )


def _days_done(query: StreamingQuery) -> int:
    """Days of the batches that the query has reported as finished."""
    progress = query.lastProgress
    offset: Any = progress["sources"][0]["endOffset"] if progress else None
    offset = json.loads(offset) if isinstance(offset, str) else offset
    return int(offset["offset"]) // FEEDS if offset else 0


def _rows(table: pa.Table, days: int) -> int:
    """Rows of the first `days` days."""
    return bisect.bisect_left(table["day"].to_pylist(), days)


def _statistics(table: pa.Table, times: int) -> dict[str, Airport]:
    """Statistics of a table that was seen `times` times."""
    if not times:
        return {}
    wanted: list[Any] = [([], "count_all"), *(("arr_delay", name) for name in ("count", "sum", "max"))]
    return {
        row["dest"]: Airport(
            row["count_all"] * times,
            row["arr_delay_count"] * times,
            (row["arr_delay_sum"] or 0.0) * times,
            row["arr_delay_max"],
        )
        for row in table.group_by("dest").aggregate(wanted).to_pylist()
    }


def _add(one: Airport, two: Airport) -> Airport:
    worst = max((each.worst for each in (one, two) if each.worst is not None), default=None)
    return Airport(one.flights + two.flights, one.arrived + two.arrived, one.delay + two.delay, worst)


def _airport(row: Any) -> Airport:
    return Airport(row["flights"], row["arrived"], row["delay"] or 0.0, row["worst"])


def ticks(spark: SparkSession, tasks: int, each: int = 1) -> DataFrame:
    """A streaming DataFrame with a column `value`, int64: v is of task v % tasks, and each has its own in order.

    Args:
        tasks: Number of partitions.
        each: Ticks of a task in a micro-batch.
    """
    source = spark.readStream.format("rate-micro-batch")
    return source.option("rowsPerBatch", tasks * each).option("numPartitions", tasks).load()
