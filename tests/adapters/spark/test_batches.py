"""Batches of several jobs, modes that cannot be placed, and settings that weaken a level: handled, or refused aloud."""

from __future__ import annotations

import inspect
import json

import pytest

import headworks_spark
from adapters.spark.spark_jobs import HOSTS, PARTITIONS, job_hosts, patience
from headworks.control.loop import Control
from headworks.errors import EngineError
from headworks.model import Slot
from headworks_spark.driver.advice import _weak
from headworks_spark.events.batch import is_adaptive, last_batch, main_job
from headworks_spark.events.event import parse
from headworks_spark.events.history import History
from headworks_spark.monitor import observe
from headworks_spark.placement.table import PlacementTable

CLEAN = {"spark.sql.adaptive.enabled": "false"}


def jobs(*found):
    """Finished jobs, each a batch, a SQL execution, and (number of tasks, those that ran) of each stage."""
    history = History()
    for number, (batch, execution, *stages) in enumerate(found):
        infos = [
            {"Stage ID": 10 * number + at, "Number of Tasks": n, "Parent IDs": []} for at, (n, _) in enumerate(stages)
        ]
        names = {"streaming.sql.batchId": batch, "spark.sql.execution.id": execution, "sql.streaming.queryId": "q"}
        start = {"Job ID": number, "Submission Time": number, "Stage Infos": infos}
        history.add(event("JobStart", Properties={k: str(v) for k, v in names.items() if v is not None}, **start))
        for at, (_, ran) in enumerate(stages):
            for partition in range(ran):
                history.add(task(10 * number + at, partition))
        history.add(
            event("JobEnd", **{"Job ID": number, "Completion Time": 1, "Job Result": {"Result": "JobSucceeded"}})
        )
    return tuple(history.jobs)


def event(kind, **more):
    return parse(json.dumps({"Event": f"SparkListener{kind}", **more}))


def task(stage, partition):
    info = {"Task ID": 0, "Index": partition, "Executor ID": "0", "Host": "h", "Launch Time": 0, "Finish Time": 1}
    info |= {"Locality": "ANY", "Failed": False, "Killed": False, "Accumulables": []}
    reads = {"Remote Bytes Read": 0, "Local Bytes Read": 0, "Total Records Read": 0, "Fetch Wait Time": 0}
    writes = {"Shuffle Bytes Written": 0, "Shuffle Records Written": 0}
    metrics = {"Executor Run Time": 1000, "Executor CPU Time": 0, "Input Metrics": {"Records Read": 0}}
    metrics |= {
        "Output Metrics": {"Records Written": 0},
        "Shuffle Read Metrics": reads,
        "Shuffle Write Metrics": writes,
    }
    ended = {"Stage ID": stage, "Stage Attempt ID": 0, "Task End Reason": {"Reason": "Success"}}
    return event("TaskEnd", **ended, **{"Task Info": info, "Task Metrics": metrics})


def test_a_batch_is_looked_at_when_its_query_has_reported_it():
    """The second job of a batch may still run while the first has ended."""
    found = jobs((0, 1, (6, 6)), (1, 2, (1, 1)), (1, 3, (6, 6)))
    assert last_batch(found, ended=[0]) == found[:1]
    assert last_batch(found, ended=[0, 1]) == found[1:]
    assert last_batch(found, ended=[]) == ()
    assert last_batch(jobs((None, None, (6, 6)), (None, None, (2, 2))), ended=[])[0].start.job == 1
    assert last_batch(jobs((0, 1, (0, 0))), ended=[0]) == ()


def test_the_job_whose_tasks_ran_longest_is_planned_for():
    small, large = jobs((0, 1, (1, 1)), (0, 2, (6, 6)))
    assert main_job([small, large]) is main_job([large, small]) is large


