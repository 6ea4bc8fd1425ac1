"""The cases of Storm's tests of its constraint solver, through the bridge: Storm itself judges what is placed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headgate.plugins.host import PluginHost
from headgate_storm.nimbus.bridge import Bridge
from headgate_storm.nimbus.rounds import Rounds
from storm_jvm import running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.network, pytest.mark.slow]

CASES = ("solver", "spread", "backtrack", "integration", "large-1", pytest.param("large-20", marks=pytest.mark.matrix))
FULL = {("even", "solver")}
"""Where a topology is not started: the cluster is full to the last point, and four executors find no worker left."""
ALONE = ("integration", "large-1", "large-20")
"""Cases in which a component is incompatible with itself: `bolt-1`."""
LOST = {("resource-aware", "spread"): 1}
"""Executors that stay without a slot once every other worker has ended; none elsewhere."""
PATIENCE = 200
"""Seconds between two rounds, of which nine tenths are for planning."""


@pytest.fixture(scope="module")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with running("SolverCases", tmp_path_factory.mktemp("classes")) as found:
        yield found


def headgate(jvm: Any, cluster: Any, scheduler: str, folder: Path) -> None:
    """A round of Nimbus that Headgate answers."""
    host = PluginHost.load()
    nimbus = jvm.headgate.storm.HeadgateScheduler()
    conf = {"headgate.endpoint": str(folder / "endpoint.json"), "nimbus.monitor.freq.secs": PATIENCE}
    patient = {**conf, "headgate.timeout.ms": 900 * PATIENCE}
    nimbus.prepare(patient, jvm.org.apache.storm.metric.StormMetricsRegistry())
    rounds = Rounds(lambda request: host.schedule(scheduler, request, {}))
    with Bridge(rounds.answer, folder / "endpoint.json"):
        nimbus.schedule(cluster.getTopologies(), cluster)
    nimbus.cleanup()


@pytest.mark.parametrize("name", CASES)
def test_storm_places_all(jvm: Any, name: str) -> None:
    """Else the others would be no cases."""
    cases = jvm.headgate.storm.SolverCases
    cluster = cases.cluster(name)
    cases.byStorm(cluster)
    assert (cases.left(cluster), cases.valid(cluster)) == (0, True)
    assert name not in ALONE or cases.together(cluster, "bolt-1") == 1


@pytest.mark.parametrize("scheduler", ["even", "resource-aware", "dstorm"])
@pytest.mark.parametrize("name", CASES)
def test_no_constraint_is_broken_and_as_many_are_placed_as_the_page_says(
    jvm: Any, tmp_path: Path, name: str, scheduler: str
) -> None:
    cases = jvm.headgate.storm.SolverCases
    cluster = cases.cluster(name)
    everything = cases.left(cluster)
    headgate(jvm, cluster, scheduler, tmp_path)
    assert cases.valid(cluster)
    if (scheduler, name) in FULL:
        assert cases.left(cluster) == everything
        return
    assert cases.left(cluster) == 0
    assert name not in ALONE or cases.together(cluster, "bolt-1") == 1
    cases.loseWorkers(cluster)
    assert cases.left(cluster) > 0
    headgate(jvm, cluster, scheduler, tmp_path)
    assert (cases.left(cluster), cases.valid(cluster)) == (LOST.get((scheduler, name), 0), True)
