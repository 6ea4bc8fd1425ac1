"""The way to Headworks and back: what Nimbus makes of topologies beside it, and what goes on when it has left."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from headworks.errors import EngineError
from storm_cluster import wait_for, word_count

pytestmark = [
    *(pytest.mark.storm, pytest.mark.slow, pytest.mark.network, pytest.mark.smoke),
    pytest.mark.xdist_group("storm-asking"),
]

RAS = "org.apache.storm.scheduler.resource.ResourceAwareScheduler"
WORKERS = 3
"""Workers that the topology asks for."""


@pytest.fixture(scope="module")
def cluster(asking):
    """Its topology is hooked, and no collector is named."""
    asking.ask_headworks()
    return asking


def test_a_topology_that_says_nothing_of_ackers_has_one_for_each_worker_that_it_asks_for(cluster):
    assert cluster.storm.gateway.topology_conf(cluster.name)["topology.workers"] == WORKERS
    ackers = [each for each in cluster.storm.gateway.topology(cluster.name).executors if each.component == "__acker"]
    assert len(ackers) == WORKERS


def test_nimbus_listens_for_its_clients_alone_while_headworks_answers_it(cluster):
    nimbus = next(each.pid for each in cluster.storm.daemons if each.name == "nimbus")
    with cluster.serve() as service:
        wait_for("two rounds", lambda: service.target.rounds.newest and service.target.rounds.newest.round > 1)
        found = psutil.Process(nimbus).net_connections("tcp")
    listening = {each.laddr.port for each in found if each.status == psutil.CONN_LISTEN}
    assert listening == {cluster.storm.client_conf["nimbus.thrift.port"]}


def test_the_limit_of_slots_for_a_topology_counts(cluster):
    with pytest.raises(EngineError, match=f"requests more than {WORKERS} workers"):
        word_count(cluster.storm, name="wide", conf={"topology.workers": WORKERS + 1})


def threads(pid):
    """Names of the threads of a process, of which Linux keeps 15 characters."""
    return {each.read_text().strip() for each in Path(f"/proc/{pid}/task").glob("*/comm")}


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
def test_hooks_without_a_collector_have_no_thread_that_would_report(cluster):
    ports = {port for _, port in cluster.settled().slots.values()}
    workers = [each.pid for each in cluster.storm.workers() if each.port in ports]
    assert len(workers) == WORKERS
    for pid in workers:
        assert any("count" in name for name in threads(pid))  # Java's names are there
        assert not [name for name in threads(pid) if name.startswith("headworks")]


def test_workers_run_on_under_the_resource_aware_scheduler_and_hooks_without_a_collector_do_no_harm(cluster):
    """The jar, the lines of `headworks.` and the hooks stay, and nobody answers."""
    before = cluster.settled()
    cluster.storm.kill_nimbus()
    cluster.storm.conf_of("nimbus")["storm.scheduler"] = RAS
    cluster.storm.start_nimbus()
    assert cluster.storm.gateway.nimbus_conf()["storm.scheduler"] == RAS
    after = cluster.settled()
    assert (after.slots, after.workers) == (before.slots, before.workers)
