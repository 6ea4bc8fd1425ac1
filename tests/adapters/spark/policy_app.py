"""An application of a user who has the jar of Headworks and nothing else of it; its stages are told by job group."""

import os
import signal
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

SETTING = "spark.headworks.policy"
BATCHES = 4

spark = SparkSession.builder.getOrCreate()
context = spark.sparkContext


def run(group, tasks):
    context.setJobGroup(group, group)
    rows = context.parallelize(range(tasks), tasks).map(lambda each: (each, each))
    rows.groupByKey(tasks).count()


def end_batches(query):
    """Wait until some more batches with rows have ended."""
    ended = -1
    for _ in range(BATCHES):
        while not (last := query.lastProgress) or last["batchId"] <= ended or not last["numInputRows"]:
            assert query.isActive, query.exception()
            time.sleep(0.05)
        ended = last["batchId"]
    return ended


def executors():
    """The pid of each executor that runs tasks, by its host: the parent of the parent of what runs a task."""

    def executor(_number):
        daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
        time.sleep(0.05)
        return os.environ["SPARK_LOCAL_IP"], int(daemon.rpartition(")")[2].split()[1])

    context.setJobGroup("executors", "executors")
    return dict(context.range(21, numSlices=21).map(executor).collect())


def all_executors():
    """Wait until there are three: Spark starts jobs before, and a Worker starts one in place of a dead one."""
    while len(found := executors()) < 3:
        pass
    return found


def stream(name, partitions):
    return spark.readStream.format("rate").options(rowsPerSecond=1000, numPartitions=partitions).load().alias(name)


context.setLocalProperty(SETTING, "off")
pids = all_executors()
run("off", 2)
context.setLocalProperty(SETTING, None)
for _ in range(3):
    run("binpack", 2)
context.setLocalProperty(SETTING, "balance")
for tasks in (3, 4, 7):
    run(f"balance {tasks}", tasks)
context.setLocalProperty(SETTING, None)

plain = stream("plain", 2).writeStream.format("noop").start()
packed = end_batches(plain)
spark.sql(f"SET {SETTING}=off")
spread = end_batches(plain)
plain.stop()

spark.sql(f"SET {SETTING}=even-state")
spark.conf.set("spark.sql.shuffle.partitions", 10)
counts = stream("counts", 1).groupBy("value").count()
even = counts.writeStream.format("noop").outputMode("update").option("checkpointLocation", sys.argv[1]).start()
end_batches(even)
context.setLocalProperty(SETTING, "off")
os.kill(pids[sys.argv[2]], signal.SIGKILL)
while pids[sys.argv[2]] in executors().values():
    pass
all_executors()
end_batches(even)
even.stop()
spark.stop()
sys.stdout.write(f'{{"plain": "{plain.id}", "even": "{even.id}", "packed": {packed}, "spread": {spread}}}\n')
