"""Python that burns CPU in executors, in a session with the executor plugin: prints who saw it as JSON."""

from __future__ import annotations

import json
import sys
import tempfile
import time

import attrs
from pyspark.sql import functions as fn

import headgate_spark
from headgate_spark.driver.session import executors, session
from headgate_spark.driver.usage import node_usage, read_usage
from headgate_spark.local.cluster import LocalSpark, worker_specs
from headgate_spark.monitor import observe

HOSTS = ("127.0.0.2", "127.0.0.3")
TASKS = 2
SECONDS = 4.0


def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return 0


def burn_everywhere(spark, seconds):
    spark.range(0, TASKS, 1, TASKS).select(fn.udf(burn, "long")(fn.lit(seconds))).collect()


def wait(look):
    """What `look` finds, or nothing after four minutes."""
    deadline = time.monotonic() + 240
    while not (found := look()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def cpu():
    return sum(each.cpu for each in read_usage().values())


def burned(spark, recorder):
    """Seconds that Spark's own metric has, and those of the plugin, of `TASKS` times `SECONDS`."""
    burn_everywhere(spark, 0.0)  # starts the workers
    before, since = read_usage(), time.time()
    burn_everywhere(spark, SECONDS)
    jobs = recorder.wait(None, 1, since=since, timeout=240)
    wait(lambda: cpu() - sum(each.cpu for each in before.values()) > 0.9 * TASKS * SECONDS)
    after = read_usage()
    return {
        "spark": sum(end.cpu for job in jobs for end in job.tasks),
        "python": sum(end.python or 0.0 for job in jobs for end in job.tasks),
        "processes": sum(after[each].cpu - before[each].cpu for each in before),
        "count": {each: usage.processes for each, usage in after.items()},
        "memory": min(usage.memory for usage in after.values()),
        "nodes": [attrs.asdict(each) for each in node_usage(before, after, executors(spark))],
    }


def observed(spark, connection, folder):
    """Where the figures of nodes come from that schedulers are given."""
    source = spark.readStream.format("rate").options(rowsPerSecond=100, numPartitions=TASKS).load()
    writer = source.groupBy(source.value % 10).count().writeStream.format("noop").outputMode("update")
    query = writer.option("checkpointLocation", folder).start()
    seen = observe(connection.target(query), 2.0)
    query.stop()
    return sorted((each.node, each.source) for each in seen.metrics.nodes)


def main():
    with tempfile.TemporaryDirectory() as folder, LocalSpark(worker_specs((1, 1))) as cluster:
        spark = session(cluster.master_url, hosts=HOSTS, usage=True, **{"spark.sql.shuffle.partitions": str(TASKS)})
        wait(lambda: set(read_usage()) == set(executors(spark)))
        with headgate_spark.connect(spark) as connection:
            found = {"heard": sorted(read_usage()) == sorted(executors(spark)), "level": connection.level}
            found |= {"burned": burned(spark, connection.recorder)}
            found |= {"observed": observed(spark, connection, folder)}
        spark.stop()
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
