"""Concurrent queries of one session share its nodes by the priority manager's database, while triggers come and go."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

import headworks_spark
from adapters.spark.spark_jobs import PARTITIONS, next_batch, patience
from headworks.control.guards import Guards
from headworks.control.loop import Control
from headworks.model import Limits
from headworks_manager.database.connection import opened
from headworks_manager.database.history import Author
from headworks_manager.database.store import Store
from headworks_manager.rules.indication import Trigger
from patience import PATIENCE

pytestmark = [pytest.mark.spark, pytest.mark.slow]
EVENTS, ARCHIVE = "events", "archive"
RATE, KEYS = 600, 100
HEADWORKS = shutil.which("headworks", path=str(Path(sys.executable).parent)) or "headworks"
APPLICATION = Path(__file__).with_name("two_queries.py")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "priorities.sqlite"


@pytest.fixture
def store(path):
    """Both query's indications: two nodes desired, one at least; with its trigger on, `events` comes first."""
    with opened(str(path)) as engine:
        store = Store(engine)
        for name in (EVENTS, ARCHIVE):
            fields = {"priority": 5, "trigger_priority": 0, "desired_nodes": 2, "minimum_nodes": 1, "hold": 0}
            store.set(name, fields, Author(who="ann"))
        yield store


def begun(spark, name, folder):
    """A query of two stages that counts, into a table in the driver."""
    spark.conf.set("spark.sql.shuffle.partitions", PARTITIONS)
    rows = spark.readStream.format("rate").options(rowsPerSecond=RATE, numPartitions=PARTITIONS).load()
    writer = rows.groupBy((rows.value % KEYS).alias("key")).count().writeStream.format("memory")
    return writer.queryName(name).outputMode("complete").option("checkpointLocation", str(folder / name)).start()


@pytest.fixture
def queries(spark, tmp_path):
    found = [begun(spark, name, tmp_path) for name in (EVENTS, ARCHIVE)]
    yield found
    for each in found:
        each.stop()


@pytest.fixture
def follow(spark, path):
    with headworks_spark.connect(spark) as connection:

        def begin(scheduler, **more):
            control = Control(
                scheduler=scheduler,
                engine="spark",
                window=0.5,
                limits=Limits(deadline=60.0),
                guards=Guards(cooldown=0.0),
                priorities=f"manager:{path}",
                **more,
            )
            rounds = []
            return rounds, connection.follow_all(control, interval=0.1, on_round=rounds.append)

        yield begin


def asks(store, *, on):
    store.trigger(Trigger(topology=EVENTS, on=on, source="test"), Author(who="ann"))


def nodes(spark, query):
    """Nodes of the next batch, as Spark's own pages tell it."""
    return set(next_batch(spark, query).values())


def share(spark, queries, followed, *, events, archive):
    """Wait until both queries run on so many nodes, none of which both have."""
    rounds, follower = followed
    for _ in patience():
        assert follower.alive
        first, second = (nodes(spark, each) for each in queries)
        if (len(first), len(second)) == (events, archive) and not first & second:
            return
        assert not rounds or rounds[-1].outcome != "failed", rounds[-1].message


def check_rows(spark, query):
    """What was counted is the batch answer for what the source says that it gave; one batch may come in between."""
    for _ in patience():
        given = RATE * int(query.lastProgress["sources"][0]["endOffset"])
        found = {row["key"]: row["count"] for row in spark.table(query.name).collect()}
        if sum(found.values()) == given:
            break
    rows = spark.range(given).selectExpr(f"id % {KEYS} AS key").groupBy("key").count().collect()
    assert found == {row["key"]: row["count"] for row in rows}
    assert query.exception() is None


def test_a_trigger_gives_a_query_a_node_of_another_and_takes_it_back(spark, store, queries, follow):
    followed = follow("sps-v2")
    runs = [each.runId for each in queries]
    share(spark, queries, followed, events=1, archive=2)
    for _ in range(2):
        asks(store, on=True)
        share(spark, queries, followed, events=2, archive=1)
        asks(store, on=False)
        share(spark, queries, followed, events=1, archive=2)
    for each in queries:
        check_rows(spark, each)
    assert [each.runId for each in queries] == runs
    assert {each.nodes for each in store.seen().values()} == {1, 2}


