"""Tasks a second of a job of many tasks that each wait 1 ms: with a place for each, and by Spark alone, in one run.

Two drivers, each a process with its own executors on the same local cluster, take turns: one has Headworks's task
scheduler and a place for each task, and the other is PySpark as it comes. Every pair gives one ratio.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any

from headworks.cli.output import console, table
from headworks_spark.driver.session import ONE_JOB, near, session
from headworks_spark.local.cluster import LocalSpark, WorkerSpec
from headworks_spark.placement.table import PlacementTable

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from pyspark.sql import SparkSession

HOSTS = ("127.0.0.2", "127.0.0.3")
WARM_UP = 3
SCOPE = "tasks"
SETTINGS = {
    **ONE_JOB,
    "spark.executor.cores": "2",
    "spark.executor.memory": "512m",
    "spark.cores.max": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
}


def own(master: str, tasks: int) -> SparkSession:
    """A session with Headworks's task scheduler, and a place for each task."""
    spark = session(master, "ours", hosts=HOSTS, **SETTINGS, **{"spark.headworks.wait": "300s"})
    PlacementTable.of(spark).push(SCOPE, {(0, index): HOSTS[index % len(HOSTS)] for index in range(tasks)})
    return spark


def alone(master: str) -> SparkSession:
    """A session as PySpark makes it."""
    from pyspark.sql import SparkSession  # 0.3 s, which the process that starts the drivers does not need

    builder = SparkSession.builder.master(master).appName("alone")
    for name, value in (SETTINGS | near(master)).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def drive(pipe: Connection, master: str, tasks: int, *, placed: bool) -> None:
    """Run a job and tell its seconds, as often as asked."""
    spark = own(master, tasks) if placed else alone(master)
    spark.sparkContext.setJobGroup(SCOPE, SCOPE)
    frame = spark.range(0, tasks, 1, tasks).selectExpr("reflect('java.lang.Thread', 'sleep', bigint(1))")
    pipe.send(None)
    while pipe.recv():
        began = time.perf_counter()
        frame.write.format("noop").mode("overwrite").save()
        pipe.send(time.perf_counter() - began)
        left = PlacementTable.of(spark).left(SCOPE) if placed else None
        assert not left, left
    spark.stop()


def measured(drivers: dict[bool, Connection], pairs: int) -> dict[bool, list[float]]:
    """Seconds of each job, by whether its tasks had places, after some to warm up."""
    found: dict[bool, list[float]] = {False: [], True: []}
    for number in range(WARM_UP + pairs):
        for placed in (bool(number % 2), not number % 2):
            drivers[placed].send(True)
            seconds = drivers[placed].recv()
            console(stderr=True).print(f"{number}: {'placed' if placed else 'Spark alone'} {seconds:.2f} s")
            if number >= WARM_UP:
                found[placed].append(seconds)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--tasks", type=int, default=10_000)
    words = parser.parse_args()
    spawn: Any = multiprocessing.get_context("spawn")
    workers = tuple(WorkerSpec(host=host, cores=4, memory_mb=1600) for host in HOSTS)
    with LocalSpark(workers) as cluster, contextlib.ExitStack() as stack:
        drivers, processes = {}, []
        for placed in (True, False):
            drivers[placed], theirs = spawn.Pipe()
            more = {"placed": placed}
            process = spawn.Process(target=drive, args=(theirs, cluster.master_url, words.tasks), kwargs=more)
            process.start()
            theirs.close()
            processes.append(process)
            stack.callback(process.join)
            stack.callback(drivers[placed].close)
            drivers[placed].recv()
        found = measured(drivers, words.pairs)
        for each in drivers.values():
            each.send(False)
    rates = {placed: words.tasks / statistics.median(each) for placed, each in found.items()}
    ratios = [other / one for one, other in zip(found[True], found[False], strict=True)]
    row = [f"{rates[False]:,.0f}", f"{rates[True]:,.0f}"]
    row += [f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"]
    columns = ("tasks/s by Spark alone", "with places", "ratio")
    console().print(table(f"{words.tasks} tasks of 1 ms, {words.pairs} pairs", columns, [row]))


if __name__ == "__main__":
    sys.exit(main())
