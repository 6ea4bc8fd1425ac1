"""Parts of level soft, by name, in a session that knows nothing of Headgate: prints what happened as JSON."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

import headgate_spark
from headgate_spark.local import LocalSpark, worker_specs
from headgate_spark.session import executors
from headgate_spark.soft import pin, pin_frame, place_source, placed_batches

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
N = 6


def turn(shift):
    return [HOSTS[(index + shift) % 3] for index in range(N)]


def where(index, rows):
    list(rows)
    yield index, os.environ["SPARK_LOCAL_IP"]


def hosts_of(rdd):
    return [host for _, host in sorted(rdd.mapPartitionsWithIndex(where).collect())]


def batch(spark):
    found = {}
    source = place_source(spark, list(range(N)), turn(0))
    found["source"] = hosts_of(source) == turn(0)
    found["source_rows"] = sorted(source.collect()) == list(range(N))
    shuffled = spark.sparkContext.parallelize(range(60), N).map(lambda each: (each, each)).partitionBy(N)
    pinned = pin(spark, shuffled, turn(0))
    found["rdd"] = [hosts_of(pinned.rdd) == turn(0)]
    for shift in (1, 2):
        pinned.ask(turn(shift))
        found["rdd"].append(hosts_of(pinned.rdd) == turn(shift))
    found["rdd_rows"] = sorted(pinned.rdd.values().collect()) == list(range(60))
    frame = spark.range(0, 600, 1, N).groupBy((fn.col("id") % 7).alias("rest")).count()
    placed = pin_frame(frame, turn(1))
    found["frame"] = hosts_of(placed.frame.rdd) == turn(1)
    found["frame_rows"] = sorted(map(tuple, placed.frame.collect())) == sorted(map(tuple, frame.collect()))
    return found


def batches(spark, folder):
    """Micro-batches through foreachBatch; the placement of every third one breaks."""
    seen, calls = [], []

    def work(frame, number):
        seen.append((number, hosts_of(frame.rdd)))

    def hosts(count):
        calls.append(count)
        if len(calls) % 3 == 0:
            raise RuntimeError("no idea")
        return turn(len(calls))[:count]

    source = spark.readStream.format("rate").options(rowsPerSecond=100, numPartitions=N).load()
    query = source.writeStream.foreachBatch(placed_batches(work, hosts)).option("checkpointLocation", folder).start()
    wait(lambda: len(calls) >= 6 and len(seen) >= 6)
    wait(lambda: not query.status["isTriggerActive"])
    query.stop()
    pairs = [(ran, turn(index + 1)) for index, (_, ran) in enumerate(seen[:6]) if (index + 1) % 3]
    hits = [ran == wish for ran, wish in pairs if len(ran) == N]  # the first batch has no rows and one partition
    return {"enough": len(hits) >= 3, "hits": all(hits), "failed": query.exception() is not None}


def wait(holds, seconds=120):
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError("not in time")
        time.sleep(0.1)


def main():
    found = {}
    with tempfile.TemporaryDirectory() as folder, LocalSpark(worker_specs((2, 1, 1))) as cluster:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master(cluster.master_url)
        for key, value in {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": str(N),
            "spark.sql.adaptive.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.shuffle.reduceLocality.enabled": "false",
        }.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        wait(lambda: len(set(executors(spark).values())) == 3)
        with headgate_spark.connect(spark) as connection:
            found |= {"level": connection.level, "warnings": list(connection.warnings)}
            parts = {
                "batch": lambda: batch(spark),
                "batches": lambda: batches(spark, f"{folder}/batches"),
            }
            for name in sys.argv[1:]:
                found[name] = parts[name]()
                sys.stderr.write(f"{time.strftime('%X')} {name}: {found[name]}\n")
            found["dropped"] = connection.recorder.dropped
        spark.stop()
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
