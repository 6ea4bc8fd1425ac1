"""Joins of unequal sides: both are known again in every batch, by what the rows say of the tasks that made them."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql.functions import sum as sum_of

from adapters.spark.spark_jobs import HOSTS, patience
from headworks_spark.discovery import discover
from headworks_spark.events.recorder import EventRecorder
from headworks_spark.placement.table import PlacementTable
from patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from headworks_spark.discovery import Discovered

pytestmark = [pytest.mark.spark, pytest.mark.slow]
SIDES = {"left": 3, "right": 5}
JOINED = 2
JOBS = 12
"""Siblings that change places at random would have passed once in 4,096 times."""
BATCHES = 8
KEYS = 40


@pytest.fixture
def placement(spark: SparkSession) -> PlacementTable:
    return PlacementTable.of(spark)


@pytest.fixture(scope="module")
def recorder(spark: SparkSession) -> Iterator[EventRecorder]:
    with EventRecorder(spark) as recorder:
        yield recorder


@pytest.fixture(autouse=True)
def shuffled(spark: SparkSession) -> Iterator[None]:
    """Both sides are shuffled, into as many partitions as neither side has."""
    settings = {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.shuffle.partitions": str(JOINED)}
    before = {key: spark.conf.get(key) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield
    for key, value in before.items():
        spark.conf.set(key, value)


def told(frame: DataFrame, side: str) -> DataFrame:
    """Each row says which task of which side made it, on which node and when."""

    def tell(batches: Any) -> Any:
        for batch in batches:
            n = batch.num_rows
            host, task = os.environ["SPARK_LOCAL_IP"], TaskContext.get().partitionId()
            names = ["key", f"{side}_task", f"{side}_host", f"{side}_time"]
            yield pa.RecordBatch.from_arrays(
                [batch.column(0), pa.array([task] * n), pa.array([host] * n), pa.array([time.time()] * n)], names
            )

    return frame.mapInArrow(tell, f"key long, {side}_task long, {side}_host string, {side}_time double")


def joined(spark: SparkSession, left: int = SIDES["left"]) -> list[Any]:
    sides = {**SIDES, "left": left}
    frames = {side: told(spark.range(0, KEYS, 1, parts), side) for side, parts in sides.items()}
    spark.sparkContext.setJobGroup("join", "join")
    return frames["left"].join(frames["right"], "key").collect()


def asked(found: Discovered) -> tuple[dict[str, list[str]], dict[tuple[int, int], str]]:
    """All tasks of the left side on one node and those of the right on two others, by side and as a table."""
    by_side = {"left": [HOSTS[2]] * 3, "right": [HOSTS[index % 2] for index in range(5)], "joined": [HOSTS[1]] * 2}
    table = {}
    for component in found.topology.components:
        side = {3: "left", 5: "right", JOINED: "joined"}[component.parallelism]
        table |= {(found.stages[component.id], index): host for index, host in enumerate(by_side[side])}
    return by_side, table


def misses(rows: list[Any], by_side: dict[str, list[str]]) -> list[Any]:
    return [row for row in rows for side in SIDES if row[f"{side}_host"] != by_side[side][row[f"{side}_task"]]]


@pytest.mark.matrix
def test_both_sides_of_a_batch_join_run_where_asked_in_every_job(
    spark: SparkSession, placement: PlacementTable, recorder: EventRecorder
) -> None:
    assert len(joined(spark)) == KEYS
    found = discover(recorder, "join", "join")
    by_side, table = asked(found)
    placement.push("join", table, found.signatures)
    for _ in range(JOBS):
        rows = joined(spark)
        assert len(rows) == KEYS
        assert misses(rows, by_side) == []
    assert placement.left("join") == {}
    jobs = recorder.wait("join", JOBS + 1, since=0.0, timeout=PATIENCE)[1:]
    ran = {tuple({end.host for end in job.stage(ordinal)} == {HOSTS[2]} for ordinal in range(3)) for job in jobs}
    assert len(ran) == 1, "the recorder tells both sides apart in every job"
    placement.clear("join")


def test_another_stage_in_the_place_of_the_planned_one_is_left_to_spark(
    spark: SparkSession, placement: PlacementTable, recorder: EventRecorder
) -> None:
    """The left side has four partitions instead of three: its tasks are not those that were planned."""
    joined(spark)
    found = discover(recorder, "join", "join")
    by_side, table = asked(found)
    placement.push("join", table, found.signatures)
    since = time.time()
    rows = joined(spark, left=4)
    assert len({row["left_host"] for row in rows}) > 1
    assert all(row["right_host"] == by_side["right"][row["right_task"]] for row in rows)
    assert placement.left("join") == {"shape": 3}
    ordinal = next(found.stages[each.id] for each in found.topology.components if each.parallelism == 3)
    (job,) = recorder.wait("join", 1, since=since, timeout=PATIENCE)
    assert len(job.stage(ordinal)) == 4
    assert job.stage(ordinal, found.signatures[ordinal]) == ()
    placement.clear("join")


def test_two_stages_that_end_in_the_same_rdd_are_left_to_spark_and_counted(
    spark: SparkSession, placement: PlacementTable, recorder: EventRecorder
) -> None:
    context, scope = spark.sparkContext, "twins"
    jvm = context._jvm
    numbers = jvm.java.util.ArrayList()
    for number in range(KEYS):
        numbers.add(number)
    column = context._jsc.parallelize(numbers, 4)
    pairs = column.zip(column)
    halves = [pairs.partitionBy(jvm.org.apache.spark.HashPartitioner(parts)) for parts in SIDES.values()]
    places = {(0, 4), (1, 4), (2, sum(SIDES.values()))}
    placement.push(scope, {(stage, index): HOSTS[2] for stage, tasks in places for index in range(tasks)})
    context.setJobGroup(scope, scope)
    since = time.time()
    assert halves[0].union(halves[1]).count() == 2 * KEYS
    assert placement.left(scope) == {"shape": 8}
    (job,) = recorder.wait(scope, 1, since=since, timeout=PATIENCE)
    assert [end.host for end in job.stage(2)] == [HOSTS[2]] * 8
    placement.clear(scope)


def revenue(spark: SparkSession) -> list[Any]:
    """The ten orders of a segment's customers that bring most, as a query of TPC-H asks."""
    customers = spark.range(0, 600, 1, 2).selectExpr("id AS customer", "id % 5 AS segment")
    orders = spark.range(0, 3_000, 1, 3).selectExpr("id AS number", "id % 600 AS customer", "id % 97 AS day")
    lines = spark.range(0, 12_000, 1, 5).selectExpr("id % 3000 AS number", "id % 89 + 1 AS price")
    spark.sparkContext.setJobGroup("revenue", "revenue")
    sold = customers.where("segment = 1").join(orders.where("day < 60"), "customer").join(lines, "number")
    brought = sold.groupBy("number", "day").agg(sum_of("price").alias("brought"))
    return brought.orderBy(brought.brought.desc(), "number").limit(10).collect()


