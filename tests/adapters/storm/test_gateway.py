"""Nimbus through its own client: what it says, what it is asked to do, and what is told when it is not there."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from py4j import java_gateway
from pyspark.errors.exceptions.captured import install_exception_handler

from headworks.errors import EngineError
from headworks_storm.client.gateway import NimbusGateway
from headworks_storm.client.zookeeper import ZooKeeper
from storm_words import eventually

if TYPE_CHECKING:
    from headworks_storm.local.cluster import LocalStorm

pytestmark = [pytest.mark.storm, pytest.mark.slow, pytest.mark.network, pytest.mark.xdist_group("storm")]


def test_supervisors_offer_what_was_asked_for(cluster: LocalStorm) -> None:
    said = {each.host: (each.cpu, each.memory_mb, each.slots) for each in cluster.gateway.cluster().supervisors}
    assert said == {each.host: (each.cpu, each.memory_mb, each.slots) for each in cluster.supervisors}


def test_nimbus_leads(cluster: LocalStorm) -> None:
    leader = cluster.gateway.cluster().leader
    assert leader is not None
    assert (leader.host, leader.port) == ("127.0.0.1", cluster.client_conf["nimbus.thrift.port"])


def test_a_topology_is_told_with_places_that_processes_have(cluster: LocalStorm, words: str) -> None:
    info = cluster.gateway.topology(words)
    assert (info.name, info.status, info.errors) == ("words", "ACTIVE", ())
    assert Counter(each.component for each in info.executors) == {"__acker": 3, "count": 4, "words": 2}
    assert {(each.host, each.port) for each in info.executors} == {(each.host, each.port) for each in cluster.workers()}
    assert {each.topology for each in cluster.workers()} == {info.id}


def test_the_summary_counts_what_runs(cluster: LocalStorm, words: str) -> None:
    summary = cluster.gateway.cluster()
    (topology,) = summary.topologies
    assert (topology.name, topology.status, topology.workers, topology.executors) == (words, "ACTIVE", 3, 9)
    # A supervisor says how many slots it uses when it next beats, up to five seconds after the workers report.
    eventually(lambda: [each.used_slots for each in cluster.gateway.cluster().supervisors] == [1, 1, 1])


def test_the_stored_assignment_names_supervisors(cluster: LocalStorm, words: str) -> None:
    host = {each.id: each.host for each in cluster.gateway.cluster().supervisors}
    stored = cluster.gateway.assignment(words)
    told = {(each.start, each.end): (each.host, each.port) for each in cluster.gateway.topology(words).executors}
    assert {tasks: (host[supervisor], port) for tasks, (supervisor, port) in stored.slots.items()} == told
    assert set(stored.started) == set(told)


def test_the_settings_of_a_topology(cluster: LocalStorm, words: str) -> None:
    conf = cluster.gateway.topology_conf(words)
    assert conf["topology.workers"] == 3
    assert conf["nimbus.thrift.port"] == cluster.client_conf["nimbus.thrift.port"]


def test_pause_and_go_on(cluster: LocalStorm, words: str) -> None:
    cluster.gateway.deactivate(words)
    assert cluster.gateway.topology(words).status == "INACTIVE"
    cluster.gateway.activate(words)
    assert cluster.gateway.topology(words).status == "ACTIVE"


@pytest.mark.parametrize(
    "ask", ["topology", "assignment", "topology_conf", "stored_conf", "activate", "deactivate", "kill", "rebalance"]
)
def test_a_topology_that_is_not_there_is_named(cluster: LocalStorm, ask: str) -> None:
    with pytest.raises(EngineError, match=r"^no topology 'nothing' runs on this cluster$"):
        getattr(cluster.gateway, ask)("nothing")


def test_what_nimbus_refuses_is_told_in_its_words(cluster: LocalStorm, words: str) -> None:
    with pytest.raises(EngineError, match=r"'words': Invalid component missing .*count,words"):
        cluster.gateway.rebalance(words, executors={"missing": 2})


def test_errors_are_its_own_in_a_process_in_which_pyspark_had_a_session(
    cluster: LocalStorm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_gateway, "get_return_value", java_gateway.get_return_value)  # as it is afterwards
    install_exception_handler()
    with pytest.raises(EngineError, match=r"^no topology 'nothing' runs on this cluster$"):
        cluster.gateway.activate("nothing")
    servers = f"127.0.0.1:{cluster.client_conf['storm.zookeeper.port']}"
    with ZooKeeper(cluster.gateway, servers) as zookeeper, pytest.raises(LookupError):
        zookeeper.read("/headworks-nothing")


def test_a_zookeeper_that_hangs_is_told_while_a_session_would_end(cluster: LocalStorm) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:  # the kernel accepts, and nobody answers
        servers = f"127.0.0.1:{mute.getsockname()[1]}"
        begin = time.monotonic()
        with ZooKeeper(cluster.gateway, servers, session=1) as zookeeper, pytest.raises(EngineError) as told:
            zookeeper.read("/headworks")
    assert str(told.value).startswith(f"the ledger of seats cannot be reached at ZooKeeper {servers}: ")
    assert time.monotonic() - begin < 12  # 2.5 s on an idle machine; twenty tries took more than twenty


def stay(cluster: LocalStorm) -> bool:
    """Whether workers are the same for three seconds: a topology that was rebalanced may start them twice."""
    before = cluster.workers()
    time.sleep(3)
    return cluster.workers() == before and all(each.pid for each in before)


def test_a_nimbus_that_is_gone_is_told_and_one_that_is_back_is_found(cluster: LocalStorm, words: str) -> None:
    eventually(lambda: stay(cluster))
    workers = cluster.workers()
    cluster.kill_nimbus()
    with pytest.raises(EngineError, match=r"no Nimbus that leads answers at 127\.0\.0\.1:\d+"):
        cluster.gateway.cluster()
    cluster.start_nimbus()
    assert cluster.gateway.topology(words).status == "ACTIVE"
    assert cluster.workers() == workers


def test_the_jvm_that_died_is_told(cluster: LocalStorm) -> None:
    with NimbusGateway(cluster.home / "lib", cluster.client_conf) as gateway:
        assert gateway.cluster().leader
        os.kill(gateway._process.pid, signal.SIGKILL)
        gateway._process.wait()
        with pytest.raises(EngineError, match="the JVM that reaches Nimbus for this process has died"):
            gateway.cluster()


def test_a_gateway_that_is_not_started_or_cannot_start_is_told(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="is not started"):
        NimbusGateway(tmp_path, {}).cluster()
    with pytest.raises(EngineError, match=r"/bin/false does not run Storm's client"):
        NimbusGateway(tmp_path, {}, java=Path("/bin/false")).start()
