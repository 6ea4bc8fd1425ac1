"""Tasks that read Kafka run in the rack of their leader: three brokers in three racks, and nodes beside them."""

from __future__ import annotations

import importlib.util
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import attrs
import pytest

pytest.importorskip("jgo")
pytest.importorskip("confluent_kafka")

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from adapters.spark.test_connect import serving
from headworks.control.journal import read_journal
from headworks_local.kafka.broker import LocalKafka
from headworks_local.maven import resolve_locked
from headworks_spark.driver.jar import spark_home
from headworks_spark.events.eventlog import replay
from headworks_spark.local.cluster import LocalSpark, worker_specs
from manager_kafka import SILENT
from patience import PATIENCE
from shell import HEADWORKS

LOCK = Path(__file__).parents[1] / "pipeline" / "kafka-4.2.0.txt"
RACKS = ("r1", "r2", "r3")
LEADERS = (1, 1, 2, 2, 3, 3)
"""Number of the broker that leads each partition. Spark gives a partition and the third after it to one executor: these
are not in one rack, so that half of them come from another one at least."""
ROWS, BATCHES, SIZE = 10, 300, 300
"""Rows of the first partition in a batch, as many more in each further one, which tells it in a log; bytes of a row."""

READS = """
import json, sys, time
from pathlib import Path
from pyspark.sql import SparkSession

journal, bootstrap, rows = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
spark = SparkSession.builder.config("spark.sql.shuffle.partitions", 3).getOrCreate()
topic = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", "rows")
topic = topic.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", rows).load()
counts = topic.groupBy("partition").count().writeStream.format("noop").queryName("reads").outputMode("complete")
query = counts.trigger(processingTime="1 second").start()


def wait(holds):
    while not holds():
        assert not query.lastProgress or query.lastProgress["sources"][0]["numInputRows"], "the topic is empty"
        time.sleep(0.1)


def executed():
    lines = journal.read_text().splitlines() if journal.exists() else ()
    return "executed" in {json.loads(line)["outcome"] for line in lines}


wait(executed)
last = query.lastProgress["batchId"] + 4
wait(lambda: query.lastProgress["batchId"] > last)
query.stop()
"""
"""Ends four batches after it was placed."""

SETTINGS = {
    "spark.headworks.kafka.racks": "true",
    "spark.headworks.wait": "120s",
    "spark.executor.memory": "512m",
    "spark.cores.max": "6",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "600s",
}
"""The last three: no batch before all executors are there."""


@pytest.fixture(scope="module")
def brokers(java):
    with ExitStack() as stack:
        made = []
        for number, rack in enumerate(RACKS, start=1):
            settings = {"broker.rack": rack}
            first = made[0] if made else None
            host = f"127.0.0.{number + 4}"
            made.append(stack.enter_context(LocalKafka(host, settings=settings, number=number, first=first)))
        fill(made[0].bootstrap)
        yield made[0].bootstrap


@pytest.fixture(scope="module")
def workers(java):
    pairs = zip(worker_specs((2, 2, 2)), RACKS, strict=True)
    with LocalSpark(tuple(attrs.evolve(each, rack=rack) for each, rack in pairs), timeout=PATIENCE) as local:
        yield local


@pytest.fixture
def classic(workers, tmp_path):
    """The options of a classic session, and the folder of its event log."""
    (tmp_path / "logs").mkdir()
    events = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": str(tmp_path / "logs")}
    settings = SETTINGS | events | {"spark.jars": ",".join(map(str, resolve_locked(LOCK)))}
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    return ("--master", workers.master_url, *words), tmp_path / "logs"


@pytest.fixture
def connect(workers, tmp_path):
    """The same of a session of a Connect server."""
    if importlib.util.find_spec("grpc") is None or spark_home().version.startswith("3."):
        pytest.skip("needs pyspark[connect], and Spark 4")
    with serving(workers, tmp_path, *resolve_locked(LOCK), **SETTINGS) as server:
        yield ("--master", server.url()), server.logs


def fill(bootstrap):
    """Make the topic, and put the rows of all batches into it."""
    admin = AdminClient({"bootstrap.servers": bootstrap}, logger=SILENT)
    deadline = time.monotonic() + PATIENCE
    while len(admin.list_topics(timeout=PATIENCE).brokers) < len(RACKS):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    topic = NewTopic("rows", len(LEADERS), replica_assignment=[[each] for each in LEADERS])
    admin.create_topics([topic])["rows"].result(PATIENCE)
    producer = Producer({"bootstrap.servers": bootstrap}, logger=SILENT)
    for partition in range(len(LEADERS)):
        for _ in range(ROWS * (partition + 1) * BATCHES):
            producer.produce("rows", bytes(SIZE), partition=partition)
            producer.poll(0)
    assert producer.flush(PATIENCE) == 0


def between_racks(job):
    """Rows of a batch that came from a broker in another rack, by Spark's event log alone."""
    nodes = {f"127.0.0.{number + 1}": number for number in range(1, len(RACKS) + 1)}
    read = [end for end in job.tasks if end.taken]
    partitions = [round(end.taken / ROWS) - 1 for end in read]
    assert sorted(partitions) == list(range(len(LEADERS)))
    return sum(end.taken for end, each in zip(read, partitions, strict=True) if nodes[end.host] != LEADERS[each])


@pytest.mark.spark
@pytest.mark.network
@pytest.mark.slow
@pytest.mark.xdist_group("kafka-racks")
@pytest.mark.parametrize("door", ["classic", "connect"])
def test_tasks_that_read_kafka_run_in_the_rack_of_their_leader(brokers, door, request, tmp_path):
    options, logs = request.getfixturevalue(door)
    application, journal = tmp_path / "application.py", tmp_path / "journal.jsonl"
    application.write_text(READS)
    pace = ("--window", 0.5, "--interval", 0.2, "--cooldown", 0, "--min-gain", 0, "--deadline", 60, "--slowdown", 9)
    words = ("-s", "dstorm-plus", *pace, *options, "--journal", journal, application, journal, brokers, 210)
    command = [HEADWORKS, "run", "--engine", "spark", *words]
    done = subprocess.run(
        [*map(str, command)], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    (log,) = logs.iterdir()
    found = [between_racks(job) for job in replay(log).history.jobs if job.start.query and job.end.succeeded]
    own, far = found[0], found[-1]
    assert own > 0
    assert far <= own / 2, found
    executed = next(each for each in read_journal(journal) if each["outcome"] == "executed")
    assert [executed["plan"]["assignment"][f"reads/kafka/{index}"] for index in range(3)] == [
        f"127.0.0.{number}:0" for number in (2, 3, 4)
    ]
