"""`headworks run --engine spark` on a file that knows nothing of Headworks, and the loop when a Worker dies."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema
import pytest

from headworks.control.guards import Guards
from headworks.control.journal import FileJournal, Round, read_journal
from headworks.control.loop import Control, Loop
from headworks.documents.schema import schema_of
from headworks.model import Limits, Slot
from headworks.plugins.host import PluginHost
from headworks_spark.demo.flights import FlightsQuery
from headworks_spark.discovery import shape
from headworks_spark.events.eventlog import replay
from headworks_spark.events.recorder import EventRecorder
from headworks_spark.local.cluster import LocalSpark, worker_specs
from patience import PATIENCE
from shell import HEADWORKS, called, followed
from spark_kills import kill_worker

ROOT = Path(__file__).parents[3]
WORD_COUNT = ROOT / "examples" / "spark" / "word_count.py"

ORDERS = """
import json, subprocess, sys, threading, time
from pathlib import Path
from neighbour import WORDS
from pyspark.sql import SparkSession

folder = Path(sys.argv[1])


def outcomes():
    journal = folder / "journal.jsonl"
    return [json.loads(line)["outcome"] for line in journal.read_text().splitlines()] if journal.exists() else []


def wait(holds):
    while not holds():
        time.sleep(0.1)


builder = SparkSession.builder.master("local[2]").appName("orders").config("spark.executor.memory", "600m")
spark = builder.config("spark.scheduler.mode", "FAIR").config("spark.sql.shuffle.partitions", 4).getOrCreate()
rows = spark.readStream.format("rate").options(rowsPerSecond=200, numPartitions=4).load()
counts = rows.groupBy(rows.value % 10).count()
first = counts.writeStream.format("noop").queryName("first").outputMode("complete").start()
wait(lambda: "executed" in outcomes())
first.stop()
seen = len(outcomes())
wait(lambda: "waiting" in outcomes()[seen:])
for word in WORDS:
    (folder / "words").mkdir(exist_ok=True)
    (folder / "words" / word).write_text(word)
words = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "words")).groupBy("value").count()
once = words.writeStream.format("memory").queryName("once").outputMode("complete").trigger(availableNow=True).start()
once.awaitTermination()
conf = dict(spark.sparkContext.getConf().getAll())
main = threading.current_thread() is threading.main_thread()
told = {"conf": conf, "rows": spark.sql("SELECT sum(count) FROM once").first()[0], "main": main}
(folder / "told").write_text(json.dumps(told))
print("the line after")
print("by Python's own stream", file=sys.__stdout__)
subprocess.run(["echo", "by a process"])
spark._jvm.System.out.println("by the JVM")
spark.stop()
sys.exit(3)
"""
"""A pause between two queries, the second of which ends by itself, and work after both."""

FAILING = """
import json, sys, time
from pathlib import Path
from pyspark.sql import SparkSession

journal = Path(sys.argv[1]) / "journal.jsonl"
spark = SparkSession.builder.config("spark.sql.shuffle.partitions", 4).getOrCreate()
rows = spark.readStream.format("rate").options(rowsPerSecond=200, numPartitions=4).load()
counts = rows.groupBy(rows.value % 10).count()
query = counts.writeStream.format("console").queryName("fails").outputMode("complete").start()
while not journal.exists() or not journal.read_text():
    time.sleep(0.1)
before = query.lastProgress["batchId"]
while query.lastProgress["batchId"] < before + 3:
    time.sleep(0.1)
print("batches went on", query.isActive)
raise ValueError("the user's own")
"""

HANDLING = """
import signal, sys, time
from pyspark.sql import SparkSession

came = []
signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
spark = SparkSession.builder.config("spark.sql.shuffle.partitions", 4).getOrCreate()
rows = spark.readStream.format("rate").options(rowsPerSecond=200, numPartitions=4).load()
query = rows.groupBy(rows.value % 10).count().writeStream.format("noop").outputMode("complete").start()
while not came:
    time.sleep(0.1)
query.stop()
sys.exit(7)
"""

SHARING = """
import json, sys, time
from pathlib import Path
from pyspark.sql import SparkSession

folder = Path(sys.argv[1])


def wait(holds):
    while not all(holds(each) for each in folder.parent.iterdir()):
        time.sleep(0.1)


def placed(each):
    journal = each / "journal.jsonl"
    return journal.exists() and "executed" in {json.loads(line)["outcome"] for line in journal.read_text().splitlines()}


