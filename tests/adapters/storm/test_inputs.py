"""What schedulers need to know of a real cluster: the load from outside, numbers of nodes, types of machines.

The witness is Storm: the tuples that its own statistics count, the rate in the description of a topology.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from headworks.control.loop import Control, Loop
from headworks.documents import write
from headworks.model import Component, Kind, Profile, Resources, Stream, Topology
from headworks.model.knowledge import Knowledge, ProfileFit
from headworks.plugins.host import PluginHost
from headworks_storm.demo.experiment import ServedCluster, experiment
from headworks_storm.local.cluster import SupervisorSpec
from headworks_storm.nimbus.snapshot import DESIRED, MINIMUM
from headworks_storm.workload.describe import describe
from storm_cluster import RELEASE, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.storm, pytest.mark.slow, pytest.mark.network]

RATE, WINDOW = 400.0, 15.0
LOOKS = 20
"""Windows, most: on an idle machine the first one does."""
TWO_CORES = 200.0
"""CPU points of a bolt at the whole rate: its one thread manages half of it at most."""
TYPES = {"127.0.0.41": "pentium", "127.0.0.42": "i5"}


@pytest.fixture(scope="module")
def cluster(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedCluster]:
    nodes = tuple(
        SupervisorSpec(
            host=host,
            cpu=400.0,
            memory_mb=2048.0,
            slots=2,
            conf={"supervisor.scheduler.meta": {"headworks.machine.type": name}},
        )
        for host, name in TYPES.items()
    )
    conf = {"executor.metrics.frequency.secs": 1, "topology.stats.sample.rate": 1.0}
    host = PluginHost.load()
    with experiment(
        host, nodes, tmp_path_factory.mktemp("inputs"), scheduler="even", conf=conf, version=RELEASE
    ) as served:
        yield served


def chain(name: str, points: float, selectivity: float) -> Topology:
    """400 lines a second, a bolt that works on them, and a sink."""
    return Topology(
        id=name,
        components=(
            Component(id="lines", kind=Kind.SPOUT, rate=RATE, demand=Resources(cpu=1, memory=64)),
            Component(id="work", demand=Resources(cpu=points, memory=64), selectivity=selectivity),
            Component(id="sink", demand=Resources(cpu=1, memory=64)),
        ),
        streams=(Stream(source="lines", target="work"), Stream(source="work", target="sink")),
    )


def counted(cluster: ServedCluster, name: str) -> dict[str, int]:
    """Tuples that Storm's own statistics say each component emitted so far."""
    with cluster.storm.gateway._nimbus(name) as nimbus:
        found: dict[str, int] = {}
        for each in nimbus.getTopologyInfoByName(name).get_executors():
            part = each.get_component_id()
            emitted = each.get_stats().get_emitted().get(":all-time") if each.is_set_stats() else {}
            found[part] = found.get(part, 0) + int((emitted or {}).get("default") or 0)
    return found


@attrs.frozen(kw_only=True)
class Look:
    """What was measured of a topology, the analysis of that, and lines/s by Storm's statistics meanwhile."""

    offered: float
    throughput: float
    source: str
    state: str
    lines: float

    def keeps_up(self, figures: str) -> bool:
        """Whether all that arrives is done, as Storm counts it as well, and this is found by these figures."""
        done = self.throughput == pytest.approx(RATE, rel=0.1) and self.lines == pytest.approx(RATE, rel=0.2)
        return done and self.arrives() and (self.state, self.source) == ("normal", figures)

    def falls_behind(self) -> bool:
        """Whether less is done than arrives, and this is found."""
        return self.arrives() and self.throughput < 0.7 * RATE and self.state == "unsatisfactory"

    def arrives(self) -> bool:
        return self.offered == pytest.approx(RATE, rel=0.1)


def look(cluster: ServedCluster, topology: Topology, wanted: Callable[[Look], bool], **conf: Any) -> Look:
    """Run a topology, and look until it is seen as wanted: a busy machine stops all of it for a second now and then."""
    cluster.run(describe(topology, conf=conf))
    try:
        wait_for("statistics of Storm", lambda: counted(cluster, topology.id).get("lines"))
        cluster.measure(5.0)
        looks: list[Look] = []
        while len(looks) < LOOKS and not (looks and wanted(looks[-1])):
            looks.append(once(cluster, topology.id))
    finally:
        cluster.end(topology.id)
    assert wanted(looks[-1]), looks
    return looks[-1]


