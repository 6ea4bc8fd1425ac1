"""A streaming source with one row for each of so many tasks, which a worker turns into the rows of a micro-batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def ticks(spark: SparkSession, tasks: int, each: int = 1) -> DataFrame:
    """A streaming DataFrame with a column `value`, int64: v is of task v % tasks, and each has its own in order.

    Args:
        spark: The session.
        tasks: Number of partitions.
        each: Ticks of a task in a micro-batch.
    """
    source = spark.readStream.format("rate-micro-batch")
    return source.option("rowsPerBatch", tasks * each).option("numPartitions", tasks).load()
