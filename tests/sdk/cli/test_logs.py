"""Where a plugin fails is shown to who asks: `--traceback`, `-v`, `--log-level`, `HEADWORKS_LOG`."""

from __future__ import annotations

import json
import logging
import os
import subprocess

import pytest
from click.testing import CliRunner

from headworks.cli.main import headworks as command
from headworks.documents import dumps
from plugin_folder import install
from shell import HEADWORKS, called, headworks
from small_requests import component, node, request, topology

BROKEN = """
from headworks.hooks import Description, hookimpl

class Plugin:
    @hookimpl
    def headworks_describe(self):
        return Description(summary="broken")

    @hookimpl
    def headworks_schedule(self, request):
        return first([])

def first(parts):
    return parts[0]

plugin = Plugin()
"""
LINE = "broken_broken.py:14)"


@pytest.fixture
def broken(tmp_path):
    """Arguments and environment of a plan by a scheduler that raises."""
    install(tmp_path, "broken", {"broken": BROKEN})
    place = tmp_path / "request.json"
    place.write_text(dumps(request([node("a")], [topology("t", component("c"))])))
    return ("plan", str(place), "-s", "broken"), {"PYTHONPATH": str(tmp_path)}


def shown(words, environment, *before):

    done = subprocess.run(
        [HEADWORKS, *before, *words], capture_output=True, text=True, env={**os.environ, **environment}, timeout=240
    )
    assert done.returncode == 3
    return done.stderr


def test_the_reason_names_the_authors_line_and_no_traceback_is_shown_unasked(broken):
    words, environment = broken
    done = headworks(*words, **environment)
    assert done.returncode == 3
    assert "held: broken raised IndexError: list index out of range (" in done.stderr
    assert LINE in done.stderr


@pytest.mark.parametrize("ask", [["--traceback"], ["-vv"], ["--log-level", "debug"], "HEADWORKS_LOG"])
def test_a_traceback_is_shown_once_to_who_asks(broken, ask):
    words, environment = broken
    asked, named = ([], {"HEADWORKS_LOG": "DEBUG"}) if ask == "HEADWORKS_LOG" else (ask, {})
    found = shown(words, {**environment, **named}, *asked)
    assert found.count("Traceback (most recent call last)") == 1
    assert "in first\n    return parts[0]" in found


@pytest.mark.parametrize("ask", [[], ["-v"], ["--log-level", "warning"]])
def test_levels_above_debug_show_none(broken, ask):
    words, environment = broken
    assert "Traceback" not in shown(words, environment, *ask)


def test_with_log_json_errors_and_tracebacks_are_objects_too(broken):
    words, environment = broken
    lines = [json.loads(each) for each in shown(words, environment, "--log-json", "--traceback").splitlines()]
    (trace,) = [each for each in lines if "Traceback" in each["message"]]
    assert (trace["logger"], trace["level"]) == ("headworks.plugins", "debug")
    assert "in first\n    return parts[0]" in trace["message"]
    done = called("--log-json", "plan", "nowhere.json", "-s", "even")
    (error,) = [json.loads(each) for each in done.stderr.splitlines()]
    assert (done.returncode, error["level"]) == (2, "error")


def test_a_level_that_is_none_is_wrong_use():
    done = called("plugins", HEADWORKS_LOG="loud")
    assert done.returncode == 2
    assert "HEADWORKS_LOG='loud' is not a level: debug, info, warning, error" in done.stderr
    assert called("--log-level", "loud", "plugins").returncode == 2


def test_a_simulation_says_why_its_rounds_were_held(broken):
    _, environment = broken
    done = headworks(
        "simulate", "dstorm:linear", "-s", "broken", "--duration", "60", "--warm-up", "0", "--json", **environment
    )
    assert done.returncode == 1
    (reason,) = [line for line in done.stderr.splitlines() if " x held: " in line]
    assert reason.startswith("broken: 2 x held: broken raised IndexError")
    assert LINE in reason


def test_what_a_command_shows_ends_with_it():
    root, logger = logging.getLogger(), logging.getLogger("headworks.plugins")
    before = [*root.handlers], logger.level
    done = CliRunner().invoke(command, ["--traceback", "plugins"])
    assert done.exit_code == 0, done.output
    assert ([*root.handlers], logger.level) == before
