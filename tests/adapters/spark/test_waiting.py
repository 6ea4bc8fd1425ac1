"""A place is kept while its node serves it: what fails there, waits too long or cannot run there goes elsewhere."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import BarrierTaskContext, InheritableThread

from adapters.spark.spark_jobs import HOSTS, PARTITIONS, patience, slow_stage
from headworks_spark.driver.gateway import scala_context
from headworks_spark.placement.table import PlacementTable
from patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
WAIT = "spark.headworks.wait"
SMALL = HOSTS[2]
"""The node with one core."""


@pytest.fixture
def placement(spark: SparkSession) -> PlacementTable:
    return PlacementTable.of(spark)


@pytest.fixture
def wait(spark: SparkSession) -> Iterator[Any]:
    """Set the bound; it is read for every stage."""
    conf = scala_context(spark.sparkContext).conf()
    yield lambda value: conf.set(WAIT, value)
    conf.remove(WAIT)


@pytest.fixture
def busy(spark: SparkSession, placement: PlacementTable, tmp_path: Path) -> Iterator[None]:
    """The one core of the smallest node has a task until the test is over."""
    with occupied(spark, placement, tmp_path / "end"):
        yield


@contextmanager
def occupied(spark: SparkSession, placement: PlacementTable, end: Path) -> Iterator[None]:
    begun = end.with_suffix(".begun")

    def sleep(_index: int, _rows: Any) -> Any:
        begun.touch()
        while not end.exists():
            time.sleep(0.05)
        yield os.environ["SPARK_LOCAL_IP"]

    def run() -> None:
        spark.sparkContext.setJobGroup(end.name, end.name)
        ran.extend(spark.sparkContext.parallelize([], 1).mapPartitionsWithIndex(sleep).collect())

    ran: list[str] = []
    placement.push(end.name, {(0, 0): SMALL})
    thread = InheritableThread(target=run)
    thread.start()
    try:
        for _ in patience():
            if begun.exists():
                break
        yield
    finally:
        end.touch()
        thread.join(PATIENCE)
        placement.clear(end.name)
    assert ran == [SMALL]


def fails_on(host: str) -> Any:
    def work(index: int, _rows: Any) -> Any:
        if os.environ["SPARK_LOCAL_IP"] == host:
            raise OSError(28, "No space left on device")
        yield index, os.environ["SPARK_LOCAL_IP"]

    return work


@pytest.mark.matrix
def test_ten_stages_end_though_their_node_fails_every_attempt(spark: SparkSession, placement: PlacementTable) -> None:
    context = spark.sparkContext
    placement.push("bad node", {(0, 0): HOSTS[0]})
    context.setJobGroup("bad node", "bad node")
    for _ in range(10):
        ((_, host),) = context.parallelize([], 1).mapPartitionsWithIndex(fails_on(HOSTS[0])).collect()
        assert host in HOSTS[1:]
    assert placement.left("bad node") == {"failed": 10}


def test_only_what_failed_leaves_its_node(spark: SparkSession, placement: PlacementTable) -> None:
    asked = {(0, index): HOSTS[index % 3] for index in range(PARTITIONS)}
    placement.push("one bad", asked)
    spark.sparkContext.setJobGroup("one bad", "one bad")
    ran = dict(spark.sparkContext.parallelize([], PARTITIONS).mapPartitionsWithIndex(fails_on(HOSTS[1])).collect())
    assert {ran[1], ran[4]} <= {HOSTS[0], HOSTS[2]}
    assert all(ran[index] == asked[0, index] for index in (0, 2, 3, 5))


def test_a_busy_node_is_waited_for_and_no_longer_than_the_bound(
    spark: SparkSession, placement: PlacementTable, wait: Any, busy: None
) -> None:
    wait("2s")
    placement.push("waits", {(0, index): SMALL for index in range(PARTITIONS)})
    began = time.monotonic()
    ran = slow_stage(spark, "waits", 0.0)
    assert time.monotonic() - began > 2.0
    assert SMALL not in ran.values()
    assert placement.left("waits") == {"busy": PARTITIONS}


def test_a_lease_that_lapses_frees_what_waits(
    spark: SparkSession, placement: PlacementTable, wait: Any, busy: None
) -> None:
    """The bound is as long as the test may take."""
    wait(f"{PATIENCE:.0f}s")
    placement.push("lapses", {(0, index): SMALL for index in range(PARTITIONS)})
    placement.grant("lapses", "nobody", None, 3.0)
    assert SMALL not in slow_stage(spark, "lapses", 0.0).values()
    assert placement.left("lapses") == {}


def test_within_the_bound_a_busy_node_is_waited_for(
    spark: SparkSession, placement: PlacementTable, wait: Any, tmp_path: Path
) -> None:
    wait("60s")
    placement.push("patient", {(0, 0): SMALL})
    with occupied(spark, placement, tmp_path / "end"):
        freed = InheritableThread(target=lambda: (time.sleep(4.0), (tmp_path / "end").touch()))
        freed.start()
        ran = slow_stage(spark, "patient", 0.0)
        freed.join()
    assert ran[0] == SMALL
    assert placement.left("patient") == {}


def test_tasks_queue_for_one_core_as_long_as_it_runs_their_stage(
    spark: SparkSession, placement: PlacementTable, wait: Any
) -> None:
    """The clock of those that wait stands: each task takes as long as the bound."""
    wait("1s")
    placement.push("queue", {(0, index): SMALL for index in range(PARTITIONS)})
    assert set(slow_stage(spark, "queue", 1.5).values()) == {SMALL}
    assert placement.left("queue") == {}


def test_a_node_that_others_keep_busy_is_left_after_three_batches_until_it_is_asked_again(
    spark: SparkSession, placement: PlacementTable, wait: Any, busy: None
) -> None:
    wait("1s")
    placement.push("crowded", {(0, index): SMALL for index in range(PARTITIONS)})
    for jobs in (1, 2, 3):
        slow_stage(spark, "crowded", 0.0)
        assert placement.left("crowded") == {"busy": jobs * PARTITIONS}
    wait(f"{PATIENCE:.0f}s")
    slow_stage(spark, "crowded", 0.0)
    assert placement.left("crowded") == {"busy": 3 * PARTITIONS, f"crowded:{SMALL}": PARTITIONS}
    wait("1s")
    placement.push("crowded", {(0, index): SMALL for index in range(PARTITIONS)})
    slow_stage(spark, "crowded", 0.0)
    assert placement.left("crowded") == {"busy": 4 * PARTITIONS, f"crowded:{SMALL}": PARTITIONS}


def test_a_task_without_a_place_waits_as_spark_alone_lets_it(
    spark: SparkSession, placement: PlacementTable, tmp_path: Path
) -> None:
    """One task has a place, the other prefers the busy node, as its block is there."""
    blocks = spark.sparkContext.parallelize(["placed", "left"], 2).cache()
    placement.push("blocks", {(0, index): SMALL for index in range(2)})
    spark.sparkContext.setJobGroup("blocks", "blocks")
    assert blocks.count() == 2
    placement.push("mixed", {(0, 0): HOSTS[0]})
    with occupied(spark, placement, tmp_path / "end"):
        spark.sparkContext.setJobGroup("mixed", "mixed")
        ran = blocks.map(lambda item: (item, os.environ["SPARK_LOCAL_IP"])).collectAsMap()
    blocks.unpersist()
    assert ran["placed"] == HOSTS[0]
    assert ran["left"] != SMALL


def test_a_barrier_stage_starts_at_once(spark: SparkSession, placement: PlacementTable) -> None:
    """Three tasks, asked for on a node of two cores: they start together or never."""

    def gather(_rows: Any) -> Any:
        context = BarrierTaskContext.get()
        context.barrier()
        yield context.partitionId(), os.environ["SPARK_LOCAL_IP"]

    placement.push("barrier", {(0, index): HOSTS[1] for index in range(3)})
    spark.sparkContext.setJobGroup("barrier", "barrier")
    ran = dict(spark.sparkContext.parallelize([], 3).barrier().mapPartitions(gather).collect())
    assert sorted(ran) == [0, 1, 2]
    assert placement.left("barrier") == {"barrier": 3}