@pytest.mark.matrix
def test_a_query_without_a_node_waits_and_catches_up(spark, store, queries, follow):
    """`dps`: while its trigger is on, `events` takes all three nodes that it desires."""
    store.set(EVENTS, {"desired_nodes": 3}, Author(who="ann"))
    followed = follow("dps")
    events, archive = queries
    share(spark, queries, followed, events=2, archive=1)
    asks(store, on=True)
    for _ in patience():
        if store.seen()[ARCHIVE].starving is not None and not running(spark, archive):
            break
    nodes(spark, events)  # what ran when it was held has come to its end
    before = archive.lastProgress["batchId"]
    for _ in range(2):
        assert len(nodes(spark, events)) == 3
    assert (archive.isActive, archive.lastProgress["batchId"], running(spark, archive)) == (True, before, 0)
    assert followed[0][-1].plan.starves
    asks(store, on=False)
    share(spark, queries, followed, events=2, archive=1)
    for each in queries:
        check_rows(spark, each)
    said = [each.verdict for each in store.history(ARCHIVE)]
    assert said[:2] == ["runs", "starves"]


def running(spark, query):
    """Tasks of a query that run now."""
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(each) for each in tracker.getJobIdsForGroup(str(query.runId))]
    stages = [tracker.getStageInfo(stage) for job in jobs if job and job.status == "RUNNING" for stage in job.stageIds]
    return sum(each.numActiveTasks for each in stages if each)


@pytest.mark.matrix
def test_starving_ends_by_aging_and_with_whoever_follows(spark, store, queries, follow):
    """The trigger stays on: the other query comes first once it has starved for a second."""
    store.set(EVENTS, {"desired_nodes": 3}, Author(who="ann"))
    store.set(ARCHIVE, {"aging": 1000}, Author(who="ann"))
    asks(store, on=True)
    follow("dps")
    for _ in patience():
        said = [each.verdict for each in store.history(ARCHIVE, limit=1000)][::-1]
        if [each for each in said if each in ("starves", "preferred", "runs")][:3] == ["starves", "preferred", "runs"]:
            break
    for each in queries:
        check_rows(spark, each)


@pytest.mark.matrix
def test_queries_come_and_go_and_rounds_wait_for_others_after_the_last_one(spark, store, queries, follow, tmp_path):
    followed = follow("sps-v2")
    share(spark, queries, followed, events=1, archive=2)
    with closing(Stopped(begun(spark, "third", tmp_path))) as third:
        for _ in patience():
            found = [nodes(spark, each) for each in (*queries, third.query)]
            if [len(each) for each in found] == [1, 1, 1] and len(set().union(*found)) == 3:
                break
    share(spark, queries, followed, events=1, archive=2)
    for each in queries:
        each.stop()
    for _ in patience():
        if followed[0][-1].outcome == "waiting":
            break
    assert followed[1].alive
    assert "no streaming query is active" in followed[0][-1].message


class Stopped:
    """A query that is stopped when the block ends."""

    def __init__(self, query):
        self.query = query

    def close(self):
        self.query.stop()


@pytest.mark.matrix
def test_the_command_shares_nodes_among_the_queries_of_an_application(java, store, path, tmp_path):
    """The test of the session does the same in a program."""
    words = ["-s", "sps-v2", "--priorities", f"manager:{path}", "--cooldown", "0", "--window", "0.5", "--interval", "0"]
    command = [HEADWORKS, "run", "--engine", "spark", *words, "--deadline", "60", "--json", str(APPLICATION)]
    with (tmp_path / "stderr").open("w") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, cwd=tmp_path)
    try:
        told = iter(process.stdout)
        until(told, {EVENTS: 1, ARCHIVE: 2})
        name = [HEADWORKS, "priority", "trigger", "on", EVENTS, "--database", str(path)]
        subprocess.run(name, check=True, timeout=PATIENCE, capture_output=True)
        until(told, {EVENTS: 2, ARCHIVE: 1})
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert "Traceback" not in (tmp_path / "stderr").read_text()


def until(told, wanted):
    """Read rounds until both queries were seen on so many nodes."""
    deadline = time.monotonic() + PATIENCE
    for line in told:
        done, found = json.loads(line), {}
        for task, slot in done.get("request", {}).get("assignment", {}).items():
            found.setdefault(task.split("/")[0], set()).add(slot)
        if {name: len(each) for name, each in found.items()} == wanted:
            return
        assert time.monotonic() < deadline
    raise AssertionError
