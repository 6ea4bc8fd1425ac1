"""`headworks run --engine spark` on a file that knows nothing of Headworks, and the loop when a Worker dies."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
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
from headworks_spark.events.recorder import EventRecorder
from patience import PATIENCE
from spark_kills import kill_worker

ROOT = Path(__file__).parents[3]
HEADWORKS = shutil.which("headworks", path=str(Path(sys.executable).parent)) or "headworks"


def run(*words, folder):
    return subprocess.run(
        [HEADWORKS, "run", "--engine", "spark", *map(str, words)],
        cwd=folder,
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.matrix
def test_a_stranger_s_query_is_placed_while_it_runs(java, tmp_path):
    """The pipeline's test of the flights runs the same command, and `test_both_engines.py` the same query."""
    application = ROOT / "examples" / "spark" / "word_count.py"
    options = ("-s", "even", "-o", "rebalance=yes", "--rounds", 2, "--window", 2, "--interval", 0)
    # As many tasks on one core as on four make batches longer.
    options = (*options, "--slowdown", 9, "--deadline", 60)
    done = run(*options, "--journal", tmp_path / "journal.jsonl", "--json", application, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    records = list(read_journal(tmp_path / "journal.jsonl"))
    assert [record["outcome"] for record in records] == ["executed", "unchanged"]
    check = records[0]["check"]
    assert check["hits"] == check["asked"] == 12
    for record in records:
        jsonschema.validate(record, schema_of(Round))


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.matrix
def test_nodes_that_a_scheduler_emptied_are_given_back(java, tmp_path):
    application = ROOT / "examples" / "spark" / "word_count.py"
    options = ("-s", "dstorm", "--elastic", "1:3", "--slowdown", 9, "--rounds", 4, "--window", 1, "--interval", 0)
    done = run(*options, "--journal", tmp_path / "journal.jsonl", application, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    records = list(read_journal(tmp_path / "journal.jsonl"))
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
    ("text", "said"), [(None, "is none"), ("pass", "started no streaming query"), ("1 / 0", "division by zero")]
)
def test_a_file_that_starts_no_query_is_told_so(cluster, tmp_path, text, said):
    application = tmp_path / "application.py"
    if text is not None:
        application.write_text(text)
    done = run("--master", cluster.master_url, application, folder=tmp_path)
    assert done.returncode == 4
    assert said in done.stderr
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