spark = SparkSession.builder.config("spark.sql.shuffle.partitions", 4).getOrCreate()
rows = spark.readStream.format("rate").options(rowsPerSecond=200, numPartitions=4).load()
counts = rows.groupBy(rows.value % 10).count()
query = counts.writeStream.format("noop").queryName(folder.name).outputMode("complete").start()
wait(placed)
before = query.lastProgress["batchId"]
while query.lastProgress["batchId"] < before + 3:
    time.sleep(0.1)
(folder / "done").touch()
wait(lambda each: (each / "done").exists())
query.stop()
"""
"""One of some applications that end when each of them ran three batches beside the others after its placement."""

PACE = ("--window", "0.5", "--interval", "0.2", "--cooldown", "0", "--deadline", "60", "--slowdown", "9")


@pytest.fixture(scope="module")
def nodes_of_its_own(java):
    """A cluster whose cores the session of the other tests does not take."""
    with LocalSpark(worker_specs((2, 2)), timeout=PATIENCE) as local:
        yield local.master_url


EVEN = ("-s", "even", "-o", "rebalance=yes")


def run(master, folder, text, *words, scheduler=EVEN):
    application = folder / "application.py"
    application.write_text(text)
    words = (*scheduler, *PACE, *words, "--journal", folder / "journal.jsonl")
    command = [HEADWORKS, "run", "--engine", "spark", "--master", master, *words, application, folder]
    return subprocess.run(
        [*map(str, command)], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.mark.spark
@pytest.mark.slow
def test_the_end_of_the_application_is_the_end_and_its_settings_are_its_own(nodes_of_its_own, tmp_path):
    (tmp_path / "neighbour.py").write_text("WORDS = tuple('abcdef')")
    (tmp_path / "settings").write_text("spark.of.file told\nspark.executor.memory 700m\n")
    logs = tmp_path / "logs"
    logs.mkdir()
    log = ("--conf", "spark.eventLog.enabled=true", "--conf", f"spark.eventLog.dir={logs}")
    more = ("--json", *log, "--conf", "spark.of.line=told", "--properties-file", tmp_path / "settings")
    done = run(nodes_of_its_own, tmp_path, ORDERS, *more)
    assert done.returncode == 3, done.stderr
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    assert rounds == list(read_journal(tmp_path / "journal.jsonl"))
    assert "failed" not in {each["outcome"] for each in rounds}
    for said in ("the line after", "by Python's own stream", "by a process", "by the JVM"):
        assert said in done.stderr
    said = "spark.master=local[2] of the application is not honoured: its session runs on spark://"
    assert said in done.stderr
    assert "waiting: of 1 active queries none has ended a batch with data" in done.stderr
    told = json.loads((tmp_path / "told").read_text())
    assert (told["rows"], told["main"]) == (6, True)
    asked = {
        "spark.app.name": "orders",
        "spark.executor.memory": "600m",
        "spark.scheduler.mode": "FAIR",
        "spark.of.line": "told",
        "spark.of.file": "told",
        "spark.master": nodes_of_its_own,
    }
    assert {name: told["conf"].get(name) for name in asked} == asked
    executed = next(each for each in rounds if each["outcome"] == "executed")
    assert ran(logs, "first") == {task: slot.split(":")[0] for task, slot in executed["plan"]["assignment"].items()}


@pytest.mark.spark
@pytest.mark.slow
def test_two_applications_on_one_cluster_are_each_placed(nodes_of_its_own, tmp_path):
    """One is spread over both nodes, and one packed on a node; each has an executor of one core on both."""
    ways = {"spread": EVEN, "packed": ("-s", "dstorm")}
    size = {"eventLog.enabled": "true", "executor.cores": "1", "cores.max": "2", "executor.memory": "512m"}
    more = [word for name, value in size.items() for word in ("--conf", f"spark.{name}={value}")]
    for name in ways:
        (tmp_path / "both" / name).mkdir(parents=True)
        (tmp_path / "logs" / name).mkdir(parents=True)

    def one(name):
        log = ("--conf", f"spark.eventLog.dir={tmp_path / 'logs' / name}")
        return run(nodes_of_its_own, tmp_path / "both" / name, SHARING, *more, *log, scheduler=ways[name])

    with ThreadPoolExecutor(len(ways)) as pool:
        ended = dict(zip(ways, pool.map(one, ways), strict=True))
    nodes = {}
    for name, done in ended.items():
        assert done.returncode == 0, done.stderr
        rounds = list(read_journal(tmp_path / "both" / name / "journal.jsonl"))
        plans = [each["plan"]["assignment"] for each in rounds if each["outcome"] == "executed"]
        last = ran(tmp_path / "logs" / name, name)
        assert last in [{task: slot.split(":")[0] for task, slot in plan.items()} for plan in plans]
        nodes[name] = set(last.values())
    assert (len(nodes["spread"]), len(nodes["packed"])) == (2, 1)


def ran(logs, query):
    """Where the tasks of the last batch of the first query ran, by Spark's event log."""
    (log,) = logs.iterdir()
    jobs = [job for job in replay(log).history.jobs if job.start.query and job.end.succeeded]
    last = [job for job in jobs if job.start.query == jobs[0].start.query][-1]
    names = {ordinal: name for name, ordinal in shape(last.start, query).stages.items()}
    return {f"{query}/{names[last.start.ordinal(end.stage)]}/{end.partition}": end.host for end in last.tasks}


