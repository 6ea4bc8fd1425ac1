"""A query for spark-submit whose rows say which container of which node made them, and its placement.

`yarn_app.py FOLDER ACTION BATCHES`; actions are the functions `move`, `empty` and `lose`, and `stream`, which leaves
it to others. FOLDER/rows has the rows, FOLDER/said.json what was asked, and for which batches.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import headworks_spark
from headworks_spark.driver.session import executors
from headworks_spark.nodes import nodes

PARTITIONS = 6
KEYS = 100


def place(_value):
    """NodeManager and container of the Python worker that is called, as YARN told the container, or node and pod."""
    told = os.environ
    return f"{told['ROW_NODE']} {told['ROW_POD']}" if "ROW_POD" in told else f"{told['NM_HOST']} {told['CONTAINER_ID']}"


def start(spark, folder):
    """Counts and last values by key; every row with the places of its last input and of its state."""
    tell = f.udf(place, "string").asNondeterministic()
    source = spark.readStream.format("rate").options(rowsPerSecond=600, numPartitions=PARTITIONS).load()
    made = f.struct(f.spark_partition_id().alias("partition"), tell("value").alias("place"))
    counts = (
        source.withColumn("source", made)
        .groupBy((source.value % KEYS).alias("key"))
        .agg(f.count("*").alias("count"), f.max("value").alias("last"), f.max_by("source", "value").alias("source"))
        .withColumn("state", f.struct(f.spark_partition_id().alias("partition"), tell("last").alias("place")))
    )

    def write(rows, batch):
        rows.withColumn("batch", f.lit(batch)).write.mode("append").json(f"{folder}/rows")

    writer = counts.writeStream.outputMode("update").foreachBatch(write)
    return writer.option("checkpointLocation", f"{folder}/checkpoint").start()


def batches(query):
    return -1 if query.lastProgress is None else query.lastProgress["batchId"]


def wait_for(query, done, seconds=600.0):
    deadline = time.monotonic() + seconds
    while not done():
        assert query.isActive, query.exception()
        assert time.monotonic() < deadline, f"not within {seconds} s, at batch {batches(query)}"
        time.sleep(0.2)


def rotation(hosts, shift):
    """A place for every task of both stages: neighbours on different nodes, another one with every shift."""
    tasks = [(stage, index) for stage in range(2) for index in range(PARTITIONS)]
    return {(stage, index): hosts[(stage + index + shift) % len(hosts)] for stage, index in tasks}


def hold_executors(context):
    """A block on each executor: Spark does not call one idle that holds one, whatever it has to do."""

    def slowly(each):
        time.sleep(2)
        return each

    blocks = context.parallelize(range(12), 12).map(slowly).cache()
    blocks.count()
    return blocks


def alive():
    return sorted(set(executors(SparkSession.active()).values()))


def hold(target, query, hosts, count):
    """Ask for a placement for some batches; those later than the one that runs at that time are wholly under it."""
    target.placement.push(target.scope, hosts, target.signatures)
    time.sleep(1.0)  # the last progress may be of a batch before the one that has just begun
    after = batches(query) + 1
    wait_for(query, lambda: batches(query) >= after + count)
    asked = [[*task, host] for task, host in hosts.items()]
    return {"asked": asked, "after": after, "until": batches(query)}


def move(target, query, count, folder, kept):
    """Place the query anew twice."""
    hosts = alive()
    return {"hosts": hosts, "placements": [hold(target, query, rotation(hosts, shift), count) for shift in range(3)]}


def empty(target, query, count, folder, kept):
    """Place all on one node until the other has no executor any more; then, FOLDER/emptied, on that one."""
    first, *others = alive()
    assert others, "executors have gone before there was anything to do"
    kept.unpersist(blocking=True)
    on_first = rotation([first], 0)
    target.placement.push(target.scope, on_first, target.signatures)
    wait_for(query, lambda: alive() == [first])
    Path(folder, "emptied").touch()
    placements = [hold(target, query, on_first, count), hold(target, query, rotation(others, 0), count)]
    durations = {each["batchId"]: each["durationMs"]["triggerExecution"] / 1000 for each in query.recentProgress}
    seconds = [durations[batch] for each in placements for batch in range(each["after"] + 1, each["until"] + 1)]
    return {"hosts": [first, *others], "left_alive": alive(), "placements": placements, "seconds": seconds}


def lose(target, query, count, folder, kept):
    """Place the query on all nodes while one is killed, which FOLDER/killed names, and comes back."""
    hosts = alive()
    places = rotation(hosts, 0)
    placements = [hold(target, query, places, count)]
    Path(folder, "ready").touch()
    killed = Path(folder, "killed")
    wait_for(query, lambda: killed.exists() and killed.read_text() not in alive())
    placements.append(hold(target, query, places, count))
    Path(folder, "gone").touch()
    wait_for(query, lambda: alive() == hosts)
    placements.append(hold(target, query, rotation(hosts, 1), count))
    return {"hosts": hosts, "placements": placements}


def main(folder, action, count):
    spark = SparkSession.builder.getOrCreate()
    spark.conf.set("spark.sql.shuffle.partitions", PARTITIONS)
    context = spark.sparkContext
    said = {
        "application": context.applicationId,
        "master": context.master,
        "mode": context.getConf().get("spark.submit.deployMode"),
        "driver": os.environ.get("NM_HOST", ""),
    }
    if action == "stream":
        start(spark, folder).awaitTermination()
        return
    kept = hold_executors(context) if action == "empty" else None
    query = start(spark, folder)
    with headworks_spark.connect(spark) as connection:
        target = connection.target(query, timeout=400)
        said |= {"level": connection.level, "warnings": connection.warnings}
        offer = {node.id: [node.capacity.cpu, node.machine_type, node.bandwidth, node.rack] for node in nodes(spark)}
        said["offer"] = offer
        said |= {"move": move, "empty": empty, "lose": lose}[action](target, query, int(count), folder, kept)
        said["left"] = target.placement.left(target.scope)
        Path(folder, "said.json").write_text(json.dumps(said))
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