def test_adaptive_execution_skips_stages_of_the_same_query_and_a_broadcast_does_not():
    assert is_adaptive(jobs((0, 7, (6, 6)), (0, 7, (6, 0), (4, 4))))
    assert not is_adaptive(jobs((0, 7, (1, 1)), (0, 7, (6, 6), (4, 4))))
    assert not is_adaptive(jobs((0, 7, (6, 6)), (0, 8, (6, 0), (4, 4))))


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("spark.speculation", "true", "second attempts of tasks run anywhere"),
        ("spark.sql.adaptive.enabled", "true", "each exchange of a DataFrame or a stateless query is a job of its own"),
        ("spark.dynamicAllocation.enabled", "true", "count as a backlog"),
    ],
)
def test_settings_that_keep_tasks_from_their_places_are_said(setting, value, said):
    assert list(_weak(CLEAN)) == []
    (found,) = _weak(CLEAN | {setting: value})
    assert found.startswith(f"{setting} is true: ")
    assert said in found


@pytest.fixture(scope="module")
def connection(spark):
    with headworks_spark.connect(spark) as connection:
        yield connection


def rates(spark, rows=60):
    spark.conf.set("spark.sql.shuffle.partitions", PARTITIONS)
    return spark.readStream.format("rate").options(rowsPerSecond=rows, numPartitions=PARTITIONS).load()


@pytest.mark.matrix
@pytest.mark.spark
@pytest.mark.slow
def test_warnings_of_a_hard_session_are_those_of_its_settings_now(spark, connection):
    assert (connection.level, connection.warnings) == ("hard", ())
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    try:
        (said,) = connection.warnings
        assert "spark.sql.adaptive.enabled is true" in said
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", "false")


@pytest.mark.spark
@pytest.mark.slow
def test_a_stateless_query_with_adaptive_execution_is_refused(spark, connection, tmp_path):
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    try:
        writer = rates(spark).repartition(PARTITIONS, "value").writeStream.format("noop")
        query = writer.option("checkpointLocation", str(tmp_path)).start()
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        with pytest.raises(EngineError, match="runs with adaptive execution, which makes each exchange a job"):
            connection.target(query)
    finally:
        query.stop()


@pytest.mark.spark
@pytest.mark.slow
def test_the_exchanges_of_a_job_with_adaptive_execution_are_left_to_spark_by_name(spark):
    """Each is a job of one stage, which has the rank of another one."""
    places, last = PlacementTable.of(spark), HOSTS[2]
    places.push("adaptive", {(stage, at): last for stage in range(3) for at in range(PARTITIONS)})
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    spark.sparkContext.setJobGroup("adaptive", "adaptive")
    try:
        left, right = (spark.range(0, 600, 1, PARTITIONS).repartition(PARTITIONS, "id") for _ in range(2))
        assert left.join(right.hint("merge"), "id").count() == 600
        assert places.left("adaptive")["adaptive"] >= 2 * PARTITIONS
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", "false")
        places.clear("adaptive")


@pytest.mark.spark
@pytest.mark.slow
def test_a_query_in_continuous_processing_is_refused(spark, connection, tmp_path):
    writer = rates(spark).writeStream.format("noop").trigger(continuous="1 second")
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    try:
        with pytest.raises(EngineError, match="ContinuousTrigger: in continuous processing tasks begin once"):
            connection.target(query)
    finally:
        query.stop()


