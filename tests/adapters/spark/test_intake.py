"""What arrives for a query and what it completes: by hand, and a real query that falls behind and one that keeps up."""

from __future__ import annotations

import json
import time
from itertools import zip_longest

import attrs
import pytest

import headworks_spark
from headworks.control.loop import Control, Loop
from headworks.documents import write
from headworks.model import Limits, Profile
from headworks.model.knowledge import Knowledge, ProfileFit
from headworks.plugins.host import PluginHost
from headworks_spark.events.event import QueryProgress, parse, rows_behind
from headworks_spark.events.intake import BATCHES, LEAST, intake
from patience import PATIENCE


def batches(*done, rows=100, behind=(), runs="", every=10.0):
    """A batch each ten seconds; by default each of 100 rows, so that ten rows arrive a second."""
    figures = {"query": "q", "name": "", "batch": 1, "seconds": 1.0, "add": 1.0}
    return [
        QueryProgress(run=run, begin=every * number, rows=rows, done=each, behind=late, **figures)
        for number, (each, run, late) in enumerate(zip_longest(done, runs or "r" * len(done), behind))
    ]


def without_rows(progress, *places):
    return [attrs.evolve(each, rows=0) if place in places else each for place, each in enumerate(progress)]


@pytest.mark.parametrize(
    ("progress", "found"),
    [
        ([], None),
        (batches(20.0), None),
        (batches(*[20.0] * 9, rows=0), None),
        (batches(20.0, 20.0, every=0.0), None),
        (batches(*[20.0] * 3), (10.0, None)),
        (batches(*[20.0] * 4), (10.0, 10.0)),
        (batches(*[5.0] * 4), (10.0, 5.0)),
        (without_rows(batches(*[5.0] * 8), 1, 2, 3, 4), (300 / 70, 300 / 70)),
        (batches(1.0, 20.0, 20.0, 20.0), (10.0, 10.0)),
        (batches(20.0, 20.0, 2.0, 5.0), (10.0, 5.0)),
        (batches(*[1.0] * 9, *[20.0] * BATCHES), (10.0, 10.0)),
        (batches(*[1.0] * 9, *[20.0] * 4, runs="a" * 9 + "b" * 4), (10.0, 10.0)),
        (batches(*[20.0] * 4, behind=(0, 100, 300, 300)), (20.0, 20.0)),
        (batches(*[10.0] * 4, behind=(0, 100, 300, 300)), (20.0, 10.0)),
        (batches(*[20.0] * 4, behind=(300, 100, 150, 150)), (5.0, 5.0)),
        (batches(*[20.0] * 4, behind=(0,)), (10.0, 10.0)),
    ],
    ids=[
        *("nothing", "the first batch", "without rows", "at one time", "too few", "keeps up", "falls behind"),
        *("pauses of the source", "a slow first batch", "slow of late", "the past", "another run"),
        *("a source runs away in time", "a source runs away", "catches up", "unknown"),
    ],
)
def test_loads_worked_by_hand(progress, found):
    assert intake(progress) == found


@pytest.mark.parametrize("written", [lambda offset: offset, json.dumps], ids=["object", "text"])
def test_offsets_by_topic_and_partition_count_rows(written):
    source = {"endOffset": {"t": {"0": 5, "1": 7}}, "latestOffset": {"t": {"0": 9, "1": 7}}}
    made = {name: written(offset) for name, offset in source.items()}
    assert rows_behind([made, made]) == 8


@pytest.mark.parametrize("odd", [None, 7, "7", "no json", {"offset": 3, "timestamp": 9}, {}, {"t": {"0": None}}])
def test_other_offsets_say_nothing_of_rows(odd):
    assert rows_behind([{"endOffset": odd, "latestOffset": odd}]) is None
    assert rows_behind([{"endOffset": {"t": {"0": 5}}, "latestOffset": {"t": {"0": 5, "1": 9}}}]) is None
    assert rows_behind([]) is None


def test_offsets_are_read_from_the_event_of_a_batch():
    source = {"numInputRows": 1, "endOffset": {"t": {"0": 5}}, "latestOffset": {"t": {"0": 9}}}
    progress = {
        "id": "q",
        "runId": "r",
        "batchId": 1,
        "timestamp": "2017-07-14T02:40:00.250Z",
        "durationMs": {},
        "sources": [source],
    }
    name = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent"
    assert parse(json.dumps({"Event": name, "progress": progress})).behind == 4


