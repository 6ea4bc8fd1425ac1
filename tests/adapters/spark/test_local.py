"""The local cluster is real, is the size asked for, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner

from adapters.spark.spark_jobs import patience
from headworks.errors import EngineError
from headworks_local.java import find_java
from headworks_local.process import Daemon, end
from headworks_spark.commands import spark as commands
from headworks_spark.local.cluster import LocalSpark, WorkerSpec, worker_specs
from headworks_spark.local.state import SparkState
from patience import PATIENCE

ONE = worker_specs((1,))
KEEP_RUNNING = """
import json, time
from headworks_spark.local.cluster import LocalSpark, worker_specs
with LocalSpark(worker_specs((1,))) as cluster:
    print(json.dumps([each.pid for each in cluster.daemons]), flush=True)
    while True:  # a signal that comes just before a long sleep is only looked at after it
        time.sleep(0.1)
"""


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.spark
def test_workers_have_the_size_asked_for(cluster: LocalSpark) -> None:
    workers = cluster.state()["workers"]
    assert {each["host"]: each["cores"] for each in workers if each["state"] == "ALIVE"} == {
        "127.0.0.2": 4,
        "127.0.0.3": 2,
        "127.0.0.4": 1,
    }
    assert {each["memory"] for each in workers} == {1024}


@pytest.mark.spark
def test_a_worker_that_is_not_there_is_named(cluster: LocalSpark) -> None:
    with pytest.raises(EngineError, match=r"no Worker runs on 127\.0\.0\.9.*127\.0\.0\.2, 127\.0\.0\.3"):
        cluster.drain_worker("127.0.0.9")
    with pytest.raises(EngineError, match=r"127\.0\.0\.9 is none of"):
        cluster.start_worker("127.0.0.9")
    with pytest.raises(EngineError, match=r"127\.0\.0\.2 is running already"):
        cluster.start_worker("127.0.0.2")


@pytest.mark.spark
def test_nothing_is_left_when_the_body_raises(java: None) -> None:
    cluster = LocalSpark(ONE)
    daemons: list[Daemon] = []

    def body() -> None:
        with cluster:
            daemons.extend(cluster.daemons)
            assert all(daemon.alive for daemon in daemons)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        body()
    assert [daemon.members() for daemon in daemons] == [(), ()]
    assert not daemons[0].log.parent.exists()


@pytest.mark.spark
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.matrix)])
def test_nothing_is_left_after_a_signal(java: None, number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KEEP_RUNNING], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        pids = json.loads(process.stdout.readline())
        assert all(map(runs, pids))
        process.send_signal(number)
        process.wait(timeout=PATIENCE)
    assert len(pids) == 2
    for _ in patience():  # what takes longer than a command has time for is ended by the reaper
        if not any(map(runs, pids)):
            break


@pytest.mark.spark
def test_an_address_that_is_not_this_machine_s_is_told_before_anything_starts(java: None) -> None:
    elsewhere = LocalSpark((WorkerSpec(host="192.0.2.1", cores=1),))
    with pytest.raises(EngineError, match=r"192\.0\.2\.1 is not an address of this machine"):
        elsewhere.start()
    assert elsewhere.daemons == ()


@pytest.mark.spark
def test_a_worker_that_dies_at_start_is_told_with_its_log(java: None, tmp_path: Path) -> None:
    broken = LocalSpark((WorkerSpec(host="127.0.0.2", cores=1, memory_mb=0),), folder=tmp_path)
    with pytest.raises(EngineError, match=r"worker-127\.0\.0\.2 .*died(?s:.*)[Mm]emory"):
        broken.start()
    assert broken.daemons == ()


def test_a_daemon_ends_with_its_children(tmp_path: Path) -> None:
    """Also those in a process group of their own, as PySpark's worker processes are."""
    script = "set -m; trap '' TERM; sleep 300 & sleep 300 & wait; wait"
    daemon = Daemon.start("shell", ["/bin/bash", "-c", script], log=tmp_path / "log", env=os.environ)
    while len(daemon.members()) < 3:
        pass
    end([daemon], grace=0.2)
    assert daemon.members() == ()


def test_without_java_the_next_step_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError, match=r"JAVA_HOME=.* has none.*Install a Java 17"):
        find_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="PATH has none"):
        find_java()


@pytest.mark.parametrize(("said", "version"), [('openjdk version "11.0.2" 2019', 11), ('java version "1.8.0_1"', 8)])
def test_an_old_java_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, version: int) -> None:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError, match=f"is Java {version}, and 17 is needed"):
        find_java(17)
    assert find_java(8).version == version


