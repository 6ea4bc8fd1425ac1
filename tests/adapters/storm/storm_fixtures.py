"""One real Storm cluster of three supervisors of different size, for the tests of the group `storm`."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

import pytest

from headworks_local.ports import Ports
from headworks_storm.release.jar import own_jars
from headworks_storm.service import HOOKS
from storm_breakable import BreakableStorm
from storm_cluster import PATIENCE, RELEASE, Cluster, running_cluster
from storm_tally import TWO
from storm_words import alive, eventually, submit_words

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def java(java: None) -> None:
    """What starts Java here talks to it by py4j, with jars that jgo resolves."""
    pytest.importorskip("py4j")
    pytest.importorskip("jgo")


@pytest.fixture(scope="session")
def cluster(java: None) -> Iterator[BreakableStorm]:
    """ZooKeeper, Nimbus and supervisors on 127.0.0.11-13 with 400, 200 and 100 points of CPU.

    Each module leaves it with its first Nimbus in the lead, and with no topology but the one of `words`.
    """
    with BreakableStorm(version=RELEASE, timeout=PATIENCE) as local:
        yield local


@pytest.fixture
def words(cluster: BreakableStorm) -> str:
    """A topology of nine executors on three workers, which each test leaves as it is or kills."""
    if not any(each.name == "words" for each in cluster.gateway.cluster().topologies):
        submit_words(cluster, "words")
    alive(cluster, "words")
    return "words"


@pytest.fixture
def empty(cluster: BreakableStorm) -> BreakableStorm:
    """The cluster without a topology."""
    for each in cluster.gateway.cluster().topologies:
        cluster.gateway.kill(each.name, wait=0)
    eventually(lambda: not cluster.gateway.cluster().topologies and not cluster.workers())
    return cluster


@pytest.fixture(scope="session")
def asking(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster whose Nimbus asks every second, for the tests of the group `storm-asking`.

    Its topology is hooked and no collector is named, and no topology may ask for more than three workers.
    """
    conf = {"nimbus.monitor.freq.secs": 1, "nimbus.slots.perTopology": 3}
    with running_cluster(tmp_path_factory.mktemp("asking"), conf=conf, topology_conf=HOOKS) as made:
        yield made


@pytest.fixture(scope="module")
def ports() -> Iterator[Ports]:
    """Ports that no other process is given between two servers on them."""
    with Ports() as held:
        yield held


@pytest.fixture(scope="session")
def seat_storm(java: None) -> Iterator[BreakableStorm]:
    """Two supervisors, and a Nimbus that lets topologies have seats, for the tests of the group `storm-seats`."""
    validator = {"nimbus.topology.validator": "headworks.storm.seats.Validator"}
    own = own_jars()
    with BreakableStorm(
        TWO, conf=validator, extlib=(own.bridge, own.seats), version=RELEASE, timeout=PATIENCE
    ) as local:
        yield local


@pytest.fixture
def many_files() -> Iterator[None]:
    """The test's own process holds the other ends."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        pytest.skip("needs 4096 file descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
