"""Applications of three usual shapes, for `spark-submit`: they know nothing of Headworks.

spark-submit policy_shapes.py nightly|stream|joins FOLDER
"""

from __future__ import annotations

import sys
import time

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

STEPS, WIDE, NARROW = 8, 6, 2
"""Steps of the nightly batch, and tasks of the wide and of the narrow job of each."""
ROWS, PARTITIONS, SECONDS = 400, 8, 60
"""Rows a second of the stream, partitions of its state, and seconds that it runs."""
ORDERS, TIMES = 200_000, 6
"""Orders of the joins, and times that each query runs; the first warms up."""


def nightly(spark: SparkSession, folder: str) -> None:
    """Wide jobs of 2 s a task, and between them narrow ones of 5 s, as commits and exports are."""
    for step in range(STEPS):
        for tasks, millis in ((WIDE, 2_000), (NARROW, 5_000)):
            frame = spark.range(0, tasks, 1, tasks)
            slow = frame.withColumn("slept", sf.expr(f"reflect('java.lang.Thread', 'sleep', bigint({millis}))"))
            slow.write.mode("overwrite").parquet(f"{folder}/{step}-{tasks}")


def stream(spark: SparkSession, folder: str) -> None:
    """Counts by key, where one key of a hundred has about a fifth of the rows."""
    rows = spark.readStream.format("rate").option("rowsPerSecond", ROWS).option("numPartitions", 3).load()
    key = sf.floor(sf.pow(sf.rand(0), 3) * 100)
    counts = rows.withColumn("key", key).groupBy("key").agg(sf.count("*").alias("rows"), sf.max("value").alias("last"))
    query = (
        (counts.writeStream.format("noop").outputMode("update").option("checkpointLocation", f"{folder}/state"))
        .trigger(processingTime="1 second")
        .start()
    )
    query.awaitTermination(SECONDS)
    query.stop()


def joins(spark: SparkSession, folder: str) -> None:
    """Three joins as in TPC-H (its queries 3, 5 and 10), of tables that are made here, at a small scale."""
    del folder
    customers, orders, lines = (each.persist() for each in _tables(spark))
    for each in (customers, orders, lines):
        each.count()
    joined = lines.join(orders, "order").join(customers, "customer")
    value = sf.sum(sf.col("price") * (1 - sf.col("discount"))).alias("value")
    queries = {
        "q3": joined.where("segment = 1 and day < 200").groupBy("order").agg(value).orderBy(sf.desc("value")).limit(10),
        "q5": joined.where("day between 100 and 465").groupBy("nation").agg(value).orderBy(sf.desc("value")),
        "q10": joined.where("day < 90").groupBy("customer", "nation").agg(value).orderBy(sf.desc("value")).limit(20),
    }
    for _ in range(TIMES):
        for name, query in queries.items():
            spark.sparkContext.setJobGroup(name, name)
            began = time.perf_counter()
            query.collect()
            print(f"took {name} {time.perf_counter() - began:.3f}", flush=True)


def _tables(spark: SparkSession) -> tuple[DataFrame, DataFrame, DataFrame]:
    customers = spark.range(ORDERS // 10).select(
        sf.col("id").alias("customer"), sf.expr("id % 5 as segment"), sf.expr("id % 25 as nation")
    )
    orders = spark.range(ORDERS).select(
        sf.col("id").alias("order"),
        sf.expr(f"cast(rand(1) * {ORDERS // 10} as bigint) as customer"),
        sf.expr("cast(rand(2) * 730 as int) as day"),
    )
    lines = spark.range(4 * ORDERS).select(
        sf.expr(f"cast(rand(3) * {ORDERS} as bigint) as order"),
        sf.expr("rand(4) * 1000 as price"),
        sf.expr("rand(5) / 10 as discount"),
    )
    return customers, orders, lines


if __name__ == "__main__":
    session = SparkSession.builder.getOrCreate()
    {"nightly": nightly, "stream": stream, "joins": joins}[sys.argv[1]](session, sys.argv[2])
    session.stop()
