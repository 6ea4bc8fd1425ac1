"""`headworks.storm.Trigger` as a bolt uses it, beside a manager that listens, is gone, and is back."""

from __future__ import annotations

import subprocess

import pytest

from headworks.errors import EngineError
from manager_served import serving
from patience import PATIENCE
from storm_cluster import wait_for
from storm_jvm import class_path, jdk

pytestmark = [pytest.mark.storm, pytest.mark.network]


@pytest.fixture(scope="module")
def program(java, tmp_path_factory):
    """The command that runs the program which sends triggers."""
    try:
        java = jdk()
    except EngineError as error:
        pytest.skip(f"needs a JDK: {error}")
    path = class_path("TriggerProgram", tmp_path_factory.mktemp("classes"))
    return [str(java.program), "-cp", path, "headworks.storm.TriggerProgram"]


class Sender:
    """The program, which sends a trigger for each line."""

    def __init__(self, command, url, token, source, seconds):
        arguments = [*command, url, str(token), source, str(seconds)]
        streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = subprocess.Popen(arguments, text=True, **streams)

    def send(self, words):
        """Whether the trigger was answered, or waits."""
        self.process.stdin.write(f"{words}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.process.kill()
        self.process.communicate()


def state(served, name="t"):
    return {each["name"]: each["active"] for each in served.items("/v1/topologies")}[name]


def test_a_bolt_says_that_a_condition_began_and_ended(program, tmp_path):
    with serving(tmp_path) as served:
        served.ask("PUT", "/v1/topologies/t", {"priority": 5, "hold": 0})
        host, port = served.address
        url, token = f"http://{host}:{port}", tmp_path / "token"
        with Sender(program, url, token, "detect-3", int(PATIENCE)) as first:
            assert first.send('t on 80 % of "CPU", über') == "sent"
            assert state(served) is True
            assert first.send("nobody on a topology that is not registered") == "sent"  # refused: not sent again
            assert first.send("t off below") == "sent"
        with Sender(program, url, token, "detect-3", int(PATIENCE)) as second:  # its worker was started again
            assert second.send("t on once more") == "sent"
        changes = served.items("/v1/history?topology=t")
        told = [(each["verdict"], each["why"]) for each in changes]
        assert told[:3] == [("on", "once more"), ("off", "below"), ("on", '80 % of "CPU", über')]
        assert changes[0]["who"].startswith("detect-3 by http from 127.0.0.1")


def test_what_nobody_hears_waits_for_the_manager_and_only_the_last_word_counts(program, tmp_path):
    with serving(tmp_path) as served:
        served.ask("PUT", "/v1/topologies/t", {"priority": 5, "hold": 0})
        host, port = served.address
    with Sender(program, f"http://{host}:{port}", tmp_path / "token", "detect-3", 1) as sender:
        assert [sender.send("t off too early"), sender.send("t on now")] == ["waits", "waits"]
        with serving(tmp_path, "--listen", f"{host}:{port}") as served:
            assert wait_for("the trigger", lambda: state(served))
            changes = served.items("/v1/history?topology=t")
            assert changes[0]["why"] == "now"
            assert "too early" not in {each["why"] for each in changes}