@pytest.mark.spark
@pytest.mark.slow
def test_a_query_in_real_time_mode_is_refused_and_goes_on(spark, connection, tmp_path):
    # PySpark is optional, and this module has tests without it.
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import DataStreamWriter

    if "realTime" not in inspect.signature(DataStreamWriter.trigger).parameters:
        pytest.skip("needs real-time mode, which Spark 4.3 has")
    jvm = spark.sparkContext._jvm
    module = getattr(jvm.org.apache.spark.sql.execution.streaming.sources, "LowLatencyMemoryStream$")
    stream = module.__getattr__("MODULE$").singlePartition(
        spark._jsparkSession, jvm.org.apache.spark.sql.Encoders.LONG()
    )
    numbers = DataFrame(stream.toDF(), spark).selectExpr("value * 2 AS twice")
    writer = numbers.writeStream.format("console").outputMode("update").trigger(realTime="5 seconds")
    query = writer.option("checkpointLocation", str(tmp_path)).start()
    try:
        for _ in patience():
            if query.recentProgress:
                break
        with pytest.raises(EngineError, match="RealTimeTrigger: in real-time mode all stages run at once"):
            connection.target(query, timeout=10)
        rows = jvm.java.util.ArrayList()
        rows.add(2**40)  # py4j makes an Integer of less
        stream.addData(jvm.PythonUtils.toSeq(rows))
        for _ in patience():
            assert query.isActive, query.exception()
            if sum(each["numInputRows"] for each in query.recentProgress):
                break
    finally:
        query.stop()


@pytest.mark.spark
@pytest.mark.slow
def test_of_several_jobs_a_batch_the_main_one_is_placed_and_the_others_are_left_to_spark(spark, connection, tmp_path):
    """A batch writes twice: a small job of one task, and the counts. Hosts are those of Spark's own status store."""

    def work(frame, _batch):
        frame.limit(1).coalesce(1).write.format("noop").mode("overwrite").save()
        frame.groupBy((frame.value % 7).alias("rest")).count().write.format("noop").mode("overwrite").save()

    query = rates(spark, 600).writeStream.foreachBatch(work).option("checkpointLocation", str(tmp_path)).start()
    try:
        target = connection.target(query)
        assert [each.parallelism for each in target.topology.components] == [PARTITIONS, PARTITIONS]
        (note,) = target.notes
        assert "kinds: the one whose tasks ran longest is placed (12 tasks in 2 stages)" in note
        target.ask({task.id: Slot(HOSTS[task.index % 3], 0) for task in target.topology.tasks()})
        tracker = spark.sparkContext.statusTracker()
        group = str(query.runId)
        seen, found = max(tracker.getJobIdsForGroup(group)), {}
        for _ in patience():
            later = [job for job in tracker.getJobIdsForGroup(group) if job > seen + 4]
            found = {job: hosts for job in later if len(hosts := job_hosts(spark, job)) == 2 * PARTITIONS}
            if len(found) >= 2:
                break
        seen = observe(target, 1.0)
        assert {task: slot.node for task, slot in seen.assignment.items()} == {
            task.id: HOSTS[task.index % 3] for task in target.topology.tasks()
        }
        assert not target.is_outdated()
        for hosts in found.values():
            assert hosts == {(stage, at): HOSTS[at % 3] for stage in range(2) for at in range(PARTITIONS)}
    finally:
        query.stop()


@pytest.mark.spark
@pytest.mark.slow
def test_a_query_whose_batches_change_their_shape_is_looked_at_anew(spark, connection, tmp_path):
    wide = []

    def work(frame, _batch):
        if wide:
            frame = frame.repartition(PARTITIONS - 2, "value").distinct()
        frame.groupBy((frame.value % 7).alias("rest")).count().write.format("noop").mode("overwrite").save()

    query = rates(spark, 600).writeStream.foreachBatch(work).option("checkpointLocation", str(tmp_path)).start()
    rounds = []
    control = Control(scheduler="even", options={"rebalance": True}, engine="spark", window=0.5)
    follower = connection.follow(query, control, interval=0.1, on_round=rounds.append)

    def stages():
        return [each.parallelism for each in rounds[-1].request.topologies[0].components] if rounds else []

    try:
        for _ in patience():
            if stages() == [PARTITIONS] * 2:
                break
        wide.append(True)
        for _ in patience():
            if len(stages()) > 2 and rounds[-1].outcome in ("executed", "unchanged"):
                break
        assert follower.alive
    finally:
        follower.stop()
        query.stop()
