"""Level soft from one end to the other, in a session that knows nothing of Headworks: prints what happened as JSON."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

import headworks_spark
from headworks.control.loop import Control, Loop
from headworks.errors import EngineError
from headworks.model import Limits
from headworks.plugins.host import PluginHost
from headworks_local.java import BRIEF
from headworks_spark.driver.gateway import running_gateway, state_coordinator, stream_execution
from headworks_spark.driver.session import executors
from headworks_spark.events.eventlog import replay
from headworks_spark.local.cluster import LocalSpark, worker_specs
from headworks_spark.placement.rescue import Watchdog
from headworks_spark.placement.soft import pin, pin_frame, place_source, placed_batches
from headworks_spark.placement.state import stateful_stages
from spark_kills import kill_worker

PATIENCE = 600.0
"""Seconds until something is taken to hang."""
HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
N = 6
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def stateless(spark, connection, folder):
    """What is said of a query that keeps no state, and whether it goes on."""
    rows = spark.readStream.format("rate").option("rowsPerSecond", 60).load()
    writer = rows.repartition(N, "value").writeStream.format("noop")
    query = writer.option("checkpointLocation", folder).start()
    try:
        connection.target(query)
    except EngineError as error:
        return {"said": str(error), "active": query.isActive}
    finally:
        query.stop()
    return {"said": "", "active": True}


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


def state(spark, connection, folder):
    """An unmodified stateful query, moved twice, and driven by the loop."""
    source = spark.readStream.format("rate").options(rowsPerSecond=600, numPartitions=N).load()
    counts = source.groupBy(source.value % 100).count()
    writer = counts.writeStream.format("noop").outputMode("update").trigger(processingTime="1 second")
    query = writer.option("checkpointLocation", folder).start()
    unasked = wait_of(spark)
    target = connection.target(query)
    stage = next(iter(target.stages.values()))
    found = {"stages": dict(target.stages), "batches": [], "waits": [unasked, wait_of(spark)]}
    for shift in (0, 1, 2):
        target.placement.push(target.scope, asked(stage, shift))
        found["batches"].append(settled(connection, target, asked(stage, shift)))
    done = by_the_loop(target, lambda: target.placement.push(target.scope, asked(stage, 1)))
    found["loop"] = [done.outcome, done.receipt.level if done.receipt else "", done.check.hits, list(done.warnings)]
    found["failures"] = target.placement.failures
    query.stop()
    return found


def chained(spark, connection, folder):
    """Rows told apart in one stage and counted in the next: each moves its own state, and hits cost no call."""
    source = spark.readStream.format("rate").options(rowsPerSecond=600, numPartitions=N).load()
    apart = source.select((source.value % 5000).alias("key")).dropDuplicates(["key"])
    counts = apart.groupBy((fn.col("key") % 7).alias("rest")).count()
    writer = counts.writeStream.format("noop").outputMode("update").trigger(processingTime="1 second")
    query = writer.option("checkpointLocation", folder).start()
    target = connection.target(query)
    stages = sorted(target.stages.values())
    found = {"stages": stages, "numbers": [[op.number for op in each] for each in stateful_stages(query)], "hits": []}
    for shift in (1, 2):
        table = {(stage, index): turn(shift + stage)[index] for stage in stages for index in range(N)}
        target.placement.push(target.scope, table)
        found["hits"].append(settled(connection, target, table))
    found["places"] = places_of(spark, query) == table
    found["calls of hits"] = min(calls_of(connection, target) for _ in range(5))
    query.stop()
    return found


def joined(spark, connection, folder):
    """A join whose state has the third format, with one store for both sides, moved once."""
    spark.conf.set("spark.sql.streaming.join.stateFormatVersion", "3")
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    left, right = (
        spark.readStream.format("rate").options(rowsPerSecond=120, numPartitions=N).load().drop("timestamp")
        for _ in range(2)
    )
    writer = left.join(right, "value").writeStream.format("noop").trigger(processingTime="1 second")
    query = writer.option("checkpointLocation", folder).start()
    target = connection.target(query)
    (stage,) = target.stages.values()
    found = {"stage": stage, "stores": [op.stores for op in stateful_stages(query)[stage]]}
    target.placement.push(target.scope, asked(stage, 1))
    found["hits"] = settled(connection, target, asked(stage, 1))
    query.stop()
    return found


def settled(connection, target, table):
    """Whether three batches ran as asked: the first three of which the last two did, else the last three of ten.

    Where one batch follows the other at once, Spark may plan it before it was told again.
    """
    since, stages = time.time(), {stage for stage, _ in table}
    for count in range(3, 11):
        jobs = connection.recorder.wait(target.scope, count, since=since, timeout=PATIENCE)[:count]
        hosts = [{(stage, end.partition): end.host for stage in stages for end in job.stage(stage)} for job in jobs]
        hits = [each == table for each in hosts]
        if all(hits[-2:]):
            break
    return hits[-3:]


def places_of(spark, query):
    """Host of each (stage, partition), as Spark's coordinator of state stores has it."""
    gateway, root = running_gateway(), f"{stream_execution(query).resolvedCheckpointRoot()}/state"
    state, run = gateway.jvm.org.apache.spark.sql.execution.streaming.state, gateway.jvm.java.util.UUID
    found = {}
    for operator in (0, 1):
        for index in range(N):
            store = state.StateStoreId(root, operator, index, "default")
            provider = state.StateStoreProviderId(store, run.fromString(str(query.runId)))
            place = state_coordinator(spark).getLocation(provider).get()
            # Operators are numbered from the sink: 0 counts, in stage 2; 1 tells rows apart, in stage 1.
            found[2 - operator, index] = place.split("_")[1]
    return found


