"""The cases of Storm's tests of its constraint solver, through the bridge: Storm itself judges what is placed."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from headworks.plugins.host import PluginHost
from headworks_storm.nimbus.bridge import Bridge
from headworks_storm.nimbus.rounds import Rounds
from storm_jvm import running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.network, pytest.mark.slow]

CASES = ("solver", "spread", "backtrack", "integration", "large-1", "large-20")
LARGEST = "large-20"
ALONE = ("integration", "large-1", "large-20")
"""Cases in which a component is incompatible with itself: `bolt-1`."""
LOST = {("resource-aware", "spread"): 1}
"""Executors that stay without a slot once every other worker has ended; none elsewhere."""
SLOWER = ("dstorm-plus", "hetero")
"""Schedulers that are asked for all cases but the largest, for which they take minutes."""
PATIENCE = 200
"""Seconds between two rounds, of which nine tenths are for planning."""


def case(*values: str) -> Any:
    """A case of the tests; the largest one is for the long runs."""
    return pytest.param(*values, marks=pytest.mark.matrix if LARGEST in values else ())


@pytest.fixture(scope="module")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with running("SolverCases", tmp_path_factory.mktemp("classes")) as found:
        yield found


def headworks(jvm: Any, cluster: Any, scheduler: str, folder: Path) -> None:
    """A round of Nimbus that Headworks answers."""
    host = PluginHost.load()
    nimbus = jvm.headworks.storm.HeadworksScheduler()
    conf = {"headworks.endpoint": str(folder / "endpoint.json"), "nimbus.monitor.freq.secs": PATIENCE}
    patient = {**conf, "headworks.timeout.ms": 900 * PATIENCE}
    nimbus.prepare(patient, jvm.org.apache.storm.metric.StormMetricsRegistry())
    rounds = Rounds(lambda request: host.schedule(scheduler, request, {}))
    with Bridge(rounds.answer, folder / "endpoint.json"):
        nimbus.schedule(cluster.getTopologies(), cluster)
    nimbus.cleanup()
    said = list(cluster.getStatusMap().values())
    assert not any("does not answer" in each for each in said), said  # else Storm's own scheduler placed them


@pytest.mark.parametrize("name", [case(each) for each in CASES])
def test_storm_places_all(jvm: Any, name: str) -> None:
    """Else the others would be no cases."""
    cases = jvm.headworks.storm.SolverCases
    cluster = cases.cluster(name)
    cases.byStorm(cluster)
    assert (cases.left(cluster), cases.valid(cluster)) == (0, True)
    assert name not in ALONE or cases.together(cluster, "bolt-1") == 1


@pytest.mark.parametrize(
    ("name", "scheduler"),
    [
        case(*each)
        for each in [*product(CASES, ["even", "resource-aware", "dstorm", "otd"]), *product(CASES[:-1], SLOWER)]
    ],
)
def test_no_constraint_is_broken_and_as_many_are_placed_as_the_page_says(
    jvm: Any, tmp_path: Path, name: str, scheduler: str
) -> None:
    cases = jvm.headworks.storm.SolverCases
    cluster = cases.cluster(name)
    headworks(jvm, cluster, scheduler, tmp_path)
    assert cases.valid(cluster)
    assert cases.left(cluster) == 0
    assert name not in ALONE or cases.together(cluster, "bolt-1") == 1
    cases.loseWorkers(cluster)
    assert cases.left(cluster) > 0
    headworks(jvm, cluster, scheduler, tmp_path)
    assert (cases.left(cluster), cases.valid(cluster)) == (LOST.get((scheduler, name), 0), True)


@pytest.mark.parametrize("name", CASES[:-1])
def test_sps_gives_a_topology_too_few_nodes_for_its_constraints(jvm: Any, tmp_path: Path, name: str) -> None:
    """It counts nodes by resources alone; what does not fit whole is not started."""
    cases = jvm.headworks.storm.SolverCases
    cluster = cases.cluster(name)
    everything = cases.left(cluster)
    headworks(jvm, cluster, "sps", tmp_path)
    assert (cases.left(cluster), cases.valid(cluster)) == (everything, True)
