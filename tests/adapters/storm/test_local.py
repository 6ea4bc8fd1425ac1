"""The local cluster is real, comes back after what befalls a cluster, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from click.testing import CliRunner

from headworks.errors import EngineError
from headworks_local.ports import Ports
from headworks_local.process import command_line
from headworks_storm.cli.group import storm as commands
from headworks_storm.local.cluster import LocalStorm, SupervisorSpec, supervisor_specs
from headworks_storm.release.artefacts import versions
from patience import PATIENCE
from storm_cluster import RELEASE
from storm_words import alive, eventually, submit_words

if TYPE_CHECKING:
    from storm_breakable import BreakableStorm

ONE = supervisor_specs(((400.0, 4096.0, 2),))
KEEP_RUNNING = """
import json, time
from headworks_storm.local.cluster import LocalStorm, supervisor_specs
cluster = LocalStorm(supervisor_specs(((400.0, 4096.0, 2),)), version={version!r})
{body}
"""
SILENT = """
def wait(cluster):
    print(json.dumps([each.pid for each in cluster.daemons]), flush=True)
    while True:  # a signal that comes just before a long sleep is only looked at after it
        time.sleep(0.1)
LocalStorm._wait_for_supervisors = wait
with cluster:
    pass
"""
STARTED = """
with cluster:
    print(json.dumps([each.pid for each in cluster.daemons]), flush=True)
    while True:  # a signal that comes just before a long sleep is only looked at after it
        time.sleep(0.1)
"""


def runs(pid: int) -> bool:
    """Whether a process is there, and not only waits for its parent to take note of its end."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def mapped(pid: int) -> list[str]:
    return [each.path for each in psutil.Process(pid).memory_maps()]


def pids(cluster: LocalStorm) -> dict[str, int]:
    """The process of each host's only worker."""
    return {each.host: each.pid for each in cluster.workers() if each.pid}


def leader(cluster: LocalStorm) -> str:
    """The host of the Nimbus that leads; none while another one takes over."""
    with contextlib.suppress(EngineError):
        return next((each.host for each in cluster.gateway.cluster().nimbuses if each.leader), "")
    return ""


def status(cluster: LocalStorm, topology: str) -> tuple[str, str]:
    """The host of the Nimbus that leads and what it says of a topology; none while another one takes over."""
    with contextlib.suppress(EngineError):
        return leader(cluster), cluster.gateway.topology(topology).status
    return "", ""


