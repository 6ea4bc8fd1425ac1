"""Two hosts with two executors each, nodes that are excluded, and a resource profile: prints what happened as JSON."""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
import threading
import time
from collections import defaultdict
from functools import partial
from pathlib import Path

from pyspark.resource import ExecutorResourceRequests, ResourceProfileBuilder, TaskResourceRequests

from headworks_spark import session
from headworks_spark.discovery import discover
from headworks_spark.driver.session import executors
from headworks_spark.events.recorder import EventRecorder
from headworks_spark.local.cluster import LocalSpark, WorkerSpec
from headworks_spark.placement.table import PlacementTable

PATIENCE = 600.0
"""Seconds until something is taken to hang."""
FULL, ROOMY = HOSTS = ("127.0.0.2", "127.0.0.3")
"""The first has cores for its two executors; the second has two more."""
WORKERS = (WorkerSpec(host=FULL, cores=4, memory_mb=1600), WorkerSpec(host=ROOMY, cores=6, memory_mb=2400))
WAIT = 300
"""Seconds that a task waits for a node, far more than it takes where it does not wait."""
SETTINGS = {
    "spark.executor.cores": "2",
    "spark.executor.memory": "512m",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "4",
    "spark.dynamicAllocation.executorIdleTimeout": "1h",
    "spark.excludeOnFailure.enabled": "true",
    "spark.excludeOnFailure.application.maxFailedTasksPerExecutor": "1",
    "spark.excludeOnFailure.application.maxFailedExecutorsPerNode": "1",
    "spark.headworks.wait": f"{WAIT}s",
    "spark.locality.wait.process": f"{WAIT}s",
}
"""One failed task of a stage that ends excludes its node for the rest of the application. A task waits for its executor
for so long that it is busy for less on any machine."""


PARTITIONS = 8
STORES = {
    "hdfs": ("org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider", 30),
    "rocksdb": ("org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider", 10),
}
"""The providers of state, and the batches that are looked at."""


def where(index, _rows):
    yield index, Path.cwd().name, os.environ["SPARK_LOCAL_IP"]


def state(spark, placement, recorder, provider, count):
    """A query of a source and a state, placed once: executors of each partition of its state, batch by batch."""
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    spark.conf.set("spark.sql.shuffle.partitions", PARTITIONS)
    source = spark.readStream.format("rate").options(rowsPerSecond=600, numPartitions=PARTITIONS).load()
    writer = source.groupBy(source.value % 100).count().writeStream.format("noop").outputMode("update")
    with tempfile.TemporaryDirectory() as folder:
        query = writer.option("checkpointLocation", folder).start()
        found = discover(recorder, str(query.id), "state")
        asked = {(stage, index): HOSTS[(stage + index) % 2] for stage in range(2) for index in range(PARTITIONS)}
        placement.push(str(query.id), asked, found.signatures)
        # The first batches after a change load the state that moves.
        jobs = recorder.wait(str(query.id), count + 3, since=time.time(), timeout=PATIENCE)[3:]
        query.stop()
    ran = defaultdict(list)
    for job in jobs:
        for end in job.stage(1, found.signatures[1]):
            ran[end.partition].append((end.host, end.executor))
    return {
        "batches": len(jobs),
        "partitions": len(ran),
        "changes": sum(a != b for each in ran.values() for a, b in itertools.pairwise(each)),
        "hits": all(host == asked[1, index] for index, each in ran.items() for host, _ in each),
        "executors": len({place for each in ran.values() for place in each}),
        "left": placement.left(str(query.id)),
    }


def profile(spark, placement):
    """A stage that only new executors may run, asked for where there is no core for one."""
    executor = ExecutorResourceRequests().cores(2).memory("512m")
    wanted = ResourceProfileBuilder().require(executor).require(TaskResourceRequests().cpus(1)).build
    placement.push("profile", {(0, index): FULL for index in range(2)})
    spark.sparkContext.setJobGroup("profile", "profile")
    began = time.monotonic()
    rdd = spark.sparkContext.parallelize([], 2).withResources(wanted).mapPartitionsWithIndex(where)
    ran = {host for _, _, host in rdd.collect()}
    return {"ran": sorted(ran), "soon": time.monotonic() - began < WAIT, "left": placement.left("profile")}


def neighbour(spark, placement):
    """Two executors of two cores on a node: others keep three of these busy, and four short tasks ask for the node."""
    context = spark.sparkContext

    def occupy():
        context.setJobGroup("busy", "busy")
        context.parallelize([], 3).mapPartitions(lambda rows: (time.sleep(60), rows)[1]).collect()

    placement.push("busy", {(0, index): FULL for index in range(3)})
    placement.push("short", {(0, index): FULL for index in range(4)})
    busy = threading.Thread(target=occupy)
    busy.start()
    tracker, deadline = context.statusTracker(), time.monotonic() + PATIENCE
    while sum(tracker.getStageInfo(each).numActiveTasks for each in tracker.getActiveStageIds()) < 3:
        if time.monotonic() > deadline:
            raise TimeoutError("the tasks that keep cores busy do not run")
        time.sleep(0.1)
    context.setJobGroup("short", "short")
    ran = {host for _, _, host in context.parallelize([], 4).mapPartitionsWithIndex(where).collect()}
    before = busy.is_alive()
    busy.join()
    return {"ran": sorted(ran), "before": before, "left": placement.left("short")}


def exclusion(spark, placement):
    """One failure on the node that is asked for; then that node is excluded, whoever asks for it."""

    def fail(index, rows):
        if os.environ["SPARK_LOCAL_IP"] == FULL:
            raise OSError(28, "No space left on device")
        yield from where(index, rows)

    found = []
    for scope, work in (("fails", fail), ("excluded", where)):
        placement.push(scope, {(0, 0): FULL})
        spark.sparkContext.setJobGroup(scope, scope)
        began = time.monotonic()
        ((_, _, host),) = spark.sparkContext.parallelize([], 1).mapPartitionsWithIndex(work).collect()
        found.append([host == ROOMY, time.monotonic() - began < WAIT, placement.left(scope)])
    return found


def main():
    found = {}
    with LocalSpark(WORKERS) as cluster:
        spark = session(cluster.master_url, hosts=HOSTS, **SETTINGS)
        while len(executors(spark)) < len(HOSTS) * 2:
            time.sleep(0.1)
        placement = PlacementTable.of(spark)
        with EventRecorder(spark) as recorder:
            parts = {
                **{name: partial(state, spark, placement, recorder, *store) for name, store in STORES.items()},
                "neighbour": partial(neighbour, spark, placement),
                "profile": partial(profile, spark, placement),
                "exclusion": partial(exclusion, spark, placement),
            }
            for name, part in parts.items():
                found[name] = part()
                sys.stderr.write(f"{time.strftime('%X')} {name}: {found[name]}\n")
        spark.stop()
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
