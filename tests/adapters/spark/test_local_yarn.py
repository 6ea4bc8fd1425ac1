"""The local YARN leaves nothing behind, containers included; what runs is told by process ids."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from click.testing import CliRunner

from headworks.errors import EngineError
from headworks_spark.driver.jar import SparkHome
from headworks_spark.yarn.commands import yarn as commands
from headworks_spark.yarn.conf import write_client
from headworks_spark.yarn.state import YarnState

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEEP_RUNNING = """
import time
from headworks_spark.yarn.cluster import LocalYarn
from headworks_spark.yarn.conf import node_specs
with LocalYarn(node_specs((1,)), timeout=600.0) as cluster:
    print(cluster.ui_port, cluster.conf_dir.parent, *(each.pid for each in cluster.daemons), flush=True)
    while True:  # a signal that comes just before a long sleep is only looked at after it
        time.sleep(0.1)
"""


@pytest.fixture
def jars(java: None) -> None:
    """What starts YARN needs Java, and jars that jgo resolves."""
    pytest.importorskip("jgo")


def real(test: Any) -> Any:
    """Marks of a test that starts a YARN of its own."""
    for mark in (pytest.mark.spark, pytest.mark.slow, pytest.mark.matrix, pytest.mark.timeout(1500)):
        test = mark(test)
    return test


def patience(seconds: float) -> Iterator[None]:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        yield
        time.sleep(0.2)
    raise AssertionError(f"not within {seconds} s")


def post(ui_port: int, path: str, document: dict[str, Any]) -> dict[str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", ui_port, timeout=120)
    with contextlib.closing(connection):
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        connection.request("POST", f"/ws/v1/cluster{path}?user.name=tester", json.dumps(document), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        assert answer.status in {200, 202}, (answer.status, text)
        return json.loads(text) if text else {}


def run_container(ui_port: int, command: str) -> int:
    """Have YARN run a command in a container, and tell the pid of what it runs."""
    name = post(ui_port, "/apps/new-application", {})["application-id"]
    container = {"commands": {"command": command}}
    size = {"memory": 128, "vCores": 1}
    application = {"application-id": name, "application-name": "sleeper", "am-container-spec": container}
    post(ui_port, "/apps", application | {"resource": size, "application-type": "YARN"})
    for _ in patience(300):
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.cmdline() == command.split():
                    return process.pid
    raise AssertionError


def gone(pids: list[int]) -> None:
    for _ in patience(120):
        if not any(map(psutil.pid_exists, pids)):
            return


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=lambda number: number.name)
@real
def test_daemons_and_containers_end_with_their_owner(jars: None, number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", KEEP_RUNNING], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        port, folder, *daemons = owner.stdout.readline().split()
        sleeper = run_container(int(port), f"sleep {owner.pid}077")
        pids = [sleeper, *map(int, daemons)]
        assert len({os.getsid(pid) for pid in pids}) == 3, "a container leaves the session of its node"
        owner.send_signal(number)
        owner.wait(timeout=300)
    gone(pids)
    if number == signal.SIGINT:
        assert not os.path.lexists(folder)


@real
def test_up_status_down(jars: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    runner = CliRunner()
    try:
        up = runner.invoke(commands, ["up", "--nodes", "2", "--memory", "1024", "--json"], catch_exceptions=False)
        shown = json.loads(up.stdout)
        (node,) = shown["nodes"]
        assert (node["host"], node["vcores"], node["memory_mb"]) == ("127.0.0.2", 2, 1024)
        for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR"):
            assert f"export {name}={shown['environment'][name]}" in runner.invoke(commands, ["status"]).stdout
        assert isinstance(runner.invoke(commands, ["up"]).exception, EngineError)
        state = YarnState.read()
        assert state is not None
        sleeper = run_container(state.ui_port, f"sleep {os.getpid()}077")
        (node,) = json.loads(runner.invoke(commands, ["status", "--json"]).stdout)["nodes"]
        assert (node["used_vcores"], node["containers"]) == (1, 1)
    finally:
        ended = runner.invoke(commands, ["down", "--json"])
    assert json.loads(ended.stdout) == {"ended": ["node-127.0.0.2", "manager"]}
    assert not any(map(psutil.pid_exists, [sleeper, *(each.pid for each in state.daemons)]))
    assert not state.folder().exists()
    assert runner.invoke(commands, ["status"]).exit_code == 1


def test_settings_of_clients_give_no_flag_to_jvms_that_run_a_user_s_code(tmp_path: Path) -> None:
    home = SparkHome(path=tmp_path, version="4.0.1", scala="2.13")
    write_client(tmp_path / "conf", tmp_path, home, range(1, 6))
    told = dict(line.split(" ", 1) for line in (tmp_path / "conf" / "spark-defaults.conf").read_text().splitlines())
    assert [name for name in told if "JavaOptions" in name] == ["spark.yarn.am.extraJavaOptions"]


def test_without_a_yarn_down_ends_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert json.loads(CliRunner().invoke(commands, ["down", "--json"]).stdout) == {"ended": []}
    assert CliRunner().invoke(commands, ["status"]).exit_code == 1


@pytest.mark.parametrize("vcores", ["", "4,", "0", "a,b", "-1"])
def test_a_list_of_vcores_that_is_none_is_refused(vcores: str) -> None:
    result = CliRunner().invoke(commands, ["up", "--nodes", vcores])
    assert result.exit_code == 2
    assert "is not a list of vcores" in result.stderr
