"""Placed queries while tasks fail and executors and Workers die: no row lost, no wait above its bound, memory flat.

It lasts three minutes; HEADWORKS_SOAK_SECONDS says otherwise, and the matrix, which alone has it, makes it thirty. Two
queries with state in RocksDB are followed, one without pauses and one with a trigger of 45 s, on three hosts with two
executors each.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import statistics
import sys
import threading
import time
from collections import Counter, defaultdict

import psutil
import pytest
from pyspark import TaskContext
from pyspark.sql import functions as fn

import headworks_spark
from adapters.spark.spark_jobs import HOSTS, executor_pids
from headworks.control.guards import Guards
from headworks.control.loop import Control
from headworks.model import Limits
from headworks_local.process import command_line
from headworks_local.reaper import marked
from headworks_spark.driver.gateway import running_gateway
from headworks_spark.driver.session import executors
from headworks_spark.local.cluster import LocalSpark, WorkerSpec
from headworks_spark.placement.table import PlacementTable
from patience import PATIENCE
from spark_kills import kill_worker

SECONDS = float(os.environ.get("HEADWORKS_SOAK_SECONDS", "180"))
DEATHS = 4
"""It goes on until so many have died, and each query was moved or asked for again, however slow the machine."""
MEGABYTE = 1024.0 * 1024.0
GROWTH = 48.0
"""MB that the driver's heap after collection, and this process, may grow from the first third to the last."""
PARTITIONS = 6
ROWS = 3000
KEYS = 997
FAILS = 0.04
"""Chance that an attempt of a task fails; the third one of a task does not."""
WAIT = 15.0
"""Seconds that a placed task waits for a busy node, if two of its tasks do not take longer."""
TRIGGERS = {"quick": "0 seconds", "slow": "45 seconds"}
SETTINGS = {
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.task.maxFailures": "10",
    "spark.sql.shuffle.partitions": str(PARTITIONS),
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
    # what Spark remembers for its pages is full after some minutes, so that memory can be seen to be flat
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "20",
}

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.soak, pytest.mark.timeout(SECONDS + 1800)]


@pytest.fixture(scope="module")
def cluster(java):
    workers = tuple(WorkerSpec(host=host, cores=2, memory_mb=1300) for host in HOSTS)
    with LocalSpark(workers, timeout=PATIENCE) as local:
        yield local


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="module")
def spark(cluster, events):
    more = {"spark.eventLog.dir": events.as_uri()}
    spark = headworks_spark.session(cluster.master_url, hosts=HOSTS, timeout=PATIENCE, **SETTINGS, **more)
    yield spark
    spark.stop()


