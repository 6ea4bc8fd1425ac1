"""Traffic between nodes that a placement can save while batches stay as short as Spark's own."""

from __future__ import annotations

import pytest

from headworks.model import (
    Cluster,
    Component,
    Flow,
    Kind,
    Limits,
    Metrics,
    Node,
    Request,
    Resources,
    Stream,
    TaskSample,
    Topology,
    TopologySample,
)
from headworks.plugins.host import PluginHost
from headworks_spark.demo.offline import free_scores

TASKS = 7
"""Of each stage: as many as there are cores."""
NODES = tuple(Node(id=f"node-{cores}", capacity=Resources(cpu=100.0 * cores, memory=1000.0)) for cores in (4, 2, 1))


def request(own: float, slowdown: float) -> Request:
    """A source and a state; each source sends a part to a task of its own, and the rest evenly to all."""
    parts = (Component(id="source", kind=Kind.SPOUT, parallelism=TASKS), Component(id="state", parallelism=TASKS))
    streams = (Stream(source="source", target="state", grouping="fields"),)
    query = Topology(id="query", components=parts, streams=streams, sequential=True)
    flows = tuple(
        Flow(
            source=f"query/source/{source}",
            target=f"query/state/{target}",
            tuples=100.0 * ((1.0 - own) / TASKS + own * (source == (target + 3) % TASKS)),
        )
        for source in range(TASKS)
        for target in range(TASKS)
    )
    metrics = Metrics(
        window=10.0,
        tasks=tuple(TaskSample(task=task.id, cpu=20.0 + 0.01 * task.index) for task in query.tasks()),
        flows=flows,
        topologies=(TopologySample(topology="query", interval=1.0),),
    )
    cluster, limits = Cluster(nodes=NODES, shared_slots=True), Limits(slowdown=slowdown, deadline=60.0)
    return Request(cluster=cluster, topologies=(query,), metrics=metrics, limits=limits)


@pytest.mark.parametrize("scheduler", ["even", "resource-aware", "dstorm", "dstorm-plus"])
def test_an_even_shuffle_leaves_nothing_to_win_while_batches_stay_as_short(scheduler: str) -> None:
    even = request(own=0.0, slowdown=1.0)
    assert free_scores(even).share == pytest.approx(4 / 7)
    assert PluginHost.load([scheduler]).schedule(scheduler, even).scores.share == pytest.approx(4 / 7)


def test_pairs_of_tasks_that_talk_and_longer_batches_are_what_wins() -> None:
    host, pairs = PluginHost.load(["dstorm-plus"]), request(own=0.85, slowdown=1.0)
    assert free_scores(pairs).share == pytest.approx(0.81, abs=0.01)
    assert host.schedule("dstorm-plus", pairs).scores.share == pytest.approx(0.09, abs=0.01)
    assert host.schedule("dstorm-plus", request(own=0.0, slowdown=3.0)).scores.share == 0.0
