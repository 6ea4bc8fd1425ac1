"""A query that is to have no node waits before its next stage: it runs nothing, and loses nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark import InheritableThread

from adapters.spark.spark_jobs import HOSTS, PARTITIONS, counting_query, next_batch, patience, rotation, three_stages
from headworks_spark.driver.gateway import scala_context
from headworks_spark.placement.lease import Lease
from headworks_spark.placement.table import PlacementTable
from patience import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
HOLD = "spark.headworks.hold"


@pytest.fixture
def placement(spark: SparkSession) -> PlacementTable:
    return PlacementTable.of(spark)


@pytest.fixture
def bound(spark: SparkSession) -> Iterator[Callable[[str], Any]]:
    """Set the bound; it is read at each look."""
    conf = scala_context(spark.sparkContext).conf()
    yield lambda value: conf.set(HOLD, value)
    conf.remove(HOLD)


class Job(InheritableThread):  # type: ignore[misc]  # PySpark's types are not read
    """A job of three stages in a thread: where each of its tasks ran."""

    def __init__(self, spark: SparkSession, group: str) -> None:
        self.ran: dict[Any, str] = {}
        super().__init__(target=lambda: self.ran.update(three_stages(spark, group)))
        self.start()

    def done(self) -> dict[Any, str]:
        self.join(PATIENCE)
        assert not self.is_alive()
        return self.ran


def waits(spark: SparkSession, group: str) -> None:
    """A job of the group has begun and runs no task, while another job, later, begins and ends."""
    tracker = spark.sparkContext.statusTracker()
    for _ in patience():
        active = set(tracker.getActiveJobsIds()) & set(tracker.getJobIdsForGroup(group))
        stages = [
            stage for job in active for stage in (tracker.getJobInfo(job).stageIds if tracker.getJobInfo(job) else ())
        ]
        found = [tracker.getStageInfo(stage) for stage in stages]
        if active and not any(each is not None and each.numActiveTasks for each in found):
            break
    before = [each and each.numCompletedTasks for each in found]
    assert len(three_stages(spark, "another")) == 3 * PARTITIONS
    assert [each and each.numCompletedTasks for each in map(tracker.getStageInfo, stages)] == before


def test_stages_wait_and_then_run_where_the_next_table_says(spark: SparkSession, placement: PlacementTable) -> None:
    placement.hold("held")
    assert (placement.held("held"), placement.read("held")) == (True, {})
    job = Job(spark, "held")
    waits(spark, "held")
    placement.push("held", rotation(1, 3))
    assert job.done() == rotation(1, 3)
    assert placement.left("held") == {}
    placement.clear("held")


def test_a_place_for_another_stage_is_not_taken_by_one_that_waited(
    spark: SparkSession, placement: PlacementTable
) -> None:
    placement.hold("shape")
    job = Job(spark, "shape")
    waits(spark, "shape")
    placement.push("shape", {(0, index): HOSTS[2] for index in range(PARTITIONS)}, {0: "another stage"})
    assert len(job.done()) == 3 * PARTITIONS
    placement.clear("shape")


def test_whoever_held_it_ends_and_it_is_spark_s(spark: SparkSession, placement: PlacementTable) -> None:
    lease = Lease(placement)
    lease.hold("given back")
    assert lease.held("given back")
    job = Job(spark, "given back")
    waits(spark, "given back")
    lease.close()
    assert len(job.done()) == 3 * PARTITIONS
    assert not placement.held("given back")


def test_a_program_that_hangs_holds_nothing_for_long(spark: SparkSession, placement: PlacementTable) -> None:
    """Its lease lapses: nobody renews it."""
    lease = Lease(placement, seconds=0.5, healthy=lambda: False)
    lease.hold("hangs")
    assert len(Job(spark, "hangs").done()) == 3 * PARTITIONS
    lease.close()


def test_no_stage_waits_longer_than_the_bound(
    spark: SparkSession, placement: PlacementTable, bound: Callable[[str], Any]
) -> None:
    bound("300ms")
    placement.hold("bounded")
    assert len(Job(spark, "bounded").done()) == 3 * PARTITIONS
    assert placement.left("bounded") == {"held": 3 * PARTITIONS}
    placement.clear("bounded")


def test_a_query_that_waits_can_be_stopped_and_goes_on_from_its_checkpoint(
    spark: SparkSession, placement: PlacementTable, tmp_path: Path
) -> None:
    query = counting_query(spark, str(tmp_path))
    next_batch(spark, query)
    placement.hold(str(query.id))
    waits(spark, str(query.runId))
    before = query.lastProgress["batchId"]
    query.stop()
    assert query.exception() is None
    placement.clear(str(query.id))
    again = counting_query(spark, str(tmp_path))
    try:
        for _ in patience():
            if again.lastProgress is not None:
                break
        assert again.id == query.id
        assert again.recentProgress[0]["batchId"] == before + 1
    finally:
        again.stop()
