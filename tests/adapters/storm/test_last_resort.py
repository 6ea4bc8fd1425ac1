"""Whatever Storm's own scheduler would place, a round that Headworks answers places too: on random clusters."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from headworks.plugins.host import PluginHost
from headworks_storm.local.cluster import SupervisorSpec
from headworks_storm.nimbus.bridge import Bridge
from headworks_storm.nimbus.rounds import Rounds
from headworks_storm.workload.catalogue import workloads
from storm_cluster import running_cluster, wait_for
from storm_jvm import running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.network, pytest.mark.slow]

PATIENCE = 200
"""Seconds between two rounds, of which nine tenths are for planning."""
CLUSTERS = {"even": range(250), "resource-aware": range(250, 400), "dstorm": range(400, 500)}
"""Numbers of the clusters that each scheduler plans."""


@pytest.fixture(scope="module")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with running("RandomClusters", tmp_path_factory.mktemp("classes")) as found:
        yield found


@contextlib.contextmanager
def answered(jvm: Any, host: PluginHost, name: str, folder: Path, own: str = "") -> Iterator[Any]:
    """Headworks's scheduler in a JVM, which this process answers, with Storm's scheduler of a name as its stand-in."""
    endpoint = folder / "endpoint.json"
    nimbus = jvm.headworks.storm.HeadworksScheduler()
    conf = jvm.headworks.storm.RandomClusters.conf()
    conf.put("headworks.endpoint", str(endpoint))
    conf.put("nimbus.monitor.freq.secs", PATIENCE)
    conf.put("headworks.timeout.ms", 900 * PATIENCE)
    if own:
        conf.put("headworks.own.scheduler", f"org.apache.storm.scheduler.resource.{own}")
    nimbus.prepare(conf, jvm.org.apache.storm.metric.StormMetricsRegistry())
    with Bridge(Rounds(lambda request: host.schedule(name, request, {})).answer, endpoint):
        yield nimbus
    nimbus.cleanup()


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", CLUSTERS)
def test_what_the_stand_in_would_place_is_placed(
    jvm: Any, tmp_path: Path, name: str, record_property: Callable[[str, object], None]
) -> None:
    """But for topologies with hard constraints, which the stand-in does not know: they stay hard, and are counted."""
    clusters, host, full, waits = jvm.headworks.storm.RandomClusters, PluginHost.load(), 0, Counter[str]()
    with answered(jvm, host, name, tmp_path) as nimbus:
        for number in CLUSTERS[name]:
            cluster = clusters.cluster(number)
            before, hard = dict(clusters.layout(cluster)), dict(clusters.kept(cluster))
            alone = dict(clusters.waiting(clusters.alone(cluster)))
            waits["with seats, and lost some"] += clusters.robbed(cluster)
            nimbus.schedule(cluster.getTopologies(), cluster)
            left = dict(clusters.waiting(cluster))
            said = {each: cluster.getStatus(each) for each in left}
            assert not any("does not answer" in each for each in said.values()), said
            free = left.keys() - hard.keys()
            assert sum(left[each] for each in free) <= sum(alone[each] for each in free), (number, left, alone, said)
            assert all(now or not hard[each] for each, now in dict(clusters.kept(cluster)).items()), (number, said)
            waits["constrained"] += len(hard)
            waits["constrained and left out"] += sum(left[each] > alone[each] for each in hard)
            assert all(clusters.layout(cluster)[worker] == tasks for worker, tasks in before.items())
            full += clusters.beyond(cluster) > 0
            if clusters.beyond(cluster) > clusters.beyond(clusters.cluster(number)):
                assert any("beyond what is declared of" in each for each in said.values()), said
    assert full > len(CLUSTERS[name]) / 10
    for kind, count in waits.items():
        record_property(kind, count)
    assert waits["with seats, and lost some"] > 0
    assert 0 < waits["constrained and left out"] < waits["constrained"] / 2


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["even", "resource-aware", "dstorm-plus"])
def test_no_supervisor_carries_more_than_it_declares_by_what_storm_counts(jvm: Any, tmp_path: Path, name: str) -> None:
    """Executors share memory, on their heaps, beside them and on their node, or ask for what few nodes have.

    Storm's resource-aware scheduler stands in.
    """
    clusters, host, shared, asking = jvm.headworks.storm.RandomClusters, PluginHost.load(), 0, 0
    with answered(jvm, host, name, tmp_path, own="ResourceAwareScheduler") as nimbus:
        for number in range(60):
            cluster = clusters.sharing(number)
            alone = dict(clusters.waiting(clusters.aloneByResources(cluster)))
            nimbus.schedule(cluster.getTopologies(), cluster)
            left = dict(clusters.waiting(cluster))
            said = {each: cluster.getStatus(each) for each in left}
            assert clusters.beyond(cluster) == 0, (number, said)
            assert not any("refused" in each or "does not answer" in each for each in said.values()), said
            assert sum(left.values()) <= sum(alone.values()), (number, left, alone, said)
            shared += any("placed" in each for each in said.values())
            asking += clusters.asking(cluster)
    assert shared > 10
    assert asking > 20


@pytest.mark.storm
@pytest.mark.timeout(900)
def test_executors_of_a_dead_node_come_back_on_nodes_whose_declared_memory_is_full(java: None, tmp_path: Path) -> None:
    """Storm's default scheduler counts no memory, and does the same. The witness is what Nimbus stored."""
    (topology,) = next(each for each in workloads() if each.name == "word-count").build().topologies
    needs = sum(each.parallelism * each.demand.memory for each in topology.components) + 128.0 * topology.workers
    full = tuple(SupervisorSpec(host=f"127.0.0.{last}", memory_mb=needs / 3 + 128.0, slots=3) for last in (21, 22, 23))
    with running_cluster(tmp_path, supervisors=full) as cluster:
        before = cluster.settled()
        node = min(slot[0] for slot in before.slots.values())
        host = next(each.host for each in cluster.storm.gateway.cluster().supervisors if each.id == node)
        with cluster.serve("even"):
            cluster.storm.kill_supervisor(host, workers=True)
            wait_for("its executors elsewhere", lambda: node not in {slot[0] for slot in cluster.stored().values()})
            after = cluster.settled()
            said = cluster.status()
        assert after.slots.keys() == before.slots.keys()
        assert "by slots alone" in said or "beyond what is declared of" in said, said
        stay = {each: slot for each, slot in before.slots.items() if slot[0] != node}
        assert {each: after.slots[each] for each in stay} == stay
