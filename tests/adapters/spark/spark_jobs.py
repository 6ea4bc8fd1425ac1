"""Jobs to place, and where their tasks ran according to Spark."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import psutil

from headworks_local.process import command_line
from headworks_spark.driver.gateway import scala_context
from patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
PARTITIONS = 6

Hosts = dict[tuple[int, int], str]


def rotation(shift: int, stages: int) -> Hosts:
    """A place for every partition: neighbours on different hosts, another one with every shift."""
    places = ((stage, index) for stage in range(stages) for index in range(PARTITIONS))
    return {(stage, index): HOSTS[(stage + index + shift) % len(HOSTS)] for stage, index in places}


def three_stages(spark: SparkSession, group: str) -> Hosts:
    """Run three stages of one job; the tasks themselves tell the address of their Worker."""

    def tell(stage: int) -> Any:
        def rows(index: int, rows: Any) -> Any:
            yield index, (stage, index, os.environ["SPARK_LOCAL_IP"])
            yield from rows

        return rows

    context = spark.sparkContext
    context.setJobGroup(group, group)
    rdd = context.parallelize([], PARTITIONS).mapPartitionsWithIndex(tell(0))
    for stage in (1, 2):
        rdd = rdd.partitionBy(PARTITIONS).mapPartitionsWithIndex(tell(stage))
    return {(stage, index): host for _, (stage, index, host) in rdd.collect()}


def slow_stage(spark: SparkSession, group: str, seconds: float) -> dict[int, str]:
    """Run one stage whose tasks sleep, and tell the host of each."""

    def sleep(index: int, _rows: Any) -> Any:
        time.sleep(seconds)
        yield index, os.environ["SPARK_LOCAL_IP"]

    spark.sparkContext.setJobGroup(group, group)
    return dict(spark.sparkContext.parallelize([], PARTITIONS).mapPartitionsWithIndex(sleep).collect())


def counting_query(spark: SparkSession, checkpoint: str) -> StreamingQuery:
    """A query of two stages, source and state, each of PARTITIONS tasks."""
    spark.conf.set("spark.sql.shuffle.partitions", PARTITIONS)  # another test's query may have set its own
    source = spark.readStream.format("rate").options(rowsPerSecond=600, numPartitions=PARTITIONS).load()
    counts = source.groupBy(source.value % 100).count()
    writer = counts.writeStream.format("noop").outputMode("update")
    return writer.option("checkpointLocation", checkpoint).start()


def next_batch(spark: SparkSession, query: StreamingQuery) -> Hosts:
    """Where the tasks of the first batch with data that starts from now on ran, as Spark's own UI tells it."""
    tracker = spark.sparkContext.statusTracker()
    seen = max(tracker.getJobIdsForGroup(str(query.runId)), default=-1)
    for _ in patience():
        assert query.isActive, query.exception()
        for job in sorted(tracker.getJobIdsForGroup(str(query.runId))):
            hosts = job_hosts(spark, job) if job > seen + 1 else {}
            if len(hosts) == 2 * PARTITIONS:
                return hosts
    raise AssertionError


def patience(seconds: float = PATIENCE) -> Iterator[None]:
    """Yield ten times a second, and fail when the time is over."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        yield
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds} s")


def job_hosts(spark: SparkSession, job: int) -> Hosts:
    """Host of each task that a job has finished; tasks reach the store a little later than their job's end."""
    store = spark.sparkContext._jsc.sc().statusStore()
    hosts = {}
    for ordinal, stage in enumerate(sorted(spark.sparkContext.statusTracker().getJobInfo(job).stageIds)):
        found = store.taskList(stage, 0, 1000)
        for task in (found.apply(index) for index in range(found.size())):
            if task.status() == "SUCCESS":
                hosts[ordinal, task.partitionId()] = task.host()
    return hosts


def joining_query(spark: SparkSession, checkpoint: str) -> StreamingQuery:
    """A stream-stream join: two sources and the join, three stages of PARTITIONS tasks."""
    spark.conf.set("spark.sql.shuffle.partitions", PARTITIONS)
    left, right = (
        spark.readStream.format("rate").options(rowsPerSecond=120, numPartitions=PARTITIONS).load().drop("timestamp")
        for _ in range(2)
    )
    writer = left.join(right, "value").writeStream.format("noop").outputMode("append")
    return writer.option("checkpointLocation", checkpoint).start()


def batch_hosts(recorder: Any, query: StreamingQuery, stages: int) -> Hosts:
    """Where the tasks of the first batch with data that starts from now on ran, as its events tell it."""
    since = time.time()
    for count in range(1, 30):
        jobs = recorder.wait(str(query.id), count, since=since, timeout=PATIENCE)
        assert len(jobs) >= count, query.exception()
        job = jobs[count - 1]
        if all(len(job.stage(stage)) == PARTITIONS for stage in range(stages)):
            return {(stage, end.partition): end.host for stage in range(stages) for end in job.stage(stage)}
    raise AssertionError


def executor_pid(spark: SparkSession, host: str) -> int:
    """The executor of this session's driver on a host."""
    pids = executor_pids(spark, host)
    assert pids, f"no executor of this driver runs on {host}"
    return pids[0]


def executor_pids(spark: SparkSession, host: str) -> list[int]:
    """The executors of this session's driver on a host: none while a new one is on its way."""
    port = scala_context(spark.sparkContext).conf().get("spark.driver.port")
    return [
        pid
        for pid in psutil.pids()
        if host in (words := command_line(pid))
        and "--executor-id" in words
        and any(word.endswith(f":{port}") for word in words)
    ]
