"""`headworks conform`: what fails comes with the rule, the request that breaks it, and the command to see it again."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess

import pytest

from headworks.testing import ENGINE_RULES, RULES
from patience import PATIENCE
from plugin_folder import install
from shell import HEADWORKS, called

PICKY = """
import os
import attrs
from headworks.hooks import Description, hookimpl
from headworks.testing import FirstFit

@attrs.frozen(kw_only=True)
class Options:
    wrong: bool = False
    loud: bool = False

class Plugin:
    @hookimpl
    def headworks_describe(self):
        return Description(summary="picky", options=Options)

    @hookimpl
    def headworks_schedule(self, problem, options):
        if options.loud:
            os.write(1, b"native noise\\n")
        if options.wrong and problem.n > 2:
            raise IndexError("three is a crowd")
        return FirstFit().headworks_schedule(problem)

plugin = Plugin()
"""


@pytest.fixture
def environment(tmp_path):
    install(tmp_path, "picky", {"picky": PICKY})
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


def conform(environment, *words):
    return subprocess.run(
        [HEADWORKS, "conform", *map(str, words)], capture_output=True, text=True, env=environment, timeout=600
    )


def test_what_fails_can_be_seen_again_by_the_command_that_is_told(tmp_path, environment):
    done = conform(environment, "picky", "-o", "wrong=true", "--save", tmp_path / "failing", "--json")
    assert done.returncode == 1
    rows = {row["rule"]: row for row in json.loads(done.stdout)["rules"]}
    assert rows["answers"]["status"] == "failed"
    assert "three is a crowd" in rows["answers"]["detail"]
    assert done.stderr.count("Traceback (most recent call last)") == 1
    assert 'raise IndexError("three is a crowd")' in done.stderr
    told = done.stderr.splitlines()
    at = next(index for index, line in enumerate(told) if line.startswith("answers: "))
    assert told[at].endswith("A request of 3 tasks on 0 nodes breaks it.")
    again = subprocess.run(
        [HEADWORKS, *shlex.split(told[at + 1])[1:]], capture_output=True, text=True, env=environment, timeout=240
    )
    assert again.returncode == 3
    assert "raised IndexError: three is a crowd" in again.stderr


def test_options_are_those_of_all_rules_and_of_other_processes(environment):
    noisy = conform(environment, "picky", "-o", "loud=true", "--json")
    rows = {row["rule"]: row for row in json.loads(noisy.stdout)["rules"]}
    assert [row["rule"] for row in rows.values() if row["status"] == "failed"] == ["silent"]
    assert rows["processes"]["status"] == "ok"
    assert rows["answers"]["requests"] == rows["processes"]["requests"] > 100
    assert "requests" not in rows["describes"]
    assert "zip()" not in noisy.stderr


def test_every_rule_can_be_explained():
    for rule in RULES:
        said = called("conform", "--explain", rule.id, "--json")
        assert json.loads(said.stdout)["statement"] == rule.statement
    assert "did you mean silent?" in called("conform", "--explain", "silnt").stderr
    assert "Missing argument" in called("conform").stderr


def test_an_engine_is_tried_on_an_application():
    done = called("conform", "sim", "dstorm:linear", "--patience", "120", "--json", "--", "--style", "worker")
    rows = {row["rule"]: row for row in json.loads(done.stdout)["rules"]}
    assert done.returncode == 0
    assert rows["node-lost"]["status"] == rows["rollback-of-nothing"]["status"] == "ok"
    assert rows["ended"]["status"] == "skipped"
    assert done.stderr.splitlines()[0] == f"sim: {len(ENGINE_RULES) + 1} steps"
    nothing = called("conform", "sim")
    assert nothing.returncode == 2
    assert "REQUEST" in nothing.stderr
    rule = ENGINE_RULES[-1]
    assert json.loads(called("conform", "--explain", rule.id, "--json").stdout)["statement"] == rule.statement
    assert called("conform", "sim", "dstorm:linear", "--window", "nan").returncode == 2


@pytest.mark.parametrize("wrong", [["nosuch"], ["even", "-o", "x=1"], ["storm", "storm:word-count"]])
def test_what_there_is_not_is_refused_before_anything_is_said(wrong):
    done = called("conform", *wrong)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


@pytest.mark.parametrize("application", [[], ["storm:word-count"]])
def test_an_engine_that_cannot_be_opened_is_refused_with_the_way_there_is(application):
    done = called("conform", "storm", *application)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("headworks: storm asks for its plans by itself and cannot be opened from here: ")
    assert "headworks.testing.EngineContract whose EngineTrial has an `opener`" in done.stderr


def test_a_terminal_shows_which_rule_is_tried_and_the_data_is_data_alone(tmp_path):
    reader, terminal = os.openpty()
    with (tmp_path / "rows.json").open("wb") as rows:
        process = subprocess.Popen(
            [HEADWORKS, "conform", "even", "--json"],
            stdout=rows,
            stderr=terminal,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        )
    os.close(terminal)
    shown = everything(reader)
    assert process.wait(PATIENCE) == 0
    tried = [row["rule"] for row in json.loads((tmp_path / "rows.json").read_text())["rules"]]
    places = [shown.index(f"even: {rule} ") for rule in tried]
    assert places == sorted(places)
    assert len(places) == len(RULES)


def everything(reader):
    """What a terminal is sent until all that write to it have ended."""
    shown = b""
    with contextlib.suppress(OSError):  # EIO is the end of a terminal
        while more := os.read(reader, 65_536):
            shown += more
    os.close(reader)
    return shown.decode()
