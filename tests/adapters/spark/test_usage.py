"""The executor plugin on a real cluster: it sees what Python workers burn, and Spark's own metric does not."""

from __future__ import annotations

import time

import psutil
import pytest

import headworks_spark
from adapters.spark.spark_jobs import executor_pid
from headworks_spark.driver.session import executors
from headworks_spark.driver.usage import node_usage, read_usage
from headworks_spark.monitor import observe
from patience import PATIENCE

HOSTS = ["127.0.0.2", "127.0.0.3", "127.0.0.4"]
CORES = 7
"""Of the whole cluster: so many tasks at once are on every executor."""
SECONDS = 1.2
BURNED = CORES * SECONDS
"""CPU seconds in Python, of all tasks together."""

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def burn(spark, seconds):
    """Have every core of the cluster compute in a Python worker for so many CPU seconds."""
    from pyspark.sql import functions as fn

    # a function of a function: workers cannot import this module, so that it has to be sent
    def work(seconds):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass
        return 0

    spark.range(0, CORES, 1, CORES).select(fn.udf(work, "long")(fn.lit(seconds))).collect()


def witness(spark):
    """CPU seconds since their start and resident MB of all executors and what they started, as the system counts."""
    cpu = memory = 0.0
    for host in HOSTS:
        executor = psutil.Process(executor_pid(spark, host))
        for each in (executor, *executor.children(recursive=True)):
            times = each.cpu_times()
            cpu += times.user + times.system + times.children_user + times.children_system
            memory += each.memory_info().rss / 2**20
    return cpu, memory


def until(look):
    deadline = time.monotonic() + PATIENCE
    while not look() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert look()


@pytest.fixture(scope="module")
def connection(spark):
    with headworks_spark.connect(spark) as connection:
        yield connection


@pytest.fixture(scope="module")
def burned(spark, connection):
    """Usage of the live executors before and after all cores burned, and the job that did."""
    until(lambda: set(executors(spark)) <= set(read_usage(spark)))
    alive = set(executors(spark))  # executors that tests before this one killed have reports as well
    burn(spark, 0.0)  # starts the workers
    started = time.time()
    until(lambda: min(read_usage(spark)[each].time for each in alive) > started)
    first, _ = witness(spark)
    before, since = read_usage(spark), time.time()
    burn(spark, SECONDS)
    (job,) = connection.recorder.wait(None, 1, since=since, timeout=PATIENCE)
    until(lambda: sum(read_usage(spark)[each].cpu - before[each].cpu for each in alive) > 0.9 * BURNED)
    after = read_usage(spark)
    spent = witness(spark)[0] - first
    return {each: before[each] for each in alive}, {each: after[each] for each in alive}, job, spent


def test_every_executor_is_heard_with_its_python_workers(burned, connection):
    _, after, _, _ = burned
    assert connection.level == "hard"
    assert all(each.processes > 1 and each.memory > 50 for each in after.values())


def test_python_s_cpu_is_in_it_and_not_in_spark_s_metric(burned):
    before, after, job, spent = burned
    used = sum(after[each].cpu - before[each].cpu for each in after)
    assert 0.9 * BURNED < used < 1.3 * spent
    assert sum(end.cpu for end in job.tasks) < 0.5 * BURNED  # starting and ending the tasks, on a slow machine


def test_memory_is_what_the_system_says_of_the_same_processes(burned, spark):
    alive = set(executors(spark))
    until(lambda: sum(read_usage(spark)[each].memory for each in alive) == pytest.approx(witness(spark)[1], rel=0.2))


def test_nodes_have_it_in_points(burned, spark):
    before, after, _, _ = burned
    nodes = node_usage(before, after, executors(spark))
    assert [each.node for each in nodes] == HOSTS
    assert all(each.cpu > 0 for each in nodes)
    assert {each.source for each in nodes} == {"processes"}


def test_schedulers_are_given_it(connection, spark, tmp_path):
    source = spark.readStream.format("rate").options(rowsPerSecond=100, numPartitions=2).load()
    writer = source.groupBy(source.value % 10).count().writeStream.format("noop").outputMode("update")
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    try:
        seen = observe(connection.target(query), 2.0)
    finally:
        query.stop()
    assert sorted((each.node, each.source) for each in seen.metrics.nodes) == [(each, "processes") for each in HOSTS]