def calls_of(connection, target):
    """Calls to the coordinator while three batches end; on a busy machine one of them may miss, which costs some."""
    before = told_of(connection)
    connection.recorder.wait(target.scope, 3, since=time.time(), timeout=PATIENCE)
    return told_of(connection) - before


def told_of(connection):
    return connection._soft._placement.told


def asked(stage, shift):
    return {(stage, index): host for index, host in enumerate(turn(shift))}


def by_the_loop(target, disturb):
    """A round that moves tasks; at this level some miss their host on a busy machine, and it is tried again."""
    limits = Limits(deadline=60.0, slowdown=None)
    control = Control(scheduler="even", options={"rebalance": True}, engine="spark", window=2.0, limits=limits)
    for _ in range(5):
        done = Loop(PluginHost.load(["spark", "even"]), control, target).round(replan=True)
        if done.outcome == "executed":
            break
        disturb()
    return done


def wait_of(spark):
    return spark.sparkContext._jsc.sc().conf().get("spark.locality.wait", "unset")


def slow(seconds):
    def run(index, rows):
        time.sleep(seconds)
        yield from where(index, rows)

    return run


def rescue(spark, cluster):
    """A Worker dies while tasks wait for it; with a wait of ten minutes only the watchdog frees them."""
    asked = [HOSTS[0] if index % 2 == 0 else HOSTS[2] for index in range(N)]
    pinned = pin(spark, spark.sparkContext.parallelize([], N), asked)
    threading.Timer(1.0, kill_worker, [cluster, HOSTS[2]]).start()
    ran = [host for _, host in sorted(pinned.rdd.mapPartitionsWithIndex(slow(2)).collect())]
    return {"stayed": [ran[index] for index in (0, 2, 4)] == [HOSTS[0]] * 3, "moved": HOSTS[2] not in ran}


def healthy(spark):
    """After that loss: a stage of long tasks, more than its node has cores, begins none for a while and stays there."""
    pinned = pin(spark, spark.sparkContext.parallelize([], 4), [HOSTS[0]] * 4)
    ran = [host for _, host in sorted(pinned.rdd.mapPartitionsWithIndex(slow(8)).collect())]
    return ran == [HOSTS[0]] * 4


def wait(holds, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError("not in time")
        time.sleep(0.1)


SECOND = ("joined", "chained")
"""Parts for the matrix, which this script runs if it is told `second`: a placed stage with state has cheaper ones."""


def main(*words):
    found = {}
    second = "second" in words
    with tempfile.TemporaryDirectory() as folder, LocalSpark(worker_specs((2, 1, 1))) as cluster:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = SparkSession.builder.master(cluster.master_url)
        quick = " ".join(BRIEF)
        for key, value in {
            "spark.driver.extraJavaOptions": quick,
            "spark.executor.extraJavaOptions": quick,
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": str(N),
            "spark.sql.adaptive.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.shuffle.reduceLocality.enabled": "false",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": Path(folder).as_uri(),
            "spark.eventLog.rolling.enabled": "true",
            "spark.eventLog.compress": "true",
            "spark.eventLog.compression.codec": "zstd",
        }.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        wait(lambda: len(set(executors(spark).values())) == 3)
        with headworks_spark.connect(spark) as connection:
            found |= {"level": connection.level, "warnings": list(connection.warnings)}
            for name, part in {
                "batch": lambda: batch(spark),
                "batches": lambda: batches(spark, f"{folder}/batches"),
                "state": lambda: state(spark, connection, f"{folder}/state"),
                "joined": lambda: joined(spark, connection, f"{folder}/joined"),
                "stateless": lambda: stateless(spark, connection, f"{folder}/stateless"),
                "chained": lambda: chained(spark, connection, f"{folder}/chained"),
            }.items():
                if (name in SECOND) is not second:
                    continue
                found[name] = part()
                sys.stderr.write(f"{time.strftime('%X')} {name}: {found[name]}\n")
            found["dropped"] = connection.recorder.dropped
        found["wait after"] = wait_of(spark)
        if second:
            spark.stop()
            sys.stdout.write(json.dumps(found) + "\n")
            return
        spark.sparkContext._jsc.sc().conf().set("spark.locality.wait", "600s")
        with Watchdog(spark):
            found["rescue"] = rescue(spark, cluster)
            found["healthy"] = healthy(spark)
        live = {job.start.job: job.start.scope for job in connection.recorder.jobs()}
        spark.stop()
        (log,) = Path(folder).glob("eventlog_v2_*")
        again = replay(log)
        logged = {job.start.job: job.start.scope for job in again.history.jobs if job.end.succeeded}
        found["replay"] = {
            "jobs": set(live.items()) <= set(logged.items()) and len(live) > 20,
            "unread": again.unread,
            "batches": len(again.history.progress) > 5,
        }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
