"""Production clusters through the whole bridge: what Nimbus asks is what the files say, what is answered is done."""

from __future__ import annotations

from collections import Counter

import pytest

from headworks.plugins.host import PluginHost
from headworks_local.maven import resolve
from headworks_storm.client.clusterconf import NAMES, read_request
from headworks_storm.nimbus.bridge import Bridge, Callers
from headworks_storm.nimbus.rounds import Rounds
from headworks_storm.release.artefacts import SERVER_TESTS
from storm_jvm import running
from storm_schemas import valid

pytestmark = [pytest.mark.network, pytest.mark.slow]

PATIENCE = 200
"""Seconds between two rounds, of which nine tenths are for planning."""


@pytest.fixture(scope="module")
def jvm(tmp_path_factory):
    with running("ProductionClusters", tmp_path_factory.mktemp("classes")) as found:
        yield found


def shapes(nodes):
    return Counter((each.capacity, len(each.slots)) for each in nodes)


def racks(nodes):
    return sorted(Counter(each.rack for each in nodes).values())


def said(topology):
    """What both a file and Nimbus say of a topology; Nimbus does not name components without executors.

    A file has the word of the topology's author, Nimbus what shuffle does where it minds the load.
    """
    placed = [each for each in topology.components if each.parallelism]
    components = {each.id: (each.kind, each.parallelism, each.demand, each.task_heap) for each in placed}
    streams = [each for each in topology.streams if {each.source, each.target} <= components.keys()]
    return components, sorted(map(_words, streams)), topology.worker_heap


def _words(stream):
    return stream.source, stream.target, stream.name, stream.grouping.removeprefix("local-or-")


# The others are larger, and pass the same way.
@pytest.mark.parametrize("name", [*(pytest.param(each, marks=pytest.mark.matrix) for each in NAMES[:-1]), NAMES[-1]])
def test_a_production_cluster_passes_the_bridge_both_ways_unchanged(jvm, tmp_path, name):
    host, seen = PluginHost.load(), []
    rounds = Rounds(
        lambda request: host.schedule("even", request, {}),
        on_decision=lambda snapshot, decision: seen.append((snapshot, decision.plan)),
    )

    def answer(text):
        valid("storm-round", text)
        answered = rounds.answer(text)
        valid("storm-answer", answered)
        return answered

    cluster = jvm.headworks.storm.ProductionClusters.cluster(name)
    scheduler = jvm.headworks.storm.HeadworksScheduler()
    endpoint = tmp_path / "endpoint.json"
    conf = {"headworks.endpoint": str(endpoint), "nimbus.monitor.freq.secs": PATIENCE}
    scheduler.prepare(
        {**conf, "headworks.timeout.ms": 900 * PATIENCE}, jvm.org.apache.storm.metric.StormMetricsRegistry()
    )
    with Bridge(answer, endpoint) as bridge:
        for _ in range(2):
            scheduler.schedule(cluster.getTopologies(), cluster)
    scheduler.cleanup()

    request = read_request(resolve(SERVER_TESTS), name)
    assert bridge.callers == Callers(answered=2), cluster.getStatusMap()
    (asked, plan), *more = seen
    assert not more  # in the second round every executor had a slot
    assert shapes(asked.nodes) == shapes(request.cluster.nodes)
    assert racks(asked.nodes) == racks(request.cluster.nodes)
    topologies = {each.topology.id: each.topology for each in asked.scheduled if each.executors}
    assert {name: said(each) for name, each in topologies.items()} == {
        each.id: said(each) for each in request.topologies
    }

    shown = rounds.newest
    assert shown.round == 2
    assert len(shown.assignment) == sum(len(topology.tasks()) for topology in request.topologies)
    assert shown.assignment == plan.assignment
    for each in asked.scheduled:
        slots = {plan.assignment[task] for task in each.executors}
        if slots:
            assert cluster.getAssignmentById(each.topology.id).getSlots().size() == len(slots)
            assert cluster.getStatus(each.topology.id).startswith("Headworks: ")
