"""The newest round of a running process, asked for by other commands of the same user, and by nobody else."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile

import pytest

from headworks.cli.live import newest_round, offered
from headworks.control.journal import Round
from headworks.errors import EngineError
from small_requests import word_count

ROUND = Round(number=7, outcome="quiet", message="all is well", request=word_count(), at="2026-01-31T23:59:59Z")
OTHER = """
import sys
from headworks.cli.live import offered
from headworks.control.journal import Round
with offered("storm", lambda: Round(number=8, outcome="quiet")):
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(runtime):
    """Another process that steers an engine of the same name."""
    with subprocess.Popen([sys.executable, "-c", OTHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        yield process
        process.kill()


def test_the_newest_round_is_told_as_it_is_when_it_is_asked_for(runtime):
    rounds = [None, ROUND]
    with offered("storm", lambda: rounds[-1]):
        assert newest_round("storm") == ROUND
        rounds.pop()
        with pytest.raises(EngineError, match="the control loop on storm has ended no round yet"):
            newest_round("storm")
    with pytest.raises(EngineError, match="no process of this user runs the control loop on storm: start"):
        newest_round("storm")
    assert list(runtime.iterdir()) == []


def test_engines_are_told_apart_though_one_name_begins_as_the_other(runtime):
    with offered("storm", lambda: None), offered("storm-2", lambda: ROUND):
        assert newest_round("storm-2") == ROUND
        with pytest.raises(EngineError, match="no round yet"):
            newest_round("storm")


def test_of_several_processes_one_has_to_be_named(other):
    with offered("storm", lambda: ROUND):
        with pytest.raises(EngineError, match="2 processes run the control loop on storm: name one of storm:") as error:
            newest_round("storm")
        assert f"storm:{other.pid}" in str(error.value)
        assert newest_round(f"storm:{os.getpid()}") == ROUND
        assert newest_round(f"storm:{other.pid}").number == 8


def test_a_process_that_was_killed_leaves_nothing_that_is_asked(other, runtime):
    assert newest_round("storm").number == 8
    other.kill()
    other.wait()
    with pytest.raises(EngineError, match="no process of this user"):
        newest_round("storm")
    assert list(runtime.iterdir()) == []


def test_the_folder_is_of_this_user_alone(runtime):
    with offered("storm", lambda: ROUND):
        assert stat.S_IMODE(runtime.stat().st_mode) == 0o700
    runtime.chmod(0o755)
    with offered("storm", lambda: ROUND), pytest.raises(EngineError, match="no process of this user"):
        newest_round("storm")


def test_a_process_whose_socket_cannot_be_made_runs_on_and_says_why(runtime, monkeypatch, caplog):
    long = runtime.parent / ("long" * 40)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with offered("storm", lambda: ROUND):
        (said,) = caplog.records
    assert "`--engine storm` of other commands does not reach this process" in said.message


def test_who_asks_and_goes_ends_nothing(runtime):
    with offered("storm", lambda: ROUND):
        (place,) = runtime.iterdir()
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(place))
        assert newest_round("storm") == ROUND
