"""What listening costs a job of 1,000 tasks on real Spark: CPU of every process, and wall time, in one run.

The same job runs without a listener and with one, in turn, and every pair gives one ratio; the table has the medians
of the ratios and their quartiles. CPU is that of the driver, of this process and of the local cluster, until all
events are parsed. Two runs of the same job differ by more than listening costs, so the work that listening is made of
is told as well, as a part of the job's CPU: `threads`, what this process uses more than without, and what the two
threads of the driver use that hear the bus and hand the events over.

The least of it: a job's events wait in the queue until it is over, and then they are taken and parsed alone.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import time
from typing import TYPE_CHECKING

from headworks.cli.output import console, table
from headworks_lab.measure.figures import processor_seconds
from headworks_spark.driver.gateway import running_gateway
from headworks_spark.driver.reach import driver_of
from headworks_spark.driver.session import ONE_JOB, session
from headworks_spark.events.event import parse
from headworks_spark.events.history import History
from headworks_spark.events.recorder import CAPACITY, EventRecorder
from headworks_spark.local.cluster import LocalSpark, worker_specs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

TASKS = 1_000
WARM_UP = 3
LISTENING = ("spark-listener-group-shared", "Thread-")


def cpu(cluster: LocalSpark) -> float:
    """CPU seconds so far of this process, the driver's JVM, and every process of the cluster."""
    pids = {os.getpid(), running_gateway().proc.pid}
    pids |= {pid for daemon in cluster.daemons for pid in daemon.members()}
    return sum(map(processor_seconds, pids))


def listening_threads() -> float:
    """CPU seconds so far of the driver's threads that hear the bus for listeners and that answer calls from Python."""
    bean = running_gateway().jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    infos = filter(None, bean.getThreadInfo(bean.getAllThreadIds()))
    ids = [each.getThreadId() for each in infos if each.getThreadName().startswith(LISTENING)]
    return sum(max(0, bean.getThreadCpuTime(each)) for each in ids) / 1e9


def job(spark: SparkSession) -> None:
    """One SQL job: 1,000 tasks that aggregate, and the one that collects."""
    spark.range(0, 10_000_000, 1, TASKS).selectExpr("sum(id * id % 7)").collect()


@contextlib.contextmanager
def listening(spark: SparkSession, *, heard: bool) -> Iterator[EventRecorder | None]:
    """A recorder; None where nothing listens."""
    if not heard:
        yield None
        return
    with EventRecorder(spark) as found:
        yield found


def measure(spark: SparkSession, cluster: LocalSpark, *, heard: bool) -> tuple[float, float, float]:
    """CPU seconds of everything and of what listens alone, and wall seconds of the job."""
    with listening(spark, heard=heard) as recorder:
        since, began = time.time(), time.perf_counter()
        before, own, threads = cpu(cluster), time.process_time(), listening_threads()
        job(spark)
        wall = time.perf_counter() - began
        if recorder is not None:
            (ended,) = recorder.wait(None, 1, since=since - 1.0, timeout=60)
            assert len(ended.tasks) > TASKS
            assert not recorder.dropped
        alone = time.process_time() - own + listening_threads() - threads
        time.sleep(0.5)
        return cpu(cluster) - before, alone, wall


def taken(spark: SparkSession) -> tuple[int, float, float]:
    """Events of a job that wait until it is over, and CPU seconds to take and parse them: driver, this process."""
    heard, history, events = driver_of(spark).listen(CAPACITY), History(), 0
    job(spark)
    time.sleep(2.0)
    before, own = processor_seconds(running_gateway().proc.pid), time.process_time()
    while texts := heard.take():
        for event in filter(None, map(parse, texts)):
            history.add(event)
            events += 1
    own, driver = time.process_time() - own, processor_seconds(running_gateway().proc.pid) - before
    heard.close()
    return events, driver, own


def quartiles(values: list[float]) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.3f} ({low:.2f}-{high:.2f})"


def compare(spark: SparkSession, cluster: LocalSpark, pairs: int) -> list[str]:
    """A row of the table."""
    with_it, without = [], []
    for number in range(pairs):
        for kind, rows in sorted([(1, with_it), (0, without)], reverse=bool(number % 2), key=lambda each: each[0]):
            rows.append(measure(spark, cluster, heard=bool(kind)))
        one, other = with_it[-1], without[-1]
        console(stderr=True).print(
            f"pair {number}: CPU {other[0]:.2f} s, with {one[0]:.2f}; wall {other[2]:.2f}, {one[2]:.2f}"
        )
    ratios = [[one[at] / other[at] for one, other in zip(with_it, without, strict=True)] for at in (0, 2)]
    seconds = [statistics.median(row[0] for row in rows) for rows in (without, with_it)]
    threads = [(one[1] - other[1]) / other[0] for one, other in zip(with_it, without, strict=True)]
    return [*(f"{each:.2f}" for each in seconds), quartiles(threads), quartiles(ratios[0]), quartiles(ratios[1])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=12)
    words = parser.parse_args()
    with LocalSpark(worker_specs((2,))) as cluster:
        spark = session(cluster.master_url, hosts=["127.0.0.2"], **ONE_JOB)
        for _ in range(WARM_UP):
            job(spark)
        alone = [taken(spark) for _ in range(3)]
        console(stderr=True).print(alone)
        row = compare(spark, cluster, words.pairs)
        spark.stop()
    columns = ("CPU s without", "with", "threads", "CPU ratio", "wall ratio")
    console().print(table(f"{TASKS} tasks, {words.pairs} pairs", columns, [row]))
    events, driver, own = (statistics.median(column) for column in zip(*alone, strict=True))
    console().print(
        f"taking and parsing its {events:.0f} events alone: driver {driver:.3f}, this process {own:.3f} CPU s"
    )


if __name__ == "__main__":
    main()
