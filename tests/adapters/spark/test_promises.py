"""Every task is given back when nobody places it any more; where tasks ran is told by Spark's own status store."""

from __future__ import annotations

import ctypes
import threading
import time

import pytest

import headworks_spark
from adapters.spark.spark_jobs import HOSTS, PARTITIONS, counting_query, job_hosts, next_batch, patience
from headworks.control.loop import Control
from headworks.errors import EngineError
from headworks.model import Limits
from headworks_spark.placement.lease import Lease
from headworks_spark.placement.table import PlacementTable

pytestmark = [pytest.mark.spark, pytest.mark.slow]
ONE = {(stage, index): HOSTS[2] for stage in range(2) for index in range(PARTITIONS)}
"""Every task on the node with a single core, where Spark alone puts at most one of the source's."""


@pytest.fixture
def connection(spark):
    with headworks_spark.connect(spark) as connection:
        yield connection


@pytest.fixture
def query(spark, tmp_path):
    query = counting_query(spark, str(tmp_path))
    yield query
    query.stop()


LEASE = 6.0
"""Seconds: two thirds of them are how late a renewal may come, on a busy machine."""


def placed(connection, spark, query):
    target = connection.target(query)
    target.placement.push(target.scope, ONE)
    assert next_batch(spark, query) == ONE
    return target


def left_to_spark(spark, query):
    """The source's tasks have no place of Spark's own: it puts them where cores are free."""
    ran = next_batch(spark, query)
    return len({ran[0, index] for index in range(PARTITIONS)}) > 1


def test_a_connection_that_is_closed_leaves_every_task_to_spark(connection, spark, query):
    target = placed(connection, spark, query)
    connection.close()
    assert target.asked() == {}
    assert left_to_spark(spark, query)
    with pytest.raises(EngineError, match="were left to Spark: connect to the session again"):
        target.placement.push(target.scope, ONE)


def raising(_round):
    raise RuntimeError("not our day")


def test_a_follower_that_fails_or_is_stopped_leaves_every_task_to_spark(connection, spark, query):
    # As many tasks on one core as on four make batches longer.
    limits = Limits(deadline=60.0, slowdown=None)
    control = Control(scheduler="even", options={"rebalance": True}, engine="spark", window=0.5, limits=limits)
    table = PlacementTable.of(spark)
    for on_round in (raising, None):
        follower = connection.follow(query, control, interval=0.1, on_round=on_round)
        for _ in patience():
            # a round whose plan is what runs by chance asks for nothing; the source's tasks run elsewhere next time
            if table.read(str(query.id)) if on_round is None else not follower.alive:
                break
        assert follower.alive is (on_round is None)
        follower.stop()
        assert table.read(str(query.id)) == {}


def test_a_query_that_starts_again_from_its_checkpoint_has_no_place_of_before(connection, spark, query, tmp_path):
    placed(connection, spark, query)
    query.stop()
    again = counting_query(spark, str(tmp_path))
    try:
        assert (again.id, again.runId == query.runId) == (query.id, False)
        assert left_to_spark(spark, again)
        assert connection.target(again).asked() == {}
        placed(connection, spark, again)
    finally:
        again.stop()


@pytest.mark.matrix
def test_a_python_that_hangs_loses_its_places_and_a_live_one_keeps_them(spark, query):
    """A call that holds the interpreter's lock stops every thread of this process, and no thread of the JVM."""
    lease = Lease(PlacementTable.of(spark), str(query.runId), seconds=LEASE)
    lease.push(str(query.id), ONE)
    time.sleep(1.5 * LEASE)
    assert next_batch(spark, query) == ONE
    for _ in patience():  # a batch that begins and ends meanwhile takes longer on a busy machine
        begin = time.time()
        ctypes.PyDLL(None).sleep(int(3 * LEASE))
        meanwhile = batches_begun(spark, query, begin + LEASE + 1, time.time())
        if meanwhile:
            break
    for batch in meanwhile:
        assert len({batch[0, index] for index in range(PARTITIONS)}) > 1
    assert lease.read(str(query.id)) == {}
    lease.push(str(query.id), ONE)
    assert next_batch(spark, query) == ONE
    lease.close()
    assert left_to_spark(spark, query)


def batches_begun(spark, query, begin, end):
    """Where the tasks of the whole batches ran that Spark began within a time, by its own clock."""
    store = spark.sparkContext._jsc.sc().statusStore()
    found = []
    for job in spark.sparkContext.statusTracker().getJobIdsForGroup(str(query.runId)):
        submitted = store.job(job).submissionTime()
        if submitted.isDefined() and begin < submitted.get().getTime() / 1e3 < end:
            found.append(job_hosts(spark, job))
    return [each for each in found if len(each) == 2 * PARTITIONS]


def test_a_lease_whose_holder_is_not_well_lapses(spark):
    well = threading.Event()
    well.set()
    lease, table = Lease(PlacementTable.of(spark), seconds=LEASE / 2, healthy=well.is_set), PlacementTable.of(spark)
    lease.push("a group", ONE)
    time.sleep(LEASE)
    assert lease.read("a group") == ONE
    well.clear()
    for _ in patience():
        if lease.read("a group") == {}:
            break
    lease.close()
    table.push("a group", ONE)
    assert table.read("a group") == ONE
    table.clear("a group")


def test_a_lease_takes_back_its_own_table_alone(spark):
    table = PlacementTable.of(spark)
    first, second = Lease(table), Lease(table)
    first.push("a group", ONE)
    second.push("a group", ONE)
    first.close()
    assert second.read("a group") == ONE
    second.close()
    assert table.read("a group") == {}
