"""Nodes of a running query that are emptied, drained, gone, and there again."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time

import attrs
import pytest

import headworks_spark
from adapters.spark.spark_jobs import (
    HOSTS,
    PARTITIONS,
    batch_hosts,
    counting_query,
    executor_pid,
    patience,
)
from headworks.control.autoscale import Fleet
from headworks.control.guards import Guards
from headworks.control.loop import Control, Loop
from headworks.model import Limits
from headworks.plugins.host import PluginHost
from headworks_spark.driver.gateway import scala_context
from headworks_spark.driver.session import executors
from headworks_spark.elastic import drain_node, scale
from headworks_spark.nodes import nodes
from headworks_spark.placement.table import PlacementTable
from headworks_spark.target import ExecutorTotal
from patience import PATIENCE

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def target(spark, cluster, tmp_path_factory):
    query = counting_query(spark, str(tmp_path_factory.mktemp("scaling")))
    with headworks_spark.connect(spark) as connection:
        yield attrs.evolve(connection.target(query), cluster=cluster)
        query.stop()


def test_consolidation_empties_a_node_it_goes_and_comes_again(target, cluster):
    """D-Storm packs a small load on fewer nodes; what is empty then is drained until two nodes are left."""
    control = Control(
        scheduler="dstorm",
        engine="spark",
        window=1.0,
        limits=Limits(deadline=60.0, slowdown=None),
        fleet=Fleet(minimum=2, maximum=3, idle=1),
        guards=Guards(cooldown=0.0),
    )
    loop = Loop(PluginHost.load(["spark", "dstorm"]), control, target)
    done = loop.round(replan=True)
    for _ in range(4):
        if done.scaling is not None:
            break
        done = loop.round(replan=True)
    assert done.scaling.done, done.scaling
    (step,) = done.scaling.steps
    gone = step.subject
    assert step.action == "drain"
    assert gone not in executors(target.spark).values()
    assert gone not in cluster.alive_workers()
    assert len(nodes(target.spark)) == 2
    ran = batch_hosts(target.recorder, target.query, 2)
    assert len(ran) == 2 * PARTITIONS
    assert gone not in ran.values()
    receipt = scale(target, 1, ())
    assert receipt.done, receipt
    assert gone in cluster.alive_workers()
    for _ in patience():
        if set(executors(target.spark).values()) == set(HOSTS):
            break


@pytest.mark.matrix
def test_executors_that_do_not_end_in_time_are_killed_and_the_stage_goes_on(target, spark, tmp_path):
    """Without the Worker: on a cluster of somebody else it stays."""
    alone = attrs.evolve(target, cluster=None)
    target.query.stop()
    step, end = {}, tmp_path / "end"

    def drain():
        for _ in patience():
            if (tmp_path / HOSTS[0]).exists():
                break
        step["done"] = drain_node(alone, HOSTS[0], timeout=0.5)
        end.touch()

    def wait(index, _rows):
        host = os.environ["SPARK_LOCAL_IP"]
        (tmp_path / host).touch()
        while not end.exists():
            time.sleep(0.05)
        yield index, host

    drainer = threading.Thread(target=drain)
    drainer.start()
    spark.sparkContext.setJobGroup("long", "long")
    ran = dict(spark.sparkContext.parallelize([], PARTITIONS).mapPartitionsWithIndex(wait).collect())
    drainer.join()
    assert step["done"].done
    assert "were killed after 0.5 s" in step["done"].message
    assert set(ran) == set(range(PARTITIONS))
    assert HOSTS[0] not in ran.values()
    assert scale(alone, 0, [HOSTS[0]]).steps[0].message == "no executor is alive there"
    receipt = scale(alone, 1, ())
    assert [(each.subject, each.done) for each in receipt.steps] == [(HOSTS[0], True)]


def test_a_drained_executor_hands_on_the_shuffle_files_that_others_read(target, spark):
    """Else what it wrote is computed again: the map tasks count themselves."""
    alone, context = attrs.evolve(target, cluster=None), spark.sparkContext
    context.setJobGroup("handed on", "handed on")
    mapped = context.accumulator(0)

    def count(index, rows):
        mapped.add(1)
        yield index, index

    pairs = context.parallelize([], PARTITIONS).mapPartitionsWithIndex(count).partitionBy(PARTITIONS)
    assert (pairs.count(), mapped.value) == (PARTITIONS, PARTITIONS)
    before = executors(spark)
    step = drain_node(alone, HOSTS[1], timeout=PATIENCE)
    assert "went by themselves" in step.message
    assert (pairs.count(), mapped.value) == (PARTITIONS, PARTITIONS)
    assert scale(alone, 1, ()).done
    assert len(executors(spark)) == len(before)


@contextlib.contextmanager
def decommissioned(spark, cluster, host, folder):
    """A Worker is told to go, by somebody else, once FOLDER/HOST is there; FOLDER/leaves says that the driver knows."""
    (executor,) = (each for each, where in executors(spark).items() if where == host)
    state = scala_context(spark.sparkContext).taskScheduler().getExecutorDecommissionState

    def drain():
        until((folder / host).exists)
        cluster.drain_worker(host, timeout=PATIENCE)

    def tell():
        until(lambda: state(executor).isDefined())
        (folder / "leaves").touch()

    threads = [threading.Thread(target=each) for each in (drain, tell)]
    for each in threads:
        each.start()
    yield
    for each in threads:
        each.join()
    cluster.start_worker(host)
    until(lambda: set(executors(spark).values()) == set(HOSTS))


def until(holds):
    for _ in patience():
        if holds():
            return


def test_what_runs_on_a_node_that_is_decommissioned_ends_there_and_what_waits_runs_elsewhere(spark, cluster, tmp_path):
    """All tasks of a stage wait for the one core of that node."""
    host, table, context = HOSTS[2], PlacementTable.of(spark), spark.sparkContext

    def work(index, _rows):
        ran = os.environ["SPARK_LOCAL_IP"]
        (tmp_path / ran).touch()
        while ran == host and not (tmp_path / "leaves").exists():
            time.sleep(0.05)
        yield index, ran

    table.push("leaving", {(0, index): host for index in range(PARTITIONS)})
    with decommissioned(spark, cluster, host, tmp_path):
        context.setJobGroup("leaving", "leaving")
        ran = dict(context.parallelize([], PARTITIONS).mapPartitionsWithIndex(work).collect())
    assert (set(ran), list(ran.values()).count(host)) == (set(range(PARTITIONS)), 1)
    assert table.left("leaving") == {"gone": PARTITIONS - 1}
    table.clear("leaving")


@pytest.mark.matrix
def test_executors_that_are_being_replaced_stay_in_the_number_that_is_asked(target, spark):
    """Of three executors one dies: one more than three are asked, not one more than two."""
    alone = attrs.evolve(target, cluster=None, total=ExecutorTotal())
    alone.total.see(len(executors(spark)))
    os.kill(executor_pid(spark, HOSTS[1]), signal.SIGKILL)
    for _ in patience():
        if len(executors(spark)) < len(HOSTS):
            break
    assert drain_node(alone, HOSTS[2]).done
    for _ in patience():  # the one that died comes again, the one that was drained does not
        if sorted(executors(spark).values()) == sorted(HOSTS[:2]):
            break
    assert scale(alone, 1, ()).done
    for _ in patience():
        if sorted(executors(spark).values()) == sorted(HOSTS):
            break
