"""Batches that measure a round: of queries with long triggers, long batches, and data that comes late."""

from __future__ import annotations

import time

import attrs
import pytest

import headworks_spark
from adapters.spark.spark_jobs import HOSTS, PARTITIONS, patience, rotation
from headworks.control.loop import Control
from headworks.model import Limits, Resources
from headworks_spark.driver.reach import driver_of
from headworks_spark.events.batch import budget, measurable
from headworks_spark.events.event import JobEnd, JobStart, TaskEnd
from headworks_spark.events.history import Job
from headworks_spark.monitor import observe

LATE = 60.0
"""Seconds without data: a follower has looked for a batch many times by then."""
TRIGGER = 40.0
"""Longer than any wait for a quick query, so that a round that does not know the trigger sees no batch."""
END = TaskEnd(
    stage=0, attempt=0, task=0, partition=0, executor="0", host="a", started=0, ended=0, locality="", failed=False
)


def job(begin, end, *hosts):
    start = JobStart(job=0, time=begin, stages=(), scope="s", query=None, batch=None)
    tasks = tuple(attrs.evolve(END, host=host) for host in hosts)
    return Job(start=start, end=JobEnd(job=0, time=end, succeeded=True), tasks=tasks, failed=0)


@pytest.mark.parametrize(
    ("trigger", "seconds", "waits"),
    [(0.0, (), 30.0), (0.0, (1, 2), 30.0), (60.0, (5,), 120.0), (0.0, (100,), 200.0), (60.0, (50,), 160.0)],
)
def test_two_triggers_or_the_batch_that_runs_and_the_next_are_waited_for(trigger, seconds, waits):
    assert budget(trigger, [job(0.0, each) for each in seconds]) == waits


def test_one_slow_batch_is_forgotten_after_ten():
    assert budget(0.0, [job(0.0, 500.0), *[job(0.0, 20.0)] * 10]) == 40.0


def test_batches_of_the_window_count_else_the_last_one_that_ran_as_tasks_are_placed_now():
    jobs = [job(0, 10, "a"), job(10, 20, "a"), job(20, 30, "a"), job(30, 40, "a")]
    common = {"alive": {"a", "b"}, "since": 10.0}
    assert measurable(jobs, opened=15.0, **common) == tuple(jobs[1:])
    assert measurable(jobs, opened=0.0, **common) == tuple(jobs[1:])
    assert measurable(jobs, opened=99.0, **common) == (jobs[3],)
    assert measurable(jobs, opened=0.0, alive={"a"}, since=30.1) == ()
    assert measurable([*jobs, job(40, 50, "gone")], opened=99.0, **common) == (jobs[3],)


@pytest.fixture(scope="module")
def connection(spark):
    with headworks_spark.connect(spark) as connection:
        yield connection


@pytest.fixture
def late(spark, tmp_path):
    """A query on a folder that is empty as yet."""
    spark.conf.set("spark.sql.shuffle.partitions", PARTITIONS)
    (tmp_path / "rows").mkdir()
    rows = spark.readStream.schema("value long").json(str(tmp_path / "rows"))
    writer = rows.groupBy("value").count().writeStream.format("noop").outputMode("update")
    query = writer.option("checkpointLocation", str(tmp_path / "late")).trigger(processingTime="1 second").start()
    yield query
    query.stop()


@pytest.fixture
def rare(spark, tmp_path):
    """A query with a long trigger."""
    spark.conf.set("spark.sql.shuffle.partitions", PARTITIONS)
    rows = spark.readStream.format("rate").options(rowsPerSecond=60, numPartitions=PARTITIONS).load()
    writer = rows.groupBy(rows.value % 100).count().writeStream.format("noop").outputMode("update")
    query = writer.option("checkpointLocation", str(tmp_path / "rare")).trigger(processingTime=f"{TRIGGER} seconds")
    query = query.start()
    yield query
    query.stop()


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.matrix  # the rules are tested above, each by itself
def test_long_triggers_are_measured_and_data_that_comes_late_is_followed(connection, late, rare, tmp_path):
    began, rounds = time.monotonic(), []
    # As many tasks on one core as on four make batches longer.
    limits = Limits(deadline=60.0, slowdown=None)
    control = Control(scheduler="even", options={"rebalance": True}, engine="spark", window=0.5, limits=limits)
    follower = connection.follow(late, control, interval=0.1, on_round=rounds.append)

    assert driver_of(connection.spark).trigger(rare).seconds == TRIGGER
    target = connection.target(rare)
    target.placement.push(target.scope, rotation(1, 2))
    seen = observe(target, 0.5)
    assert {target.tasks()[task]: slot.node for task, slot in seen.assignment.items()} == rotation(1, 2)
    assert len(seen.metrics.tasks) == 2 * PARTITIONS
    assert seen.metrics.window < 1.25 * TRIGGER
    assert Resources(cpu=10.0) not in {each.demand for each in seen.topologies[0].components}
    again = time.monotonic()
    # What processes use is of each window by itself.
    assert attrs.evolve(observe(target, 0.5).metrics, nodes=seen.metrics.nodes) == seen.metrics
    assert time.monotonic() - again < TRIGGER / 2
    measured = connection.recorder.jobs(target.scope, since=target.changed())[0].start.batch
    (kept,) = (each.state for each in connection.recorder.progress(target.scope) if each.batch == measured)
    found = [each.state for each in seen.metrics.tasks if each.state is not None]
    assert found == [pytest.approx(kept[0] / 1e6 / PARTITIONS)] * PARTITIONS

    time.sleep(max(0.0, began + LATE - time.monotonic()))
    (tmp_path / "rows" / "first.json").write_text("".join(f'{{"value": {each}}}\n' for each in range(600)))
    for _ in patience():
        if rounds:
            break
    assert follower.alive
    assert rounds[0].outcome in ("executed", "unchanged", "missed")  # no other batch follows
    assert {each.id for each in rounds[0].request.cluster.nodes} == set(HOSTS)
    follower.stop()
