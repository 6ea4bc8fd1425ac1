"""The streaming query of an experiment: one stage a layer, a shuffle between two, and a sink that takes nothing."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headgate_spark.experiments.work import SCHEMA, emit, work

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from headgate_spark.experiments.layers import Layer


def start(spark: SparkSession, name: str, stages: Sequence[Layer], interval: float, folder: Path) -> StreamingQuery:
    """Start the query.

    Args:
        spark: The session.
        name: Its name.
        stages: From `headgate_spark.experiments.layers.layers`.
        interval: Seconds from trigger to trigger.
        folder: Its checkpoint.
    """
    first, *others = stages
    frame = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", first.tasks)
        .option("numPartitions", first.tasks)
        .load()
        .mapInArrow(functools.partial(emit, first.parts), SCHEMA)
    )
    for each in others:
        frame = frame.repartition(each.tasks, "key").mapInArrow(functools.partial(work, each.parts), SCHEMA)
    return (
        frame.writeStream.queryName(name)
        .format("noop")
        .option("checkpointLocation", str(folder))
        .trigger(processingTime=f"{round(interval * 1000)} milliseconds")
        .start()
    )
