"""Listening to a real session."""

from __future__ import annotations

import time

import pytest

from adapters.spark.spark_jobs import HOSTS
from headworks_spark.driver import classic
from headworks_spark.driver.classes import made
from headworks_spark.driver.gateway import scala_context
from headworks_spark.driver.session import executors
from headworks_spark.events.recorder import EventRecorder
from headworks_spark.events.shuffle import executor_bytes, read_sizes
from headworks_spark.placement.table import PlacementTable
from patience import PATIENCE

pytestmark = pytest.mark.spark


def count(spark, scope, tasks=4):
    context = spark.sparkContext
    context.setLocalProperty("headworks.scope", scope)
    try:
        return context.parallelize(range(100), tasks).map(lambda each: (each, 1)).groupByKey(tasks).count()
    finally:
        context.setLocalProperty("headworks.scope", None)


def listeners(spark):
    return scala_context(spark.sparkContext).listenerBus().listeners().size()


def test_a_job_is_there_when_wait_returns(spark):
    with EventRecorder(spark) as recorder:
        since = time.time()
        assert count(spark, "one") == 100
        (job,) = recorder.wait("one", 1, since=since, timeout=PATIENCE)
    assert [len(job.stage(ordinal)) for ordinal in (0, 1)] == [4, 4]
    assert (recorder.dropped, recorder.failures) == (0, [])
    (shuffle,) = job.shuffles
    assert shuffle.sizes.shape == (4, 4)
    assert shuffle.sizes.sum() == pytest.approx(sum(end.written_bytes for end in job.stage(0)), rel=0.1)


def test_jobs_are_told_apart_by_scope_and_time(spark):
    with EventRecorder(spark) as recorder:
        count(spark, "a")
        recorder.wait("a", 1, since=0, timeout=PATIENCE)
        between = time.time()
        time.sleep(0.01)
        count(spark, "b")
        recorder.wait("b", 1, since=0, timeout=PATIENCE)
        assert [job.start.scope for job in recorder.jobs()] == ["a", "b"]
        assert [job.start.scope for job in recorder.jobs(since=between)] == ["b"]
        assert recorder.wait("a", 2, since=0, timeout=0.2) == recorder.jobs("a")


def test_the_ends_of_stages_and_jobs_do_not_linger_nor_does_the_end_of_listening(spark, monkeypatch):
    monkeypatch.setattr(classic, "LINGER", 400.0)
    with EventRecorder(spark) as recorder:
        count(spark, "at once")
        assert len(recorder.wait("at once", 1, since=0, timeout=PATIENCE)) == 1


def test_it_leaves_no_listener_behind_and_stops_twice(spark):
    before = listeners(spark)
    recorder = EventRecorder(spark)
    recorder.start()
    recorder.start()
    assert listeners(spark) == before + 1
    recorder.stop()
    recorder.stop()
    assert listeners(spark) == before
    count(spark, "unheard")
    assert recorder.jobs() == ()


def test_a_full_queue_drops_and_counts(spark):
    with EventRecorder(spark, capacity=1) as recorder:
        with recorder._changed:  # the parsing thread waits here
            count(spark, "crowd", tasks=20)
            deadline = time.monotonic() + PATIENCE
            while not recorder.dropped and time.monotonic() < deadline:
                time.sleep(0.05)
        assert recorder.dropped > 0


def test_bytes_go_from_the_executors_that_wrote_to_those_that_read(spark):
    """All readers on one host: what its own executor wrote is read locally, what the others wrote is not."""
    placement = PlacementTable.of(spark)
    places = {(0, index): HOSTS[index % 3] for index in range(4)} | {(1, index): HOSTS[0] for index in range(4)}
    placement.push("bytes", places)
    try:
        with EventRecorder(spark) as recorder:
            count(spark, "bytes")
            (job,) = recorder.wait("bytes", 1, since=0, timeout=PATIENCE)
    finally:
        placement.clear("bytes")
    host = executors(spark)
    found = executor_bytes(job)
    assert {host[reader] for _, reader in found} == {HOSTS[0]}
    assert {host[writer] for writer, _ in found} == set(HOSTS)
    local = sum(size for (writer, reader), size in found.items() if writer == reader)
    assert local == pytest.approx(sum(end.local for end in job.stage(1)), rel=0.15)
    assert sum(found.values()) == pytest.approx(sum(end.local + end.remote for end in job.stage(1)))


def test_a_shuffle_that_spark_does_not_know_has_no_sizes(spark):
    assert read_sizes(made("ShuffleSizes"), {10**9: 0}, 4) is None


def test_events_of_a_dead_client_of_connect_are_forgotten(spark):
    """Its queue is that of the Connect server, made here by hand: five minutes are too long for a test."""
    if spark.version.startswith("3."):
        pytest.skip("needs the Connect of Spark 4")
    jvm, gateway = spark.sparkContext._jvm, spark.sparkContext._gateway
    kind = jvm.java.lang.Class.forName("headworks.spark.connect.SessionEvents")
    make, read = kind.getDeclaredConstructors()[0], kind.getDeclaredField("read")
    make.setAccessible(True)
    read.setAccessible(True)
    given = gateway.new_array(jvm.java.lang.Object, 2)
    given[0], given[1] = 1000, spark._jsparkSession.streams()
    events, scala = make.newInstance(given), scala_context(spark.sparkContext)
    scala.addSparkListener(events)
    query = spark.readStream.format("rate").load().writeStream.format("noop").start()
    try:
        deadline = time.monotonic() + PATIENCE
        while "SparkListenerTaskEnd" not in events.take(1000, 1000, 0):
            assert time.monotonic() < deadline
        read.set(events, jvm.java.lang.System.nanoTime() - 301 * 10**9)
        begun = len(query.recentProgress)
        while len(query.recentProgress) < begun + 3:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert events.take(1000, 0, 0) == ""
    finally:
        query.stop()
        scala.removeSparkListener(events)
