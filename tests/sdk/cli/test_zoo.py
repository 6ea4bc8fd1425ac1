"""Plugins of every kind that misbehave, on the command line: a message and a code, and the others work on."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading

import pytest
from click.testing import CliRunner

from bad_plugins import bad, machine, misbehaving
from headworks.cli.main import headworks
from headworks.errors import PluginError
from headworks.hooks import Description, hookimpl
from headworks.plugins.host import PluginHost
from memory_engine import Engine, Judge
from patience import PATIENCE
from plugin_folder import GOOD, install
from shell import HEADWORKS

gate = threading.Event()


def _raise(error):
    raise error


MISDEEDS = {
    "raises": (lambda: _raise(RuntimeError("broken")), "raised RuntimeError: broken"),
    "exits": (lambda: sys.exit(0), "raised SystemExit"),
    "interrupts": (lambda: _raise(KeyboardInterrupt), "raised KeyboardInterrupt"),
    "answers a number": (lambda: 3, "answered an int"),
    "hangs": (gate.wait, "has no answer after"),
}


@pytest.fixture(autouse=True)
def opened_gate():
    """Nothing outlives its test."""
    gate.clear()
    yield
    gate.set()


def run_with(monkeypatch, *plugins):
    host = PluginHost().with_plugin("judge", Judge([0, 1]))
    for name, plugin in plugins:
        host = host.with_plugin(name, plugin)
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls: host))
    words = ["run", "--engine", "memory", "-s", "judge", "--interval", "0", "--window", "0.1", "--rounds", "2"]
    return CliRunner().invoke(headworks, words)


def broken(hook, act):
    """The engine in memory with one hook that does something else."""
    members = {
        hook: misbehaving(hook, act),
        "headworks_describe": hookimpl(lambda self: Description(summary="Bad.", deadlines={hook: 0.05})),
    }
    return type("Broken", (Engine,), members)(machine())


@pytest.mark.parametrize("misdeed", MISDEEDS)
@pytest.mark.parametrize("hook", ["headworks_observe", "headworks_preflight", "headworks_execute"])
def test_both_rounds_are_made_and_the_engine_is_left_whatever_its_adapter_does(hook, misdeed, monkeypatch):
    act, says = MISDEEDS[misdeed]
    engine = broken(hook, act)
    done = run_with(monkeypatch, ("memory", engine))
    assert done.exit_code == 1
    assert f"{hook} {says}" in done.stderr
    assert "round 2: " in done.stderr
    assert engine.machine.opened is False


@pytest.mark.parametrize("misdeed", MISDEEDS)
@pytest.mark.parametrize("hook", ["headworks_review", "headworks_on_round"])
def test_a_stranger_that_nobody_asked_ends_no_run(hook, misdeed, monkeypatch):
    act, says = MISDEEDS[misdeed]
    stranger = type(bad(hook, act))
    stranger.headworks_describe = hookimpl(lambda self: Description(summary="Bad.", deadlines={hook: 0.05}))
    done = run_with(monkeypatch, ("memory", Engine(machine())), ("other", stranger()))
    assert "round 2: " in done.stderr
    if hook == "headworks_review":
        assert f"other: {hook} {says}" in done.stderr
    assert done.exit_code == (1 if hook == "headworks_review" else 0)


@contextlib.contextmanager
def _leaves(act):
    yield machine()
    act()


@pytest.mark.parametrize(("act", "says"), [(lambda: sys.exit(0), "raised SystemExit"), (lambda: 1 / 0, "division")])
def test_an_engine_that_fails_as_it_is_left_is_one_message(act, says, monkeypatch):
    done = run_with(monkeypatch, ("memory", broken("headworks_open", lambda: _leaves(act))))
    assert "round 2: " in done.stderr
    assert isinstance(done.exception, PluginError)
    assert says in str(done.exception)


def test_a_command_that_hangs_or_fails_as_it_is_imported_is_listed_beside_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr("headworks.plugins.loading.LOADING", 0.2)
    monkeypatch.syspath_prepend(tmp_path)
    slow = "import time\nwhile True:\n    time.sleep(3600)\n"
    sources = {"ok": GOOD, "slow": slow, "exits": "import sys; sys.exit(0)", "number": "plugin = 3"}
    commands = "".join(f"{name} = acme_{name}:plugin\n" for name in sources if name != "ok")
    install(tmp_path, "acme", sources, commands=commands)
    listed = CliRunner().invoke(headworks, ["--help"])
    assert listed.exit_code == 0
    assert all(word in listed.stdout for word in ("plan", "exits", "number", "slow"))
    asked = CliRunner().invoke(headworks, ["slow"])
    assert "slow is set aside: its import is not done after 0.2 s; it is cut off" in str(asked.exception)


ENDS = {
    "interrupts": "raise KeyboardInterrupt",
    "terminates": "from headworks.interrupts import Terminated\nraise Terminated(143)",
    "leaves": "import os\nos._exit(7)",
}


def listed_beside(folder, *names, words=("plugins",)):
    """The command in a process of its own, whose signals it handles, with plugins whose imports do that."""
    install(folder, "ends", {name: ENDS[name] for name in names})
    paths = filter(None, (str(folder), os.environ.get("PYTHONPATH")))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run([HEADWORKS, *words], env=env, capture_output=True, text=True, timeout=PATIENCE, check=False)


def test_a_plugin_whose_import_acts_as_if_a_signal_had_come_is_set_aside_beside_the_others(tmp_path):
    done = listed_beside(tmp_path, "interrupts", "terminates")
    assert (done.returncode, "interrupted" in done.stderr) == (0, False)
    assert "dstorm" in done.stdout
    assert done.stderr.count("cannot be imported") == 2


def test_the_log_names_the_plugin_whose_import_ended_the_process(tmp_path):
    done = listed_beside(tmp_path, "leaves", words=("-vv", "plugins"))
    assert done.returncode == 7
    assert "leaves: import of ends_leaves:plugin" in done.stderr.splitlines()[-1]
