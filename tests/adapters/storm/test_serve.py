"""`headgate serve storm` as a process of its own, asked as the bridge in Nimbus asks: over py4j's wire."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from headgate import documents
from headgate.loop import Round
from headgate_storm.bridge import Endpoint
from storm_cluster import wait_for
from storm_rounds import round_text, supervisor, word_count
from storm_schemas import valid

pytest.importorskip("py4j")
pytestmark = pytest.mark.slow

PROGRAM = Path(sys.executable).with_name("headgate")


@contextlib.contextmanager
def served(folder, *options):
    """The process, and a function that asks it a round."""
    file = folder / "endpoint.json"
    command = [PROGRAM, "serve", "storm", "--endpoint", file, "--journal", folder / "journal", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for("its endpoint", lambda: file.exists() or process.poll() is not None)
            yield process, lambda text: ask(Endpoint.read(file), text)
        finally:
            process.kill()


def ask(endpoint, text):
    with socket.create_connection(("127.0.0.1", endpoint.port), timeout=60) as connection:
        stream = connection.makefile("rw", encoding="utf-8", newline="\n")
        stream.write(f"A\n{endpoint.token}\ne\n")
        stream.flush()
        if stream.readline() != "!yv\n":
            return None
        escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
        stream.write(f"c\nt\nanswer\ns{escaped}\ne\n")
        stream.flush()
        answer = stream.readline()
    assert answer.startswith("!ys"), answer
    return valid("storm-answer", answer[3:-1].replace("\\\\", "\\"))


def journal(folder):
    lines = (folder / "journal").read_text().splitlines()
    return [documents.structure(json.loads(line), Round) for line in lines if line]


def new(**more):
    return round_text([supervisor("a"), supervisor("b")], [word_count(**more)])


def test_rounds_are_answered_journalled_and_shown(tmp_path):
    with served(tmp_path, "-s", "even", "--json") as (process, asked):
        answer = asked(new())
        assert answer["mode"] == "assign"
        assert sorted(task for _, _, flat in answer["topologies"]["wc"] for task in flat) == [1, 1, 2, 2, 3, 3, 4, 4]
        assert asked(new(slots=[("a", 6700)], assignment=[0] * 4))["topologies"] == {}
        shown = json.loads(process.stdout.readline())
        (written,) = journal(tmp_path)  # a round in which nothing was planned is none
        assert shown["outcome"] == written.outcome == "answered"
        assert len(written.plan.assignment) == 4
        assert written.request.cluster.nodes[0].id == "a"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 128 + signal.SIGTERM
    assert not (tmp_path / "endpoint.json").exists()


def test_shadow_plans_and_journals_and_leaves_the_round_to_storm(tmp_path):
    with served(tmp_path, "-s", "even", "--shadow") as (_, asked):
        answer = asked(new())
        assert (answer["mode"], answer["topologies"]) == ("own", {})
        (written,) = journal(tmp_path)
        assert len(written.plan.assignment) == 4


def test_options_come_from_a_file(tmp_path):
    config = tmp_path / "headgate.toml"
    config.write_text('[serve.storm]\nscheduler = "even"\nshadow = true\n')
    with served(tmp_path, "--config", config) as (_, asked):
        assert asked(new())["mode"] == "own"
        (written,) = journal(tmp_path)
        assert written.plan.provenance.scheduler == "even"
    config.write_text('[serve.storm]\nschedular = "even"\n')
    with served(tmp_path, "--config", config) as (process, _):
        assert process.wait(30) == 2
        assert "[serve.storm] has no 'schedular'" in process.stderr.read()


def test_what_cannot_be_placed_is_said_and_what_is_no_round_is_told_without_a_traceback(tmp_path):
    with served(tmp_path, "-s", "resource-aware") as (process, asked):
        answer = asked(round_text([supervisor("a", cpu=25.0)], [word_count()]))
        assert "2 executors cannot be placed" in answer["status"]["wc"]
        with pytest.raises(AssertionError, match="this is no scheduling round of Storm"):
            asked("{}")
        endpoint = Endpoint.read(tmp_path / "endpoint.json")
        assert ask(Endpoint(port=endpoint.port, token="0" * 64), new()) is None
        assert asked(new())["mode"] == "assign"  # it serves on
        process.send_signal(signal.SIGINT)
        process.wait(30)
        assert "Traceback" not in process.stderr.read()