@pytest.mark.spark
@pytest.mark.slow
def test_rounds_that_have_ended_and_an_error_of_the_application(nodes_of_its_own, tmp_path):
    """A console sink prints in the driver's JVM."""
    done = run(nodes_of_its_own, tmp_path, FAILING, "--rounds", 1)
    assert (done.returncode, len(list(read_journal(tmp_path / "journal.jsonl")))) == (1, 1), done.stderr
    assert "batches went on True" in done.stdout
    assert "Batch: " in done.stdout
    line = FAILING.splitlines().index('raise ValueError("the user\'s own")') + 1
    where = f'  File "{tmp_path / "application.py"}", line {line}, in <module>\n'
    assert f"Traceback (most recent call last):\n{where}" in done.stderr
    assert "\nValueError: the user's own\n" in done.stderr


@pytest.mark.spark
@pytest.mark.slow
def test_a_signal_is_the_application_s_own(nodes_of_its_own, tmp_path):
    application = tmp_path / "application.py"
    application.write_text(HANDLING)
    journal = tmp_path / "journal.jsonl"
    words = ("run", "--engine", "spark", "--master", nodes_of_its_own, "-s", "even", *PACE, "--journal", journal)
    done = followed(*words, application, journal=journal, rounds=1, folder=tmp_path, number=signal.SIGTERM)
    assert done.returncode == 7, done.stderr


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.matrix
def test_a_stranger_s_query_is_placed_while_it_runs(java, tmp_path):
    """The pipeline's test of the flights runs the same command, and `test_both_engines.py` the same query."""
    journal = tmp_path / "journal.jsonl"
    words = ("run", "--engine", "spark", "-s", "even", "-o", "rebalance=yes", "--rounds", 2, "--window", 2)
    # As many tasks on one core as on four make batches longer.
    words = (*words, "--interval", 0, "--slowdown", 9, "--deadline", 60, "--journal", journal, WORD_COUNT)
    done = followed(*words, journal=journal, rounds=2, folder=tmp_path)
    assert done.returncode == 128 + signal.SIGINT, done.stderr
    records = list(read_journal(journal))
    assert [record["outcome"] for record in records] == ["executed", "unchanged"]
    check = records[0]["check"]
    assert check["hits"] == check["asked"] == 12
    for record in records:
        jsonschema.validate(record, schema_of(Round))


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.matrix
def test_nodes_that_a_scheduler_emptied_are_given_back(java, tmp_path):
    journal = tmp_path / "journal.jsonl"
    words = ("run", "--engine", "spark", "-s", "dstorm", "--elastic", "1:3", "--slowdown", 9, "--window", 1)
    words = (*words, "--interval", 0, "--rounds", 4, "--journal", journal, WORD_COUNT)
    followed(*words, journal=journal, rounds=4, folder=tmp_path)
    records = list(read_journal(journal))
    steps = [step for record in records for step in record.get("scaling", {}).get("steps", ())]
    assert steps, [(record["outcome"], record.get("notes")) for record in records]
    assert "drain" in {step["action"] for step in steps}
    assert all(step.get("done", True) for step in steps), steps
    used = set()
    for record in records:
        if record.get("plan", {}).get("assignment"):
            used = {slot.rpartition(":")[0] for slot in record["plan"]["assignment"].values()}
        drained = [step for step in record.get("scaling", {}).get("steps", ()) if step["action"] == "drain"]
        assert not used & {step["subject"] for step in drained}
    for record in records:
        jsonschema.validate(record, schema_of(Round))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "code", "said"), [("pass", 0, "it started no classic session"), ("1 / 0", 1, "ZeroDiv")]
)
def test_a_file_that_starts_no_query_is_told_so(cluster, tmp_path, text, code, said):
    done = run(cluster.master_url, tmp_path, text)
    assert done.returncode == code
    assert said in done.stderr


