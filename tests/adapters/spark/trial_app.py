"""An application whose jobs take longer, or less long, where their tasks share an executor, whatever else runs."""

import fcntl
import itertools
import os
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

FOLDER = Path(sys.argv[1])
SECONDS = 0.5
PACKED, SPREAD = 12, 5
"""Jobs in a row of one kind: while jobs are compared, there are at most 11 and two."""

spark = SparkSession.builder.getOrCreate()
context = spark.sparkContext


def in_turn(_number):
    """Work of which a host can do one at a time, as with one disk."""
    host = os.environ["SPARK_LOCAL_IP"]
    with Path(FOLDER, host).open("w") as disk:
        fcntl.flock(disk, fcntl.LOCK_EX)
        time.sleep(SECONDS)
    return host


def fetched(number):
    """Work that each host fetches once for all its tasks, from a store that serves one host at a time."""
    host = os.environ["SPARK_LOCAL_IP"]
    with Path(FOLDER, "store").open("w") as store:
        fcntl.flock(store, fcntl.LOCK_EX)
        if not Path(FOLDER, f"{number}-{host}").exists():
            time.sleep(SECONDS)
            Path(FOLDER, f"{number}-{host}").touch()
    return host


def repeat(group, policy, work, tasks, hosts, in_a_row):
    """Run a job until so many in a row ran on so many hosts."""
    context.setJobGroup(group, group)
    context.setLocalProperty("spark.headworks.policy", policy)
    row = 0
    for number in itertools.count():
        ran = context.parallelize([number] * tasks, tasks).map(work).collect()
        row = row + 1 if len(set(ran)) == hosts else 0
        if row == in_a_row:
            return


context.setLocalProperty("spark.headworks.policy", "off")
# Spark starts jobs before all executors are there.
while len(set(context.range(3, numSlices=3).map(lambda _: os.environ["SPARK_LOCAL_IP"]).collect())) < 3:
    pass
repeat("good binpack", "binpack", fetched, tasks=3, hosts=1, in_a_row=PACKED)
repeat("bad binpack", "binpack", in_turn, tasks=2, hosts=2, in_a_row=SPREAD)
spark.stop()