def once(cluster: ServedCluster, name: str) -> Look:
    """One window."""
    before, begin = counted(cluster, name), time.monotonic()
    seen = cluster.measure(WINDOW).seen
    after, seconds = counted(cluster, name), time.monotonic() - begin
    (sample,) = seen.metrics.topologies
    return Look(
        offered=sample.offered or 0.0,
        throughput=sample.throughput or 0.0,
        source=sample.source,
        state=cluster.host.analyse("dstorm", seen, {"latency_constraint": 1e9, "consolidation_threshold": 1e-9}).state,
        lines=(after["lines"] - before["lines"]) / seconds,
    )


def test_a_backlog_that_grows_at_the_source_is_seen_though_the_spout_emits_what_its_bolts_take(
    cluster: ServedCluster,
) -> None:
    conf = {"topology.max.spout.pending": 20, "topology.acker.executors": 1}

    def held_back(it: Look) -> bool:
        """Storm itself counts that the spout emits less than arrives."""
        return it.falls_behind() and it.lines < 0.7 * RATE and it.throughput == pytest.approx(it.lines, rel=0.25)

    found = look(cluster, chain("behind", TWO_CORES, 1.0), held_back, **conf)
    assert found.source == "acked; offered: arrived"
    assert cluster.service.collector is not None
    rows = [row for report in cluster.service.collector.recent(60) for row in report.sources]
    # A spout without such gauges is judged by this, which Storm counts for every spout.
    assert max(row.held or 0 for row in rows) > 300, rows


def test_a_spout_that_keeps_up_is_quiet(cluster: ServedCluster) -> None:
    conf = {"topology.max.spout.pending": 1000, "topology.acker.executors": 1}
    look(cluster, chain("in-time", 4.0, 1.0), lambda it: it.keeps_up("acked; offered: arrived"), **conf)


@pytest.mark.matrix  # test_reports.py has their figures worked by hand
def test_a_filter_without_ackers_is_quiet_and_a_splitter_at_half_speed_is_not(cluster: ServedCluster) -> None:
    figures, alone = "received by sinks; offered: arrived", {"topology.acker.executors": 0}
    look(cluster, chain("filter", 4.0, 0.1), lambda it: it.keeps_up(figures), **alone)
    found = look(cluster, chain("splitter", TWO_CORES, 9.0), Look.falls_behind, **alone)
    assert found.throughput > 0


def learned(name: str, e: float) -> ProfileFit:
    """A profile of the bolt that an earlier submission taught."""
    return ProfileFit(profile=Profile(topology="known-1-1", component="work", machine_type=name, e=e), samples=9)


def test_a_round_of_nimbus_has_numbers_of_nodes_types_of_machines_and_what_was_learned_by_name(
    cluster: ServedCluster, tmp_path: Path
) -> None:
    write(tmp_path / "knowledge.json", Knowledge(profiles=(learned("pentium", 0.2), learned("i5", 0.1))))
    cluster.run(describe(chain("known", 4.0, 1.0), conf={DESIRED: 2, MINIMUM: 1, "topology.priority": 7}))
    try:
        control = Control(scheduler="hetero", engine="storm", options={"counts": "given"}, shadow=True, window=3.0)
        control = attrs.evolve(control, knowledge=tmp_path)
        done = Loop(cluster.host, control, cluster.service.target).round(replan=True)
    finally:
        cluster.end("known")
    assert done.request is not None
    assert done.plan is not None
    (topology,) = done.request.topologies
    assert (topology.name, topology.priority, topology.desired_nodes, topology.minimum_nodes) == ("known", 7, 2, 1)
    assert topology.id.startswith("known-")
    assert {node.hostname: node.machine_type for node in done.request.cluster.nodes} == TYPES
    assert {(each.topology, each.machine_type) for each in done.request.profiles} == {
        (topology.id, "pentium"),
        (topology.id, "i5"),
    }
    assert done.plan.label == "ok", done.plan