def test_an_application_that_is_not_there_is_wrong_use(tmp_path):
    done = called("run", "--engine", "spark", tmp_path / "none.py")
    assert (done.returncode, "there is no file" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("address", "words", "said"),
    [
        ("sc://127.0.0.1:1", (), "no Connect server answers at 127.0.0.1:1"),
        ("sc:///;token=secret", (), "'sc:///' is no address of a Connect server"),
        ("sc://127.0.0.1:1", ("--conf", "a=b"), "--conf is for a session that is started"),
    ],
)
def test_a_connect_server_that_cannot_be_used_is_named(tmp_path, address, words, said):
    (tmp_path / "pipeline.yml").touch()
    done = called("run", "--engine", "spark", "--master", address, *words, tmp_path / "pipeline.yml")
    assert done.returncode in (2, 4)
    assert said in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr


@pytest.mark.spark
@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("/folder", "", "is refused as the address of a server"),
        ("", "", "does not describe a project of spark-pipelines"),
        ("", "name: [", "does not describe a project of spark-pipelines"),
        ("", "name: a\nstorage: b\nlibraries: [file]", "does not describe a project of spark-pipelines"),
    ],
)
def test_a_project_or_an_address_that_is_none_is_named(tmp_path, path, text, said):
    # Without gRPC the import of the next line ends the process of the tests.
    pytest.importorskip("grpc", reason="needs pyspark[connect]")
    pytest.importorskip("pyspark.pipelines.cli", reason="needs pyspark[pipelines] from Spark 4.1 on")
    (tmp_path / "pipeline.yml").write_text(text)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"sc://127.0.0.1:{silent.getsockname()[1]}{path}"
        done = called("run", "--engine", "spark", "--master", address, tmp_path / "pipeline.yml")
    assert done.returncode in (2, 4)
    assert said in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr


@pytest.fixture
def target(spark, tmp_path):
    flights = FlightsQuery(folder=tmp_path, name="loop")
    with EventRecorder(spark) as recorder:
        target = flights.target(spark, recorder)
        query = flights.start(spark)
        recorder.wait(target.scope, 2, since=0, timeout=PATIENCE)
        yield target
        query.stop()
        assert flights.check(query, spark) == ()
        assert flights.streamed(spark)[0] > 0
        target.placement.clear(flights.name)


@pytest.mark.matrix
@pytest.mark.spark
@pytest.mark.slow
def test_the_next_round_plans_without_a_worker_that_died(target, cluster, tmp_path):
    dead = "127.0.0.4"
    # On a busy machine a slow batch would keep all tasks off the node with one core, by the limit on slowdown.
    limits, guards = Limits(deadline=60.0, slowdown=None), Guards(cooldown=0.0)
    options = {"rebalance": True}
    control = Control(scheduler="even", engine="spark", options=options, window=1.0, guards=guards, limits=limits)
    loop = Loop(PluginHost.load(), control, target, FileJournal(tmp_path / "journal.jsonl"))
    first = loop.round(replan=True)
    assert first.outcome in ("executed", "unchanged"), first.message
    assert Slot(dead, 0) in first.plan.assignment.values()
    kill_worker(cluster, dead)
    try:
        until(lambda: dead not in {node.id for node in loop_nodes(target)})
        second = loop.round(replan=True)
        assert second.outcome == "executed", second.message
        assert second.check.hits == second.check.asked == 24
        assert {slot.node for slot in second.plan.assignment.values()} == {"127.0.0.2", "127.0.0.3"}
    finally:
        cluster.start_worker(dead)
    until(lambda: dead in {node.id for node in loop_nodes(target)})
    third = loop.round(replan=True)
    assert third.outcome == "executed", third.message
    assert Slot(dead, 0) in third.plan.assignment.values()
    assert len(list(read_journal(tmp_path / "journal.jsonl"))) == 3


def loop_nodes(target):
    from headworks_spark.nodes import nodes

    return nodes(target.spark)


def until(holds, timeout=PATIENCE):
    deadline = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.2)