def test_a_query_of_several_joins_runs_where_asked_and_answers_the_same(
    spark: SparkSession, placement: PlacementTable, recorder: EventRecorder
) -> None:
    answer = revenue(spark)
    found = discover(recorder, "revenue", "revenue", timeout=PATIENCE)
    places = ((found.stages[each.id], index) for each in found.topology.components for index in range(each.parallelism))
    table = {(stage, index): HOSTS[(stage + index) % 3] for stage, index in places}
    assert len({stage for stage, _ in table}) == 5, "three sources and two joins"
    placement.push("revenue", table, found.signatures)
    since = time.time()
    assert revenue(spark) == answer
    (job,) = recorder.wait("revenue", 1, since=since, timeout=PATIENCE)
    ran = {(stage, end.partition): end.host for stage in found.signatures for end in job.stage(stage)}
    assert (len(answer), ran, placement.left("revenue")) == (10, table, {})
    placement.clear("revenue")


def test_both_sides_of_a_streaming_join_run_where_asked_in_every_batch(
    spark: SparkSession, placement: PlacementTable, recorder: EventRecorder, tmp_path: Path
) -> None:
    frames = [told(source(spark, parts), side).withColumnRenamed("key", f"{side}_key") for side, parts in SIDES.items()]
    batches: list[tuple[int, list[Any]]] = []
    sink = frames[0].join(frames[1], frames[0]["left_key"] == frames[1]["right_key"]).writeStream
    query = (
        sink.foreachBatch(lambda frame, number: batches.append((number, frame.collect())))
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    try:
        found = discover(recorder, str(query.id), "join", timeout=PATIENCE)
        by_side, table = asked(found)
        placement.push(str(query.id), table, found.signatures)
        begun = batches[-1][0]
        for _ in patience():
            assert query.isActive, query.exception()
            if batches[-1][0] >= begun + 2:
                break
        settled = time.time()
        for _ in patience():
            if batches[-1][0] >= begun + 2 + BATCHES:
                break
        seen = [row for _, rows in batches for row in rows if min(row["left_time"], row["right_time"]) > settled]
        assert {row["left_task"] for row in seen} == {0, 1, 2}
        assert {row["right_task"] for row in seen} == {0, 1, 2, 3, 4}
        assert misses(seen, by_side) == []
    finally:
        query.stop()
        placement.clear(str(query.id))


def source(spark: SparkSession, parts: int) -> DataFrame:
    return spark.readStream.format("rate").options(rowsPerSecond=120, numPartitions=parts).load().select("value")
