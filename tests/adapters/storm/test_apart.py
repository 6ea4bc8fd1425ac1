"""A Storm cluster whose nodes are apart: workers on networks of their own, and a node that is cut off for a while."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from headworks_local.isolated.ability import network_problem
from headworks_local.isolated.limits import NodeLimits
from headworks_local.isolated.netlink import NAMESPACES, namespaces
from headworks_storm.local.cluster import supervisor_specs
from patience import PATIENCE
from storm_breakable import BreakableStorm
from storm_cluster import RELEASE, wait_for
from storm_words import submit_words

pytestmark = [pytest.mark.storm, pytest.mark.slow, pytest.mark.network, pytest.mark.matrix]

FAST = {"nimbus.supervisor.timeout.secs": 15, "nimbus.task.timeout.secs": 15}
"""A partition is missed within seconds, not a minute."""


@pytest.fixture
def storm(java):
    if problem := network_problem():
        pytest.skip(f"needs network namespaces: {problem}")
    nodes = (NodeLimits(cores=1.0, rate=50e6), NodeLimits(cores=0.8, rate=50e6))
    specs = supervisor_specs(((200.0, 2048.0, 2), (200.0, 2048.0, 2)))
    with BreakableStorm(specs, apart=nodes, conf=FAST, version=RELEASE, timeout=PATIENCE) as cluster:
        yield cluster


def inode(pid):
    return Path(f"/proc/{pid}/ns/net").stat().st_ino


def alive(storm):
    return {each.host for each in storm.gateway.cluster().supervisors}


def placed(storm):
    """Hosts of all executors, once every one of them is reported by its worker."""
    executors = storm.gateway.topology("words").executors
    return {each.host for each in executors} if executors and all(each.uptime for each in executors) else None


def test_a_node_that_is_cut_off_is_missed_runs_on_and_comes_back(storm):
    first, second = storm.nodes.hosts
    submit_words(storm, "words", workers=2)
    assert wait_for("executors on both nodes", lambda: placed(storm) == {first, second})
    workers = {each.host: each.pid for each in storm.workers()}
    for index, host in enumerate((first, second), start=1):
        assert inode(workers[host]) == (NAMESPACES / storm.nodes.name(index)).stat().st_ino
        assert storm.nodes.name(index) in Path(f"/proc/{workers[host]}/cgroup").read_text()
    storm.nodes.set_up(second, up=False)
    assert psutil.pid_exists(workers[second])  # a partition, not a death: Storm's worker ends itself, seconds later
    wait_for("Nimbus to miss the node", lambda: alive(storm) == {first})
    wait_for("Storm to place its executors anew", lambda: placed(storm) == {first})
    storm.nodes.set_up(second, up=True)
    storm.restart_halted()  # as a service manager would, if its supervisor gave up
    wait_for("the node to come back", lambda: alive(storm) == {first, second})
    names = {storm.nodes.name(1), storm.nodes.name(2)}
    storm.stop()
    assert not names & {*namespaces()}