@pytest.mark.spark
@pytest.mark.slow
def test_up_status_down_and_workers_that_come_and_go_in_between(java: None, cache: Path) -> None:
    runner = CliRunner()
    drain = ["drain", "127.0.0.2", "--timeout", str(PATIENCE), "--json"]
    assert isinstance(runner.invoke(commands, drain).exception, EngineError)
    try:
        shown = json.loads(runner.invoke(commands, ["up", "--workers", "1", "--json"], catch_exceptions=False).stdout)
        assert [(each["host"], each["cores"]) for each in shown["workers"]] == [("127.0.0.2", 1)]
        assert json.loads(runner.invoke(commands, ["status", "--json"]).stdout) == shown
        assert shown["master_url"] in runner.invoke(commands, ["status"]).stdout
        again = runner.invoke(commands, ["up"])
        assert isinstance(again.exception, EngineError)
        more = json.loads(runner.invoke(commands, ["add", "--cores", "2", "--json"], catch_exceptions=False).stdout)
        assert [(each["host"], each["cores"]) for each in more["workers"]] == [("127.0.0.2", 1), ("127.0.0.3", 2)]
        daemons = SparkState.read().daemons
        assert [each.name for each in daemons] == ["worker-127.0.0.2", "worker-127.0.0.3", "master"]
        done = runner.invoke(commands, drain, catch_exceptions=False)
        assert "went by themselves" in done.stderr
        states = {each["host"]: each["state"] for each in json.loads(done.stdout)["workers"]}
        assert states["127.0.0.3"] == "ALIVE"
        assert states.get("127.0.0.2") != "ALIVE"
        assert [each.name for each in SparkState.read().daemons] == ["worker-127.0.0.3", "master"]
        assert isinstance(runner.invoke(commands, drain).exception, EngineError)
    finally:
        ended = runner.invoke(commands, ["down", "--json"])
    assert json.loads(ended.stdout) == {"ended": ["worker-127.0.0.3", "master"]}
    assert [daemon.members() for daemon in daemons] == [(), (), ()]
    assert runner.invoke(commands, ["status"]).exit_code == 1
    assert json.loads(runner.invoke(commands, ["down", "--json"]).stdout) == {"ended": []}


WITH_SECRET = """
import sys
import headworks_spark
spark = headworks_spark.session(sys.argv[1], hosts=["127.0.0.2"])
print("ran:", spark.sparkContext.parallelize(range(4), 2).sum())
print("told:", spark.sparkContext._gateway.jvm.System.getProperty("spark.authenticate.secret"))
spark.stop()
"""
PLAIN = """
import sys
from pyspark import SparkContext
SparkContext(sys.argv[1], "stranger").parallelize([1], 1).count()
"""


@pytest.mark.spark
@pytest.mark.slow
def test_whoever_does_not_know_the_secret_runs_nothing_on_a_cluster_that_is_left_running(
    java: None, cache: Path
) -> None:
    """Not even by the command line of a driver, which all users of a machine can read."""
    runner = CliRunner()
    env = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    try:
        shown = json.loads(runner.invoke(commands, ["up", "--workers", "1", "--json"], catch_exceptions=False).stdout)
        master, settings = shown["master_url"], Path(shown["conf_dir"]) / "spark-defaults.conf"
        assert settings.stat().st_mode & 0o077 == 0
        assert f"SPARK_CONF_DIR={shown['conf_dir']}" in runner.invoke(commands, ["status"]).stdout
        command = [sys.executable, "-c", WITH_SECRET, master]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=env)
        assert done.stdout.splitlines() == ["ran: 6", "told: None"], done.stderr
        command = [sys.executable, "-c", PLAIN, master]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as stranger:
            try:
                assert any("Failed to connect to master" in line for line in stranger.stderr or ())
            finally:
                stranger.kill()
        subprocess.run(command, check=True, timeout=PATIENCE, env=env | {"SPARK_CONF_DIR": shown["conf_dir"]})
    finally:
        runner.invoke(commands, ["down"])
    assert not settings.exists()


@pytest.mark.spark
def test_prepare_has_the_jar_there(java: None) -> None:
    found = json.loads(CliRunner().invoke(commands, ["prepare", "--json"]).stdout)
    assert Path(found["headworks"]).is_file()


@pytest.mark.parametrize("command", [["up"], ["add"], ["drain", "127.0.0.2"], ["down"]])
def test_while_one_command_changes_the_cluster_no_other_does(
    command: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with SparkState.alone():
        error = CliRunner().invoke(commands, command).exception
    assert isinstance(error, EngineError)
    assert "another command starts, changes or ends the local Spark cluster: wait" in str(error)


@pytest.mark.parametrize("cores", ["", "4,", "0", "a,b", "-1"])
def test_a_list_of_cores_that_is_none_is_refused(cores: str) -> None:
    result = CliRunner().invoke(commands, ["up", "--workers", cores])
    assert result.exit_code == 2
    assert "is not a list of cores" in result.stderr


def test_a_stale_state_file_ends_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A pid that another process has by now is told apart by its start time."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    stranger = Daemon.start("stranger", ["/bin/sleep", "300"], log=tmp_path / "log", env={})
    try:
        (tmp_path / "headworks" / "spark" / "cluster").mkdir(parents=True)
        stale = attrs.evolve(stranger, born=stranger.born - 60)
        SparkState(master_url="spark://127.0.0.1:1", ui_port=1, daemons=(stale,)).write()
        assert SparkState.read() is None
        assert SparkState.end() is None
        assert stranger.alive
    finally:
        end([stranger])
