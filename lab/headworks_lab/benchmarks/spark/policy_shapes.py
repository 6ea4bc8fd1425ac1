"""Applications of usual shapes, for `spark-submit`: they know nothing of Headworks.

spark-submit policy_shapes.py nightly|exports|stream FOLDER
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

STEPS, WIDE, NARROW = 6, 6, 2
"""Steps of the nightly batch, and tasks of the wide and of the narrow job of each."""
NIGHTS, WRITERS, TABLES = 2, 3, 24
"""Times that exports run, threads that write tables, and tables of each."""
ROWS, PARTITIONS, BATCHES, SEND = 400, 6, 30, 20
"""Rows a second of the stream, partitions of its state, batches, and milliseconds to send a count."""


def _write(spark: SparkSession, path: str, tasks: int, millis: str) -> None:
    """Write a table whose tasks take as long as an expression of their number says."""
    sleep = f"reflect('java.lang.Thread', 'sleep', bigint({millis}))"
    spark.range(0, tasks, 1, tasks).withColumn("slept", sf.expr(sleep)).write.mode("overwrite").parquet(path)


def nightly(spark: SparkSession, folder: str) -> None:
    """Wide jobs of 2 s a task, and between them narrow ones of 5 s, as commits and exports are."""
    for step in range(STEPS):
        for tasks, millis in ((WIDE, "2000"), (NARROW, "5000")):
            _write(spark, f"{folder}/{step}-{tasks}", tasks, millis)


def exports(spark: SparkSession, folder: str) -> None:
    """A wide job with one task that takes twelve times as long, and beside it three threads that write small tables."""

    def small(writer: int) -> None:
        spark.sparkContext.setLocalProperty("spark.scheduler.pool", f"writer {writer}")
        for table in range(TABLES):
            _write(spark, f"{folder}/{writer}-{table}", 1, "1000")

    for _ in range(NIGHTS):
        with ThreadPoolExecutor(WRITERS + 1) as threads:
            wide = threads.submit(_write, spark, f"{folder}/wide", 2 * WIDE, "if(id = 0, 12000, 1000)")
            for done in [wide, *(threads.submit(small, writer) for writer in range(WRITERS))]:
                done.result()


def stream(spark: SparkSession, folder: str) -> None:
    """Counts by key, where one key of a hundred has about a fifth of the rows, and each count is sent to a service."""
    rows = spark.readStream.format("rate").option("rowsPerSecond", ROWS).option("numPartitions", 3).load()
    key = sf.floor(sf.pow(sf.rand(0), 3) * 100)
    counts = rows.withColumn("key", key).groupBy("key").agg(sf.count("*").alias("rows"), sf.max("value").alias("last"))
    sent = counts.withColumn("sent", sf.expr(f"reflect('java.lang.Thread', 'sleep', bigint({SEND}))"))
    query = (
        (sent.writeStream.format("noop").outputMode("update").option("checkpointLocation", f"{folder}/state"))
        .trigger(processingTime="1 second")
        .start()
    )
    while query.isActive and len(list(Path(folder, "state", "commits").glob("[0-9]*"))) < BATCHES:
        time.sleep(0.2)
    query.stop()


if __name__ == "__main__":
    session = SparkSession.builder.getOrCreate()
    {"nightly": nightly, "exports": exports, "stream": stream}[sys.argv[1]](session, sys.argv[2])
    session.stop()