class Reaper:
    """Kills executors and Workers, never those of the first host, and brings Workers back."""

    def __init__(self, spark, cluster):
        self.deaths = Counter()
        self._spark = spark
        self._cluster = cluster
        self._random = random.Random(7)

    def strike(self):
        """Kill something, if anything can be killed."""
        victims = sorted(set(HOSTS[1:]) & self._workers() & set(executors(self._spark).values()))
        if victims:
            host = self._random.choice(victims)
            self._random.choice([self._kill_executor, self._kill_executor, self._kill_worker])(host)

    def revive(self):
        for host in sorted(set(HOSTS) - self._workers()):
            self._cluster.start_worker(host)

    def pause(self, query):
        """Some seconds, and until a batch has ended, so that on a slow machine something happens between two deaths."""
        ended = (query.lastProgress or {}).get("batchId")
        time.sleep(self._random.uniform(5.0, 30.0))
        until(lambda: not query.isActive or (query.lastProgress or {}).get("batchId") != ended)

    def _workers(self):
        """Hosts of the Workers that run; the Master may not have noticed yet that another died."""
        return {daemon.name.removeprefix("worker-") for daemon in self._cluster.daemons}

    def _kill_executor(self, host):
        """One of the two; none where it is just dying of an earlier shot."""
        for pid in executor_pids(self._spark, host)[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.deaths["executors"] += 1

    def _kill_worker(self, host):
        kill_worker(self._cluster, host)
        self.deaths["Workers"] += 1


class Memory:
    """MB of the driver's heap after a collection and of this process, and when that was."""

    def __init__(self):
        self._seen = []

    def look(self, passed):
        self._seen.append((passed, heap(), resident()))

    def thirds(self):
        """Medians of the first and of the last third of the time, for the heap and for this process."""
        end = self._seen[-1][0]
        parts = (
            [each for each in self._seen if each[0] <= end / 3],
            [each for each in self._seen if each[0] > end / 1.5],
        )
        return [tuple(statistics.median(each[at] for each in part) for part in parts) for at in (1, 2)]


def test_followed_queries_survive_failures_and_deaths(spark, cluster, events, tmp_path, capsys):
    reaper, memory, rounds, lock = Reaper(spark, cluster), Memory(), defaultdict(list), threading.Lock()

    def keep(name):
        def on_round(done):
            with lock:
                rounds[name].append((done.outcome, done.message, bool(done.receipt)))

        return on_round

    with headworks_spark.connect(spark) as connection:
        queries = {name: counting(spark, name, tmp_path) for name in TRIGGERS}
        followers = {
            name: connection.follow(query, control(), interval=5.0, on_round=keep(name))
            for name, query in queries.items()
        }
        until(lambda: all(rounds[name] for name in queries))
        began = time.monotonic()
        while (
            (passed := time.monotonic() - began) < SECONDS
            or reaper.deaths.total() < DEATHS
            or not all(any(asked for _, _, asked in rounds[name]) for name in queries)
        ):
            assert passed < SECONDS + 900, (dict(rounds), reaper.deaths)
            reaper.strike()
            reaper.revive()
            reaper.pause(queries["quick"])
            memory.look(passed)
            for name, query in queries.items():
                assert query.isActive, query.exception()
                assert followers[name].alive, rounds[name][-1:]
        left = {name: PlacementTable.of(spark).left(str(query.id)) for name, query in queries.items()}
        for name, query in queries.items():
            after_next_batch(query)
            followers[name].stop()
            query.stop()
            assert lost(spark, name, query) == []
        assert connection.recorder.dropped == 0
    outcomes = {name: dict(Counter(outcome for outcome, _, _ in rounds[name])) for name in queries}
    heaps, residents = memory.thirds()
    waits = Waits.read(events)
    batches = {name: query.lastProgress["batchId"] for name, query in queries.items()}
    with capsys.disabled():
        died = ", ".join(f"{number} {name} died" for name, number in sorted(reaper.deaths.items()))
        sys.stdout.write(
            f"soak: {passed:.0f} s, {died}, batches {batches}, rounds {outcomes}, left {left}, {waits}, "
            f"heap {heaps} and RSS {residents} MB in the first and last third\n"
        )
    assert not {"failed", "held", "ended"} & {each for found in outcomes.values() for each in found}
    assert waits.failed > 0
    assert waits.longest <= waits.bound
    for early, late in (heaps, residents):
        assert late - early < GROWTH
    until(lambda: sorted(executors(spark).values()) == sorted(HOSTS * 2))
    until(lambda: strays(cluster) == [])
    until(lambda: sum("--executor-id" in words for words in family(cluster).values()) == 2 * len(HOSTS))


def control():
    """Uneven places are made even: after each death, and each return."""
    guards = Guards(cooldown=5)
    limits = Limits(slowdown=None, deadline=60.0)
    return Control(
        scheduler="even", options={"rebalance": True}, engine="spark", window=1.0, guards=guards, limits=limits
    )


def counting(spark, name, folder):
    """Values, and how many there were, by their rest: what a batch job would say of the same numbers."""

    def faulty(batches):
        """The same rows; now and then the attempt fails, before or after them."""
        chance = random.SystemRandom()  # forks of a Python process begin alike otherwise
        fails = chance.random() < FAILS and TaskContext.get().attemptNumber() < 2
        early = chance.random() < 0.5
        if fails and early:
            raise OSError(28, "No space left on device")
        yield from batches
        if fails:
            raise OSError(5, "Input/output error")

    source = spark.readStream.format("rate-micro-batch").options(rowsPerBatch=ROWS, numPartitions=PARTITIONS).load()
    rows = source.select("value").mapInArrow(faulty, "value long")
    counts = answer(rows).mapInArrow(faulty, "rest long, rows long, total long, latest long")
    writer = counts.writeStream.queryName(name).format("memory").outputMode("complete")
    return writer.option("checkpointLocation", f"{folder}/{name}").trigger(processingTime=TRIGGERS[name]).start()


def answer(rows):
    grouped = rows.groupBy((rows.value % KEYS).alias("rest"))
    return grouped.agg(
        fn.count(fn.lit(1)).alias("rows"), fn.sum("value").alias("total"), fn.max("value").alias("latest")
    )


def after_next_batch(query):
    seen = query.lastProgress["batchId"]
    until(lambda: query.lastProgress["batchId"] > seen or not query.isActive)


def lost(spark, name, query):
    """Rows of the stream's answer that are not those of a batch job over the same numbers, or missing."""
    offset = query.lastProgress["sources"][0]["endOffset"]
    offset = json.loads(offset) if isinstance(offset, str) else offset
    streamed = {row.rest: row for row in spark.table(name).collect()}
    numbers = max(offset["offset"], 1 + max(row.latest for row in streamed.values()))
    wanted = {row.rest: row for row in answer(spark.range(numbers).withColumnRenamed("id", "value")).collect()}
    return [
        (wanted.get(rest), streamed.get(rest))
        for rest in wanted.keys() | streamed.keys()
        if wanted.get(rest) != streamed.get(rest)
    ]


class Waits:
    """What Spark's own event log says: the longest time in which a stage with tasks to come began none.

    The bound is for a busy node, and its clock stands while the node runs a task of the stage: so a stage begins
    something within the bound, and within the time of a task where all cores are busy.
    """

    def __init__(self, longest, bound, failed):
        self.longest, self.bound, self.failed = longest, bound, failed

    def __str__(self):
        return f"longest wait {self.longest:.1f} of {self.bound:.1f} s, {self.failed} attempts of tasks failed"

    @classmethod
    def read(cls, folder):
        submitted, launches, took, failed = {}, defaultdict(list), [], 0
        (log,) = folder.iterdir()
        for line in log.read_text().splitlines():
            with contextlib.suppress(json.JSONDecodeError):  # the last line may be half written
                event = json.loads(line)
                kind = event["Event"].removeprefix("SparkListener")
                if kind == "StageSubmitted":
                    info = event["Stage Info"]
                    submitted[info["Stage ID"], info["Stage Attempt ID"]] = info["Submission Time"] / 1e3
                if kind == "TaskStart":
                    stage = event["Stage ID"], event["Stage Attempt ID"]
                    launches[stage].append(event["Task Info"]["Launch Time"] / 1e3)
                if kind == "TaskEnd":
                    info = event["Task Info"]
                    took.append((info["Finish Time"] - info["Launch Time"]) / 1e3)
                    failed += event["Task End Reason"]["Reason"] == "ExceptionFailure"
        gaps = []
        for stage, begun in launches.items():
            # only the first tasks: those that run again begin when they failed, and not before
            times = [submitted[stage], *sorted(begun)[:PARTITIONS]]
            gaps += [later - earlier for earlier, later in itertools.pairwise(times)]
        return cls(max(gaps), max(WAIT, 2 * max(took)) + max(took), failed)


def heap():
    """MB in use in the driver after a collection."""
    jvm = running_gateway().jvm
    for _ in range(2):
        jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return round((runtime.totalMemory() - runtime.freeMemory()) / MEGABYTE)


def resident():
    """MB of this process."""
    return round(psutil.Process().memory_info().rss / MEGABYTE)


def family(cluster):
    """The command line of every process that inherited the cluster's environment, by pid."""
    return {process.pid: command_line(process.pid) for process, _ in marked(cluster.group)}


def strays(cluster):
    """Processes of the cluster that are no daemon, and whose parent is gone."""
    bred, daemons = family(cluster), {daemon.pid for daemon in cluster.daemons}
    return [words for pid, words in bred.items() if pid not in daemons and parent(pid) not in {None, *bred}]


def parent(pid):
    """None if the process has ended meanwhile."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).ppid()
    return None


def until(holds):
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.5)
