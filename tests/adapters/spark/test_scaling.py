"""Nodes of a running query that are emptied, drained, gone, and there again."""

from __future__ import annotations

import attrs
import pytest

import headgate_spark
from adapters.spark.spark_jobs import HOSTS, PARTITIONS, batch_hosts, counting_query, patience
from headgate.elastic import Fleet
from headgate.host import PluginHost
from headgate.loop import Control, Loop
from headgate_spark.elastic import scale
from headgate_spark.monitor import nodes
from headgate_spark.session import executors

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def target(spark, cluster, tmp_path_factory):
    query = counting_query(spark, str(tmp_path_factory.mktemp("scaling")))
    with headgate_spark.connect(spark) as connection:
        yield attrs.evolve(connection.target(query), cluster=cluster)
        query.stop()


def test_consolidation_empties_a_node_it_goes_and_comes_again(target, cluster):
    """D-Storm packs a small load on fewer nodes; what is empty then is drained until two nodes are left."""
    control = Control(scheduler="dstorm", engine="spark", window=1.0, fleet=Fleet(minimum=2, maximum=3, idle=1))
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
    assert "went by themselves" in step.message
    assert gone not in executors(target.spark).values()
    assert gone not in cluster.alive_workers()
    assert len(nodes(target.spark)) == 2
    ran = batch_hosts(target.recorder, target.query, 2)
    assert len(ran) == 2 * PARTITIONS
    assert gone not in ran.values()
    assert scale(target, 1, ()).done
    assert gone in cluster.alive_workers()
    for _ in patience(60):
        if set(executors(target.spark).values()) == set(HOSTS):
            break
