"""Level hard on two hosts with two executors each, in a session of Headworks or in an application of spark-submit; or
with four executors that have addresses of their own on two nodes, as pods do.

What happened is printed as JSON, as rows tell it: each says which task made it, on which executor of which host.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

import headworks_spark
from adapters.spark.spark_jobs import executor_pids, patience
from headworks_local.process import command_line
from headworks_spark.driver.jar import PLACEMENT, scheduler_jar, spark_home
from headworks_spark.driver.session import executors, located
from headworks_spark.local.cluster import LocalSpark, WorkerSpec
from headworks_spark.nodes import nodes
from headworks_spark.placement.table import PlacementTable
from patience import PATIENCE

PODS = {"127.0.0.2": "node-a", "127.0.0.3": "node-a", "127.0.0.4": "node-b", "127.0.0.5": "node-b"}
if sys.argv[1] == "pods":
    HOSTS = ("node-a", "node-b")
    WORKERS = tuple(WorkerSpec(host=host, cores=1, memory_mb=800, node=node) for host, node in PODS.items())
else:
    HOSTS = ("127.0.0.2", "127.0.0.3")
    WORKERS = tuple(WorkerSpec(host=host, cores=2, memory_mb=1600) for host in HOSTS)
PARTITIONS = 4
"""Of the source and of the state: a task for each core."""
BATCHES = 6
SETTINGS = {
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": str(PARTITIONS),
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # a machine that is slow for a moment is no reason to leave an executor, nor a node
    "spark.locality.wait.process": "60s",
    "spark.headworks.wait": "120s",
}


def places(shift, stages):
    """Neighbours on different hosts, the other way round with every shift."""
    return {(stage, at): HOSTS[(stage + at + shift) % 2] for stage in range(stages) for at in range(PARTITIONS)}


def where():
    """Executor and node of this task: its working folder is named after the one, its environment tells the other."""
    return Path.cwd().name, os.environ.get("SPARK_EXECUTOR_ATTRIBUTE_NODE", os.environ["SPARK_LOCAL_IP"])


def made(batches):
    """Rows of the source, each with the task that made it."""
    for batch in batches:
        n, task = batch.num_rows, TaskContext.get().partitionId()
        buckets = pa.array([value % 25 for value in batch.column("value").to_pylist()])
        columns = [buckets, pa.array([task] * n, pa.int32()), pa.array([where()[1]] * n)]
        yield pa.RecordBatch.from_arrays(columns, ["bucket", "source", "source_host"])


def kept(batches):
    """Rows of the state, each with the task that keeps it."""
    for batch in batches:
        n, task = batch.num_rows, TaskContext.get().partitionId()
        executor, host = where()
        columns = [batch.column("source"), batch.column("source_host")]
        columns += [pa.array([task] * n, pa.int32()), pa.array([host] * n), pa.array([executor] * n)]
        yield pa.RecordBatch.from_arrays(columns, ["source", "source_host", "state", "host", "executor"])


def batch(spark, placement):
    """A job of three stages, placed twice: tasks of each stage that ran where asked."""

    def tell(stage):
        def rows(index, rows):
            yield index, (stage, index, where()[1])
            yield from rows

        return rows

    hits = []
    for shift in range(2):
        placement.push("batch", places(shift, 3))
        spark.sparkContext.setJobGroup("batch", "batch")
        rdd = spark.sparkContext.parallelize([], PARTITIONS).mapPartitionsWithIndex(tell(0))
        for stage in (1, 2):
            rdd = rdd.partitionBy(PARTITIONS).mapPartitionsWithIndex(tell(stage))
        ran = {(stage, index): host for _, (stage, index, host) in rdd.collect()}
        hits.append(ran == places(shift, 3))
    return hits


def failing(spark, placement):
    """A node that fails each of its tasks: where they ran in the end."""

    def work(index, _rows):
        if where()[1] == HOSTS[0]:
            raise OSError(28, "No space left on device")
        yield index, where()[1]

    placement.push("failing", places(0, 1))
    spark.sparkContext.setJobGroup("failing", "failing")
    ran = dict(spark.sparkContext.parallelize([], PARTITIONS).mapPartitionsWithIndex(work).collect())
    return {"ran": sorted(ran), "hosts": sorted(set(ran.values())), "left": placement.left("failing")}


class Query:
    """A stream that counts; each batch is kept as what its rows tell."""

    def __init__(self, spark, checkpoint):
        self.batches = []
        source = spark.readStream.format("rate").options(rowsPerSecond=200, numPartitions=PARTITIONS).load()
        counts = source.mapInArrow(made, "bucket long, source int, source_host string")
        counts = counts.groupBy("bucket", "source", "source_host").count()
        told = counts.mapInArrow(kept, "source int, source_host string, state int, host string, executor string")
        writer = told.writeStream.outputMode("update").option("checkpointLocation", checkpoint)
        self.query = writer.foreachBatch(self._keep).start()

    def _keep(self, frame, _number):
        rows = frame.collect()
        sources = {row.source: row.source_host for row in rows}
        self.batches.append((sources, {row.state: (row.host, row.executor) for row in rows}))

    def next(self, count, skip=2):
        """The next batches in which every task made rows, without the first, which began before or load state."""
        begun = len(self.batches) + skip
        for _ in patience():
            assert self.query.isActive, self.query.exception()
            whole = [each for each in self.batches[begun:] if len(each[0]) == len(each[1]) == PARTITIONS]
            if len(whole) >= count:
                return whole[:count]
        raise AssertionError


def hosts(batch):
    sources, states = batch
    return {
        **{(0, at): host for at, host in sources.items()},
        **{(1, at): host for at, (host, _) in states.items()},
    }


def changes(batches):
    """Executors that partitions of state changed to, batch after batch."""
    return sum(a[1][at] != b[1][at] for a, b in itertools.pairwise(batches) for at in range(PARTITIONS))


def stream(spark, placement, folder):
    """A query that is placed, moved, and loses one of the two executors of a host."""
    query = Query(spark, folder)
    scope = str(query.query.id)
    found = {"hits": [], "changes": []}
    query.next(1)
    for shift in range(2):
        placement.push(scope, places(shift, 2))
        ran = query.next(BATCHES)
        found["hits"].append(all(hosts(each) == places(shift, 2) for each in ran))
        found["changes"].append(changes(ran))
        found["executors"] = len({executor for _, executor in ran[-1][1].values()})
    before = ran[-1][1]
    host, executor = before[0]
    kill(spark, executor)
    ran = query.next(BATCHES)
    after = ran[-1][1]
    lost = {at for at, place in before.items() if place == (host, executor)}
    found["lost"] = len(lost)
    found["kept"] = all(after[at] == before[at] for at in set(before) - lost)
    found["siblings"] = all(after[at][0] == host and after[at][1] != executor for at in lost)
    found["hits"].append(all(hosts(each) == places(shift, 2) for each in ran))
    found["changes"].append(changes(ran))
    query.query.stop()
    placement.clear(scope)
    return found


def kill(spark, executor):
    """End one executor."""
    host = located(spark)[executor][1]
    pids = {command_line(pid)[command_line(pid).index("--executor-id") + 1]: pid for pid in executor_pids(spark, host)}
    os.kill(pids[executor], signal.SIGKILL)
    for _ in patience():
        if executor not in executors(spark):
            return


def killed(spark, placement, folder):
    """A stage whose tasks all wait on one host, one of whose two executors ends while they run."""
    begun = Path(folder, "begun")

    def work(index, _rows):
        if index == 0 and not begun.exists():
            begun.write_text(where()[0])
            time.sleep(300)
        time.sleep(0.2)
        yield index, where()

    placement.push("killed", dict.fromkeys(places(0, 1), HOSTS[1]))
    with shooting(spark, begun):
        spark.sparkContext.setJobGroup("killed", "killed")
        ran = dict(spark.sparkContext.parallelize([], PARTITIONS).mapPartitionsWithIndex(work).collect())
    others = all(executor != begun.read_text() for executor, _ in ran.values())
    return {"hosts": [ran[at][1] for at in sorted(ran)], "others": others, "left": placement.left("killed")}


@contextmanager
def shooting(spark, begun):
    """End the executor of the second host that writes its id into a file."""

    def shoot():
        for _ in patience():
            if begun.exists() and (executor := begun.read_text()):
                break
        kill(spark, executor)

    thread = threading.Thread(target=shoot)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def look(spark):
    for _ in patience():
        if sorted(executors(spark).values()) == sorted(HOSTS * 2):
            break
    with headworks_spark.connect(spark) as connection, tempfile.TemporaryDirectory() as folder:
        placement = PlacementTable.of(spark)
        found = {"spark": spark.version, "master": spark.sparkContext.master.partition(":")[0]}
        found["level"] = connection.level
        parts = {"batch": batch, "failing": failing}
        for name, part in parts.items():
            found[name] = part(spark, placement)
            say(name, found)
        found["stream"] = stream(spark, placement, f"{folder}/checkpoint")
        say("stream", found)
        for _ in patience():
            if sorted(executors(spark).values()) == sorted(HOSTS * 2):
                break
        found["killed"] = killed(spark, placement, folder)
        say("killed", found)
        found["nodes"] = {node.id: node.capacity.cpu for node in nodes(spark)}
        heard = connection.recorder.wait("killed", 1, since=0, timeout=PATIENCE)
        found["heard"] = sorted({end.host for job in heard for end in job.tasks})
    spark.stop()
    return found


def say(name, found):
    sys.stderr.write(f"{time.strftime('%X')} {name}: {found[name]}\n")  # spark-submit makes stdout of it


def submit(master):
    """Run this file by spark-submit, with the jar and the plugin as `headworks spark jar` says."""
    home = spark_home()
    conf = SETTINGS | {"spark.plugins": PLACEMENT}
    command = [str(home.path / "bin" / "spark-submit"), "--master", master, "--jars", str(scheduler_jar(home))]
    for key, value in conf.items():
        command += ["--conf", f"{key}={value}"]
    subprocess.run([*command, __file__, "submitted"], env=os.environ | {"PYSPARK_PYTHON": sys.executable}, check=True)


def main(how):
    if how == "submitted":
        found = look(SparkSession.builder.getOrCreate())
        sys.stdout.write(json.dumps(found) + "\n")
        return
    with LocalSpark(WORKERS) as cluster:
        if how == "submit":
            submit(cluster.master_url)
            return
        found = look(headworks_spark.session(cluster.master_url, hosts=HOSTS, **SETTINGS))
        sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
