"""`headworks priority` as a shell sees it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from headworks.cli.main import headworks
from headworks.errors import HeadworksError
from patience import PATIENCE

PAGE = (Path(__file__).parents[3] / "docs" / "manager.md").read_text()


def run(*words):
    """A command in this process: its exit code, stdout and stderr, as `headworks.cli.main` has them."""
    done = CliRunner().invoke(headworks, ["priority", *words])
    if isinstance(done.exception, HeadworksError):
        return done.exception.exit_code, done.stdout, f"{done.stderr}headworks: {done.exception}\n"
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def database(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWORKS_DATABASE", str(tmp_path / "priorities.sqlite"))


@pytest.mark.usefixtures("database")
def test_the_page_s_walk_works_line_by_line(tmp_path):
    (lines,) = re.findall(r"<!-- walk -->\n```sh\n(.*?)```", PAGE, re.DOTALL)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-c", lines],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert "on: EventTP1 has priority 0 now" in done.stderr
    assert "off: EventTP1 has priority 5 now" in done.stderr
    assert json.loads(run("history", "EventTP1", "--json")[1])[1]["why"] == "80 % of CPU"


@pytest.mark.usefixtures("database")
def test_what_is_wrong_is_one_line_and_an_exit_code():
    assert run("set", "t", "--priority", "5", "--desired", "2")[0] == 0
    wrong = {
        ("trigger", "on", "x"): (
            2,
            "no topology x is registered; there are: t; `headworks priority set x` registers it",
        ),
        ("set", "t", "--priority", "-1"): (2, "/priority: -1 does not fit: give a whole number from 0"),
        ("set", "t", "--minimum", "3"): (2, "t must have 3 nodes and desires 2: raise the desired ones"),
        ("list", "--database", "postgresql://127.0.0.1:1/x"): (4, "is it up, and is the address right?"),
    }
    for words, (code, said) in wrong.items():
        found, data, messages = run(*words)
        assert (found, data) == (code, "")
        assert said in messages
        assert len(messages.splitlines()) == 1
    (entry,) = json.loads(run("list", "--json")[1])
    assert (entry["priority"], entry["desired_nodes"], entry["minimum_nodes"]) == (5, 2, None)


@pytest.mark.usefixtures("database")
def test_a_repeated_trigger_is_exit_code_1_and_none_takes_back():
    run("set", "t", "--priority", "5")
    words = ("trigger", "on", "t", "--source", "bolt", "--sequence", "4", "--json")
    assert json.loads(run(*words)[1])["verdict"] == "on"
    code, data, _ = run(*words)
    assert (code, json.loads(data)["verdict"]) == (1, "repeated")
    run("set", "t", "--priority", "none")
    (entry,) = json.loads(run("list", "--json")[1])
    assert (entry["priority"], entry["level"]) == (None, 0)


@pytest.mark.usefixtures("database")
def test_tables_are_for_people():
    run("set", "t", "--priority", "5")
    run("trigger", "on", "t", "--why", "busy")
    run("trigger", "off", "t")
    assert "on, then off" in run("list")[1]
    shown = run("history")[1]
    assert "active off to on" in " ".join(shown.split())
    assert "busy" in shown
