"""An application of a user who has the jar of Headworks and nothing else of it; its stages are told by job group."""

import os
import sys
import time

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


def stream(name, partitions):
    return spark.readStream.format("rate").options(rowsPerSecond=1000, numPartitions=partitions).load().alias(name)


context.setLocalProperty(SETTING, "off")
# Spark starts jobs before all executors are there.
while len(set(context.range(3, numSlices=3).map(lambda _: os.environ["SPARK_LOCAL_IP"]).collect())) < 3:
    pass
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
even.stop()
spark.stop()
sys.stdout.write(f'{{"plain": "{plain.id}", "even": "{even.id}", "packed": {packed}, "spread": {spread}}}\n')
