"""`headworks import spark-eventlog`: figures of a log against its own lines, and against what Spark says of itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

import pytest
from click.testing import CliRunner

from adapters.spark.quick_drivers import quick_environment
from headworks.cli.main import headworks
from headworks.control.guards import running
from headworks.documents import read
from headworks.errors import DocumentError
from headworks.model import Request
from headworks_spark.events.eventlog import read_lines, replay
from headworks_spark.replay.figures import LAST
from headworks_spark.replay.queries import logged_queries

RECORDED = Path(__file__).with_name("events-4.3.jsonl")
APPLICATION = """
import json, sys, time
from pyspark.sql import SparkSession

log = sys.argv[1]
spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    .config("spark.eventLog.enabled", True).config("spark.eventLog.dir", f"file://{log}").getOrCreate())
context = spark.sparkContext

def slow(index, rows):
    time.sleep(3.0 if index == 3 else 0.1)
    return ((row % 5, 1) for row in rows)

# The first tasks wait for Python's workers to start, on a busy machine longer than the slow one sleeps.
context.range(1000, numSlices=4).map(lambda row: (row, 1)).reduceByKey(lambda a, b: a + b, 2).collect()
context.setJobGroup("nightly", "")
for _ in range(3):
    context.range(1000, numSlices=4).mapPartitionsWithIndex(slow).reduceByKey(lambda a, b: a + b, 2).collect()
tracker = context.statusTracker()
jobs = [tracker.getJobInfo(each) for each in tracker.getJobIdsForGroup("nightly")]
java, conf = context._jvm, context._jsc.sc().conf()
recorded = java.java.nio.file.Path.of(sys.argv[2], context._gateway.new_array(java.String, 0))
for codec in ("lz4", "zstd"):
    # The streams that Spark's own writer of logs opens.
    out = java.java.io.FileOutputStream(f"{sys.argv[3]}/app.{codec}")
    packed = java.org.apache.spark.io.CompressionCodec.createCodec(conf, codec).compressedContinuousOutputStream(out)
    java.java.nio.file.Files.copy(recorded, packed)
    packed.close()
print(json.dumps([[tracker.getStageInfo(stage).numTasks for stage in sorted(job.stageIds)] for job in jobs]))
spark.stop()
"""


def run(*words):
    done = CliRunner().invoke(headworks, ["import", "spark-eventlog", *map(str, words)])
    assert done.exit_code == 0, done.output
    return done


def test_figures_are_those_of_the_lines_of_the_log():
    found = json.loads(run(RECORDED, "--query", "flights", "--json").stdout)
    lines = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    done = {
        each["Job ID"]
        for each in lines
        if each["Event"] == "SparkListenerJobEnd" and each["Job Result"]["Result"] == "JobSucceeded"
    }
    stages = {}
    for each in lines:
        if each["Event"] == "SparkListenerJobStart" and each["Properties"]["headworks.scope"] == "flights":
            stages |= {stage: place for place, stage in enumerate(each["Stage IDs"]) if each["Job ID"] in done}
    ends = defaultdict(lambda: defaultdict(list))
    for each in lines:
        if each["Event"] == "SparkListenerTaskEnd" and each["Stage ID"] in stages:
            info = each["Task Info"]
            ends[stages[each["Stage ID"]]][info["Index"]].append((info["Finish Time"] - info["Launch Time"]) / 1e3)
    for place, stage in enumerate(found["stages"]):
        assert stage["tasks"] == len(ends[place])
        typical = [median(each) for each in ends[place].values()]
        assert stage["seconds"] == pytest.approx(median(typical), abs=1e-3)
        assert stage["skew"] == pytest.approx(max(typical) / median(typical), abs=1e-3)


def test_a_request_is_planned_where_the_log_was_never_heard_of(tmp_path):
    file = tmp_path / "request.json"
    run(RECORDED, "-O", file)
    asked = read(file, Request)
    assert {node.id: node.capacity.cpu for node in asked.cluster.nodes} == {
        "127.0.0.2": 400.0,
        "127.0.0.3": 200.0,
        "127.0.0.4": 100.0,
    }
    assert asked.metrics.streams
    done = CliRunner().invoke(headworks, ["plan", str(file), "-s", "dstorm", "--json"])
    scores = json.loads(done.stdout)["scores"]
    ran = running(asked)
    assert scores["inter_node"] < ran.inter_node
    assert scores["batch_seconds"] <= ran.batch_seconds


def test_a_person_reads_four_tables_and_is_told_what_was_not_read(tmp_path):
    cut = tmp_path / "app-1"
    cut.write_text(RECORDED.read_text() + '{"Event": "SparkLis')
    done = run(cut)
    for words in ("flights", "words", "slowest / median", "slots busy", "batch s, computed"):
        assert words in done.stdout
    assert "1 of 110 lines are no events" in done.stderr


def test_more_executors_take_no_longer_and_placements_no_less():
    found = json.loads(run(RECORDED, "--executors", 1, "--executors", 5, "--json").stdout)
    now, one, five = found["executors"]
    assert one["seconds"] >= now["seconds"] >= five["seconds"]
    assert all(each["seconds"] >= now["seconds"] for each in found["placements"])
    last, *planned = found["placements"]
    assert last["scheduler"] == LAST
    assert all(each["seconds"] <= last["seconds"] and each["share"] <= last["share"] for each in planned)


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--query", "nobody"], "is none of flights, words"), (["--executors", "0"], "0 is not in the range")],
)
def test_a_mistake_is_one_sentence(words, said):
    done = CliRunner().invoke(headworks, ["import", "spark-eventlog", str(RECORDED), *words])
    assert done.exit_code == 2
    assert said in done.output


def test_a_log_without_a_finished_job_is_said(tmp_path):
    path = tmp_path / "app-1"
    path.write_text(RECORDED.read_text().splitlines()[0])
    done = CliRunner().invoke(headworks, ["import", "spark-eventlog", str(path)])
    assert isinstance(done.exception, DocumentError)
    assert "holds no finished job all of whose tasks ran; 1 of its 1 lines are events" in str(done.exception)


@pytest.mark.spark
def test_the_log_of_an_application_says_what_spark_says_and_finds_its_slow_task(java, tmp_path):
    program, logs = tmp_path / "nightly.py", tmp_path / "logs"
    program.write_text(APPLICATION)
    logs.mkdir()
    words = [sys.executable, str(program), str(logs), str(RECORDED), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=quick_environment())
    said = json.loads(done.stdout.splitlines()[-1])
    (log,) = logs.iterdir()
    found = json.loads(run(log, "--query", "nightly", "--json").stdout)
    assert [[stage["tasks"] for stage in found["stages"]]] * 3 == said
    assert found["batches"] == 3
    assert found["stages"][0]["skew"] > 1.5
    now = found["executors"][0]
    assert (now["executors"], now["slots"]) == (1, 2)
    (query,) = (each for each in logged_queries(replay(log)) if each.name == "nightly")
    assert now["seconds"] <= max(job.seconds for job in query.batches)
    assert now["seconds"] >= 3.0  # the slow task alone
    for codec in ("lz4", "zstd"):
        packed = tmp_path / f"app.{codec}"
        assert packed.stat().st_size < RECORDED.stat().st_size / 2
        assert list(read_lines(packed)) == list(read_lines(RECORDED))
