"""Workers whose tasks ask for fractions of CPU: sums stay as they are stored, and no worker starts anew for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headworks.model import Component, Kind, Resources, Stream, Topology
from headworks.plugins.host import PluginHost
from headworks_storm.demo.experiment import experiment
from headworks_storm.local.cluster import SupervisorSpec
from headworks_storm.workload.describe import describe
from patience import PATIENCE
from storm_cluster import RELEASE, wait_for

if TYPE_CHECKING:
    from headworks_storm.demo.experiment import ServedCluster

pytestmark = [
    pytest.mark.storm,
    pytest.mark.slow,
    pytest.mark.network,
    pytest.mark.matrix,  # src/test/java has the sums of many rounds, on Storm's own classes
]

NODES = tuple(SupervisorSpec(host=f"127.0.0.{last}", cpu=400.0, memory_mb=4096.0, slots=2) for last in (74, 75))
ROUNDS = 4


def fraction(part: str, cpu: float, **more) -> Component:
    return Component(id=part, parallelism=6, demand=Resources(cpu=cpu, memory=64), **more)


TOPOLOGY = Topology(
    id="thirds",
    components=(
        fraction("in", 10 / 3, kind=Kind.SPOUT, rate=10),
        fraction("mid", 0.7),
        fraction("out", 1.1),
    ),
    streams=(Stream(source="in", target="mid"), Stream(source="mid", target="out")),
    workers=2,
)


def pids(cluster: ServedCluster) -> set[int]:
    return {each.pid for each in cluster.storm.workers() if each.pid}


def rounds_pass(cluster: ServedCluster) -> None:
    last = cluster.service.target.rounds.latest(PATIENCE)
    wait_for("rounds", lambda: _later(cluster, last) >= ROUNDS)


def _later(cluster: ServedCluster, last) -> int:
    latest = cluster.service.target.rounds.latest(PATIENCE)
    return latest.round - (last.round if latest.nimbus == last.nimbus else 0)


def settings(cluster: ServedCluster) -> int:
    """How often a Nimbus has stored an assignment of the topology."""
    log = (cluster.storm.home.parent / "nimbus.log").read_text(errors="replace")
    return log.count("Setting new assignment for topology id thirds-")


@pytest.mark.timeout(1800)
def test_an_assignment_is_stored_once_and_again_by_no_other_nimbus(java, tmp_path):
    conf = {"nimbus.monitor.freq.secs": 1}
    with experiment(PluginHost.load(), NODES, tmp_path, scheduler="even", conf=conf, version=RELEASE) as cluster:
        cluster.run(describe(TOPOLOGY), shadow=False)
        rounds_pass(cluster)
        workers = pids(cluster)
        assert (len(workers), settings(cluster)) == (2, 1)
        cluster.storm.kill_nimbus()
        cluster.storm.start_nimbus()
        rounds_pass(cluster)
        assert (pids(cluster), settings(cluster)) == (workers, 1)
        assert (
            "cannot be read; Nimbus stores its own sums" not in (cluster.storm.home.parent / "nimbus.log").read_text()
        )
