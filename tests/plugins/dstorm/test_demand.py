"""What is planned for: the load that was measured, or the load that arrives (Eq. 5.1)."""

from __future__ import annotations

import pytest

from headworks.model import Metrics, TaskSample, TopologySample
from headworks.plugins.host import PluginHost
from small_requests import component, node, request, topology

RUNNING = {"t/p/0": "a", "t/p/1": "a"}


def asked(offered, *, nodes=2):
    """Two tasks of 40 points and 450 MB on a node of 100 points and 1,000 MB, which complete 10 tuples/s."""
    tasks = tuple(TaskSample(task=task, cpu=40.0, memory=450.0, received=5.0) for task in RUNNING)
    topologies = (TopologySample(topology="t", offered=offered, throughput=10.0),)
    cluster = [node(each) for each in "ab"[:nodes]]
    metrics = Metrics(tasks=tasks, topologies=topologies)
    return request(cluster, [topology("t", component("p", 2))], RUNNING, metrics=metrics)


@pytest.mark.parametrize("name", ["dstorm", "dstorm-plus"])
@pytest.mark.parametrize(("offered", "options", "nodes"), [
    (20.0, {}, 1),
    (20.0, {"demand": "offered"}, 2),  # 80 points each
    (12.0, {"demand": "offered"}, 1),  # 48 each
    (12.0, {"demand": "offered", "memory": "kept"}, 1),
    (12.0, {"demand": "offered", "memory": "linear"}, 2),  # 540 MB each
    (20.0, {"demand": "offered", "measured": "no"}, 1),  # declared demands do not grow
])  # fmt: skip
def test_a_topology_that_lags_gets_the_room_that_it_will_need(name, offered, options, nodes):
    plan = PluginHost.load([name]).schedule(name, asked(offered), options)
    assert plan.status == "ok"
    assert len({slot.node for slot in plan.assignment.values()}) == nodes


@pytest.mark.parametrize("name", ["dstorm", "dstorm-plus"])
def test_where_the_offered_load_has_no_room_the_measured_one_is_planned_for_and_said(name):
    plan = PluginHost.load([name]).schedule(name, asked(100.0, nodes=1), {"demand": "offered"})
    assert (plan.status, plan.moves) == ("ok", ())
    assert "the load that is offered has no room" in plan.explanation