def known(cluster: LocalStorm) -> set[str]:
    return {each.host for each in cluster.gateway.cluster().supervisors}


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.xdist_group("storm")
class TestOneCluster:
    """In this order: each leaves the cluster whole for the next."""

    def test_workers_are_seen_with_their_log_writers(self, cluster: BreakableStorm, words: str) -> None:
        workers = cluster.workers()
        assert [each.host for each in workers] == ["127.0.0.11", "127.0.0.12", "127.0.0.13"]
        assert all(runs(each.pid) and runs(each.writer) for each in workers)
        assert len({each.pid for each in workers} | {each.writer for each in workers}) == 6

    def test_workers_have_no_flag_of_the_jvms_of_daemons(self, cluster: BreakableStorm, words: str) -> None:
        for worker in cluster.workers():
            command = command_line(worker.pid)
            assert "org.apache.storm.daemon.worker.Worker" in command
            assert [word for word in command if word.startswith("-X") and not word.startswith("-Xmx")] == []

    def test_the_memory_of_the_whole_cluster(self, cluster: BreakableStorm, words: str) -> None:
        workers = [pid for each in cluster.workers() for pid in (each.pid, each.writer)]
        pids = [*(each.pid for each in cluster.daemons), *workers]
        assert len(pids) == 11
        pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids]  # resident, as Linux counts
        assert cluster.memory_mb() == pytest.approx(sum(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20, rel=0.1)

    def test_libraries_that_daemons_unpack_go_with_the_cluster(self, cluster: BreakableStorm) -> None:
        """Those in the machine's own folder of temporary files would stay after every cluster."""
        found = {Path(file) for daemon in cluster.daemons for file in mapped(daemon.pid) if "librocksdb" in file}
        assert found
        assert {file for file in found if not file.is_relative_to(cluster.home)} == set()

    def test_a_killed_worker_comes_back_in_its_place(self, cluster: BreakableStorm, words: str) -> None:
        before = pids(cluster)
        places = cluster.gateway.assignment(words).slots
        killed = cluster.kill_worker(cluster.workers()[0].port)
        assert not runs(killed.pid)
        assert not runs(killed.writer)
        eventually(lambda: set(pids(cluster)) == set(before))
        after = pids(cluster)
        assert {host for host in before if before[host] != after[host]} == {killed.host}
        assert cluster.gateway.assignment(words).slots == places

    def test_a_killed_supervisor_leaves_its_workers_and_adopts_them_again(
        self, cluster: BreakableStorm, words: str
    ) -> None:
        alive(cluster, words)
        before = pids(cluster)
        cluster.kill_supervisor("127.0.0.12")
        assert pids(cluster) == before
        cluster.start_supervisor("127.0.0.12")
        assert known(cluster) == set(before)
        alive(cluster, words)
        assert pids(cluster) == before

    def test_a_machine_without_power_is_missed_and_comes_back(self, cluster: BreakableStorm, words: str) -> None:
        """Its worker, which an earlier supervisor started, is gone as well."""
        cluster.kill_supervisor("127.0.0.12", workers=True)
        assert set(pids(cluster)) == {"127.0.0.11", "127.0.0.13"}
        eventually(lambda: known(cluster) == {"127.0.0.11", "127.0.0.13"})
        cluster.start_supervisor("127.0.0.12")
        assert known(cluster) == {"127.0.0.11", "127.0.0.12", "127.0.0.13"}
        eventually(lambda: set(pids(cluster)) == known(cluster))  # Storm spreads the topology anew
        assert len(alive(cluster, words).executors) == 9

    def test_a_standby_nimbus_leads_when_the_first_one_dies(self, cluster: BreakableStorm, words: str) -> None:
        before = pids(cluster)
        cluster.start_standby_nimbus()
        assert leader(cluster) == "127.0.0.1"
        cluster.kill_nimbus()
        cluster.start_nimbus()
        eventually(lambda: status(cluster, words) == ("127.0.0.2", "ACTIVE"))
        assert pids(cluster) == before
        cluster.kill_standby_nimbus()
        # A Nimbus that just began to lead says of each topology that it is not alive, until it has looked at its files.
        eventually(lambda: status(cluster, words) == ("127.0.0.1", "ACTIVE"))


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
def test_prepare_has_all_jars_there(java: None) -> None:
    done = CliRunner().invoke(commands, ["prepare", "--version", RELEASE, "--json"])
    found = json.loads(done.stdout)
    assert (found["storm"], found["jars"] > 50, len(found["headworks"])) == (RELEASE, True, 3)
    assert all(Path(each).is_file() for each in found["headworks"])


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.matrix
@pytest.mark.parametrize("version", versions()[:-1])
def test_an_older_release_runs_and_nothing_is_left_of_it(java: None, version: str) -> None:
    cluster = LocalStorm(ONE, version=version, conf={"topology.workers": 2})

    def body() -> None:
        with cluster:
            submit_words(cluster, "words", workers=1)
            alive(cluster, "words")
            processes.extend(pid for each in cluster.daemons for pid in each.members())
            raise ZeroDivisionError

    processes: list[int] = []
    with pytest.raises(ZeroDivisionError):
        body()
    assert len(processes) == 5  # ZooKeeper, Nimbus, the supervisor, a log writer and a worker
    assert not any(map(runs, processes))
    assert not cluster.home.exists()


@pytest.mark.storm
@pytest.mark.slow
@pytest.mark.network
@pytest.mark.parametrize(
    ("body", "number"),
    [
        # test_signals.py has the one as it starts
        pytest.param(SILENT, signal.SIGTERM, id="starting-TERM", marks=pytest.mark.matrix),
        pytest.param(STARTED, signal.SIGINT, id="started-INT"),
        pytest.param(SILENT, signal.SIGINT, id="starting-INT", marks=pytest.mark.matrix),
        pytest.param(STARTED, signal.SIGTERM, id="started-TERM", marks=pytest.mark.matrix),
    ],
)
def test_nothing_is_left_after_a_signal(java: None, body: str, number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KEEP_RUNNING.format(body=body, version=RELEASE)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        started = json.loads(process.stdout.readline())
        assert all(map(runs, started))
        process.send_signal(number)
        process.wait(timeout=PATIENCE)
    assert len(started) == 3
    eventually(lambda: not any(map(runs, started)))  # what a command has no time for is ended by the reaper


@pytest.mark.storm
@pytest.mark.network
def test_a_daemon_that_dies_at_start_is_told_with_its_log(java: None, tmp_path: Path) -> None:
    broken = LocalStorm(ONE, version=RELEASE, conf={"storm.scheduler": "no.such.Scheduler"}, folder=tmp_path)
    with pytest.raises(EngineError, match=r"nimbus of the local cluster died(?s:.*)no\.such\.Scheduler"):
        broken.start()
    assert broken.daemons == ()
    assert "storm.scheduler" in (tmp_path / "nimbus" / "storm.yaml").read_text()


def test_sizes_become_supervisors_on_addresses_of_their_own() -> None:
    assert supervisor_specs(((400, 4096, 4), (100, 1024, 2))) == (
        SupervisorSpec(host="127.0.0.11", cpu=400, memory_mb=4096, slots=4),
        SupervisorSpec(host="127.0.0.12", cpu=100, memory_mb=1024, slots=2),
    )


def test_a_held_port_can_be_listened_on_and_not_be_had_by_chance() -> None:
    with Ports() as ports:
        (port, *others) = ports.take(50)
        assert len({port, *others}) == 50
        with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
            stranger.bind(("127.0.0.1", port))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        with socket.socket() as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(("127.0.0.1", port))
            server.listen()
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
