"""One real Storm cluster of three supervisors of different size, for the tests of the group `storm`."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

import pytest

from headgate.engines.ports import Ports
from headgate_storm.local.cluster import LocalStorm
from headgate_storm.release.jar import bridge_jar
from storm_cluster import PATIENCE, RELEASE
from storm_tally import TWO

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def java(java: None) -> None:
    """What starts Java here talks to it by py4j, with jars that jgo resolves."""
    pytest.importorskip("py4j")
    pytest.importorskip("jgo")


@pytest.fixture(scope="session")
def cluster(java: None) -> Iterator[LocalStorm]:
    """ZooKeeper, Nimbus and supervisors on 127.0.0.11-13 with 400, 200 and 100 points of CPU.

    Each module leaves it without a topology, and with its first Nimbus in the lead.
    """
    with LocalStorm(version=RELEASE, timeout=PATIENCE) as local:
        yield local


@pytest.fixture(scope="module")
def ports() -> Iterator[Ports]:
    """Ports that no other process is given between two servers on them."""
    with Ports() as held:
        yield held


@pytest.fixture(scope="session")
def seat_storm(java: None) -> Iterator[LocalStorm]:
    """Two supervisors, and a Nimbus that lets topologies have seats, for the tests of the group `storm-seats`."""
    validator = {"nimbus.topology.validator": "headgate.storm.seats.Validator"}
    with LocalStorm(TWO, conf=validator, extlib=(bridge_jar(),), version=RELEASE, timeout=PATIENCE) as local:
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
