"""What the queue of placed tasks costs Spark's scheduler: CPU of its threads for a job of 10,000 tasks, in one run.

The same job runs with a place for each of its tasks and with none, in turn, after two of each to warm up. Counted is
what the driver's threads use that queue, offer, launch and end tasks: Spark's own work and Headworks's together, by the
JVM's clock of each thread, which a busy machine does not change much.
"""

from __future__ import annotations

import argparse
import statistics
from typing import TYPE_CHECKING

from headworks.cli.output import console, table
from headworks_spark.driver.gateway import running_gateway
from headworks_spark.driver.session import ONE_JOB, session
from headworks_spark.local.cluster import LocalSpark, worker_specs
from headworks_spark.placement.table import PlacementTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOSTS = ("127.0.0.2", "127.0.0.3")
WARM_UP = 2
SCHEDULING = ("dag-scheduler-event-loop", "dispatcher-CoarseGrainedScheduler", "task-result-getter")
"""Begin the names of the threads that make task sets, offer cores, and hear of tasks that ended."""


def scheduling() -> float:
    """CPU seconds so far of these threads."""
    bean = running_gateway().jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    infos = filter(None, bean.getThreadInfo(bean.getAllThreadIds()))
    ids = [each.getThreadId() for each in infos if each.getThreadName().startswith(SCHEDULING)]
    return sum(max(0, bean.getThreadCpuTime(each)) for each in ids) / 1e9


def measure(spark: SparkSession, tasks: int, *, placed: bool) -> float:
    """CPU seconds of Spark's scheduler for one job."""
    places = PlacementTable.of(spark)
    places.clear("queue")
    if placed:
        places.push("queue", {(0, index): HOSTS[index % len(HOSTS)] for index in range(tasks)})
    spark.sparkContext.setJobGroup("queue", "queue")
    before = scheduling()
    spark.range(0, tasks, 1, tasks).selectExpr("id * id").write.format("noop").mode("overwrite").save()
    used = scheduling() - before
    assert not places.left("queue"), places.left("queue")
    return used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=10_000)
    words = parser.parse_args()
    found: dict[bool, list[float]] = {False: [], True: []}
    with LocalSpark(worker_specs((2, 2))) as cluster:
        spark = session(cluster.master_url, hosts=HOSTS, **ONE_JOB, **{"spark.headworks.wait": "300s"})
        for number in range(WARM_UP + words.pairs):
            for placed in (bool(number % 2), not number % 2):
                used = measure(spark, words.tasks, placed=placed)
                console(stderr=True).print(f"{number}: {'placed' if placed else 'left to Spark'} {used:.2f} CPU s")
                if number >= WARM_UP:
                    found[placed].append(used)
        spark.stop()
    middle = {placed: statistics.median(each) for placed, each in found.items()}
    ratios = [one / other for one, other in zip(found[True], found[False], strict=True)]
    row = [f"{middle[False]:.2f}", f"{middle[True]:.2f}"]
    row += [f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"]
    row += [f"{1e6 * (middle[True] - middle[False]) / words.tasks:.0f}"]
    columns = ("CPU s without places", "with", "ratio", "more per task, microseconds")
    console().print(table(f"Spark's scheduler, {words.tasks} tasks, {words.pairs} pairs", columns, [row]))


if __name__ == "__main__":
    main()