RATE = 700
"""Rows a second of the source."""


def started(spark, folder, *, pause):
    """A query that counts rows by key; each row takes `pause` milliseconds in one partition. It asks no processor."""
    rows = spark.readStream.format("rate").option("rowsPerSecond", RATE).option("numPartitions", 1).load()
    # Spark's call of a static method of Java; what it returns is null, and is used so that the call is made.
    slept = f"coalesce(length(java_method('java.lang.Thread', 'sleep', {pause}L)), 0)"
    kept = rows.selectExpr(f"value % 6 + {slept} AS key" if pause else "value % 6 AS key", "value")
    counts = (kept if pause else kept.where("value % 100 = 0")).groupBy("key").count()
    writer = counts.writeStream.format("noop").outputMode("update").option("checkpointLocation", str(folder))
    return writer.queryName("behind" if pause else "filter").start()


LOOKS = 20
"""On a busy machine a batch may take as long as the next one's rows take to arrive: such a look is not the last one."""


def judged(spark, query, knowledge, *, wanted=lambda _done, _sample: True):
    """A round on a query with enough batches, the first of some that is as wanted, and its load."""
    host = PluginHost.load(["spark", "dstorm"])
    control = Control(scheduler="dstorm", engine="spark", window=1.0, shadow=True, knowledge=knowledge)
    control = attrs.evolve(control, options={"latency_constraint": 1e9}, limits=Limits(deadline=60.0))
    with headworks_spark.connect(spark) as connection:
        target = connection.target(query)
        deadline = time.monotonic() + PATIENCE
        while len([each for each in query.recentProgress if each["numInputRows"]]) <= LEAST:
            assert query.isActive, query.exception()
            assert time.monotonic() < deadline
            time.sleep(0.2)
        for _ in range(LOOKS):
            seen = []
            done = Loop(host, control, target, keep=seen.append).round(replan=True)
            ((sample,),) = [each.metrics.topologies for each in seen[:1]]
            if wanted(done, sample):
                break
    return done, sample


def quiet(done, sample):
    """Whether a query does what arrives, and is found to."""
    return (
        done.verdict.state != "unsatisfactory"
        and sample.offered == pytest.approx(RATE, rel=0.35)
        and sample.throughput == pytest.approx(sample.offered, rel=0.05)
    )


@pytest.mark.spark
@pytest.mark.slow
def test_a_query_that_filters_is_quiet(spark, tmp_path):
    query = started(spark, tmp_path / "checkpoint", pause=0)
    try:
        done, sample = judged(spark, query, None, wanted=quiet)
    finally:
        query.stop()
    assert quiet(done, sample), (done.verdict, sample)


@pytest.mark.matrix
@pytest.mark.spark
@pytest.mark.slow
def test_a_query_that_falls_behind_is_unsatisfactory_and_has_what_is_known_of_it(spark, tmp_path):
    query = started(spark, tmp_path / "checkpoint", pause=2)
    try:
        with headworks_spark.connect(spark) as connection:
            part = connection.target(query).topology.components[1].id
        fit = ProfileFit(profile=Profile(topology="behind", component=part, machine_type="i5", e=0.5), samples=9)
        write(tmp_path / "knowledge.json", Knowledge(profiles=(fit,)))
        done, sample = judged(spark, query, tmp_path)
        reported = [each for each in query.recentProgress if each["numInputRows"]]
    finally:
        query.stop()
    # The source makes 700 rows a second, and one partition cannot have more than 500 of them done: Spark says so, too.
    assert reported[-1]["processedRowsPerSecond"] < 0.75 * RATE
    assert sample.offered == pytest.approx(RATE, rel=0.25)
    assert sample.throughput < 0.75 * RATE
    assert done.verdict.state == "unsatisfactory", done.message
    assert [(each.component, each.machine_type) for each in done.request.profiles] == [(part, "i5")]
    assert {node.id: node.machine_type for node in done.request.cluster.nodes} == {
        "127.0.0.2": "i5",
        "127.0.0.3": "pentium",
        "127.0.0.4": None,
    }
