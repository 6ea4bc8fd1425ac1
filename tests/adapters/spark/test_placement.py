"""Tasks of real jobs and queries run where the table says, while it changes and while nodes die."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from adapters.spark.spark_jobs import (
    HOSTS,
    PARTITIONS,
    counting_query,
    next_batch,
    patience,
    rotation,
    slow_stage,
    three_stages,
)
from headworks_spark.driver.session import executors
from headworks_spark.placement.table import PlacementTable
from spark_kills import kill_worker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from headworks_spark.local.cluster import LocalSpark

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.smoke]


@pytest.fixture
def placement(spark: SparkSession) -> PlacementTable:
    return PlacementTable.of(spark)


@pytest.fixture
def query(spark: SparkSession, placement: PlacementTable, tmp_path: Path) -> Iterator[StreamingQuery]:
    query = counting_query(spark, str(tmp_path))
    yield query
    query.stop()
    placement.clear(str(query.id))


@pytest.fixture
def restored(cluster: LocalSpark, spark: SparkSession) -> Iterator[None]:
    """Bring back the Workers that a test kills, and wait for their executors."""
    yield
    for host in set(HOSTS) - set(cluster.alive_workers()):
        cluster.start_worker(host)
    wait_for(spark, set(HOSTS))


def wait_for(spark: SparkSession, hosts: set[str]) -> None:
    for _ in patience():
        if set(executors(spark).values()) == hosts:
            return


def test_every_task_of_three_stages_runs_where_asked(spark: SparkSession, placement: PlacementTable) -> None:
    for shift in range(3):
        placement.push("three", rotation(shift, 3))
        assert three_stages(spark, "three") == rotation(shift, 3)


def test_a_table_is_read_as_it_was_pushed_and_cleared(placement: PlacementTable) -> None:
    placement.push("a scope with spaces", rotation(0, 2))
    assert placement.read("a scope with spaces") == rotation(0, 2)
    placement.clear("a scope with spaces")
    assert placement.read("a scope with spaces") == {}


def test_tasks_outside_the_table_are_left_to_spark(spark: SparkSession, placement: PlacementTable) -> None:
    """All on the one core of the last host, then only partition 0 there: the others do not queue behind it."""
    placement.push("part", {(0, index): HOSTS[2] for index in range(PARTITIONS)})
    assert set(slow_stage(spark, "part", 0.2).values()) == {HOSTS[2]}
    placement.push("part", {(0, 0): HOSTS[2]})
    ran = slow_stage(spark, "part", 0.2)
    assert ran[0] == HOSTS[2]
    assert set(ran.values()) != {HOSTS[2]}


def test_an_unknown_host_does_not_hang_a_job(spark: SparkSession, placement: PlacementTable) -> None:
    placement.push("unknown", {(0, 0): "10.255.0.1", (0, 1): HOSTS[1]})
    ran = slow_stage(spark, "unknown", 0.0)
    assert ran[1] == HOSTS[1]
    assert set(ran) == set(range(PARTITIONS))


def test_a_local_property_names_the_scope(spark: SparkSession, placement: PlacementTable) -> None:
    placement.push("mine", rotation(1, 3))
    spark.sparkContext.setLocalProperty("headworks.scope", "mine")
    try:
        assert three_stages(spark, "another group") == rotation(1, 3)
    finally:
        spark.sparkContext.setLocalProperty("headworks.scope", None)


def test_a_running_query_moves_without_restart(
    spark: SparkSession, placement: PlacementTable, query: StreamingQuery
) -> None:
    run = query.runId
    for shift in range(3):
        placement.push(str(query.id), rotation(shift, 2))
        assert next_batch(spark, query) == rotation(shift, 2)
    assert query.runId == run
    assert query.exception() is None


def test_a_stage_goes_on_when_a_worker_dies_under_it(
    cluster: LocalSpark, spark: SparkSession, placement: PlacementTable, restored: None
) -> None:
    """Tasks that run on the dead node and tasks that wait for it go elsewhere; the others stay."""
    asked = {(0, index): HOSTS[2] if index % 2 else HOSTS[0] for index in range(PARTITIONS)}
    placement.push("dying", asked)
    killer = threading.Timer(1.0, kill_worker, [cluster, HOSTS[2]])
    killer.start()
    ran = slow_stage(spark, "dying", 2.0)
    killer.join()
    assert {index: ran[index] for index in (0, 2, 4)} == dict.fromkeys((0, 2, 4), HOSTS[0])
    assert {ran[index] for index in (1, 3, 5)} <= {HOSTS[0], HOSTS[1]}


def test_a_query_survives_a_worker_and_returns_to_it(
    cluster: LocalSpark, spark: SparkSession, placement: PlacementTable, query: StreamingQuery, restored: None
) -> None:
    """One push: hosts are looked up when tasks are queued, so a node that is back has its tasks again."""
    asked = rotation(0, 2)
    placement.push(str(query.id), asked)
    assert next_batch(spark, query) == asked
    kill_worker(cluster, HOSTS[2])
    wait_for(spark, set(HOSTS[:2]))
    ran = next_batch(spark, query)
    assert {place: host for place, host in ran.items() if asked[place] != HOSTS[2]} == {
        place: host for place, host in asked.items() if host != HOSTS[2]
    }
    assert HOSTS[2] not in ran.values()
    cluster.start_worker(HOSTS[2])
    wait_for(spark, set(HOSTS))
    assert next_batch(spark, query) == asked
