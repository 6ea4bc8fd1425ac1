"""Hooks of every kind misbehave in every way: each becomes one error with the plugin's name, and no loop ends."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
import threading
from typing import get_args

import pytest

from bad_plugins import HOOKS, bad, machine, misbehaving
from headworks.control.guards import Guards
from headworks.control.journal import Outcome
from headworks.control.loop import Control, Loop
from headworks.errors import EngineError, PluginError
from headworks.hooks import Description, hookimpl
from headworks.interrupts import Terminated
from headworks.model import Plan
from headworks.plugins.guard import MANY, ONE, author_line, failure
from headworks.plugins.host import PluginHost
from headworks.plugins.own_process import printing_to_stderr
from memory_engine import Engine, Judge


class UnreadableError(Exception):
    def __str__(self):
        raise RuntimeError("even its text")


def _raise(error):
    raise error


def _late():
    yield "fine"
    raise RuntimeError("in the middle")


MISDEEDS = {
    "raises": lambda: _raise(RuntimeError("broken")),
    "exits": lambda: sys.exit(0),
    "cannot be told": lambda: _raise(UnreadableError),
    "runs out of stack": lambda: MISDEEDS["runs out of stack"](),
    "answers None": lambda: None,
    "answers a mapping": lambda: {"done": True},
    "answers a text": lambda: "fine",
    "answers a number": lambda: 3,
    "answers a sequence of numbers": lambda: [3, 4],
    "answers in parts and raises": _late,
}

FITTING = {
    **{hook: {"answers None"} for hook in MANY},
    **{hook: {"answers a mapping"} for hook, kind in ONE.items() if isinstance({}, kind)},
    "headworks_run": {"answers a number"},
    "headworks_recognise": {"answers a text"},
}


def test_every_hook_with_an_answer_is_tried():
    assert set(HOOKS) == {*ONE, *MANY} - {"headworks_describe"}


@pytest.mark.parametrize("misdeed", MISDEEDS)
@pytest.mark.parametrize("hook", HOOKS)
def test_a_misdeed_of_a_hook_is_one_error_that_names_plugin_and_hook(hook, misdeed):
    host = PluginHost().with_plugin("bad", bad(hook, MISDEEDS[misdeed]))
    if misdeed in FITTING.get(hook, ()):
        HOOKS[hook](host)
        return
    with pytest.raises(PluginError, match=f"^bad: {hook} (raised|answered) "):
        HOOKS[hook](host)


class Opens:
    """An engine that fails as it is reached, or left."""

    def __init__(self, *, entering=None, leaving=None):
        self.entering, self.leaving = entering, leaving

    @hookimpl
    def headworks_describe(self):
        return Description(summary="An engine.")

    @hookimpl
    def headworks_open(self, application, address):
        @contextlib.contextmanager
        def opened():
            if self.entering:
                raise self.entering
            yield 1
            if self.leaving:
                raise self.leaving

        return opened()


@pytest.mark.parametrize("error", [RuntimeError("no"), SystemExit(0)])
def test_an_engine_that_fails_as_it_is_reached_or_left_is_a_plugin_that_failed(error):
    for engine in (Opens(entering=error), Opens(leaving=error)):
        host = PluginHost().with_plugin("bad", engine)
        with pytest.raises(PluginError, match="bad: headworks_open raised"), host.open("bad", (), None):
            pass


def test_what_is_meant_for_the_user_and_what_others_raise_passes_as_it_is():
    host = PluginHost().with_plugin("far", Opens(entering=EngineError("out of reach")))
    with pytest.raises(EngineError, match=r"^out of reach$"), host.open("far", (), None):
        pass
    with pytest.raises(ZeroDivisionError), PluginHost().with_plugin("near", Opens()).open("near", (), None):
        _ = 1 / 0
    for signal in (KeyboardInterrupt(), Terminated(15)):
        stopped = PluginHost().with_plugin("bad", Opens(entering=signal))
        with pytest.raises(type(signal)), stopped.open("bad", (), None):
            pass


def test_a_hook_that_acts_as_if_a_signal_had_come_ends_nothing():
    for signal in (KeyboardInterrupt(), Terminated(15)):
        host = PluginHost().with_plugin("bad", bad("headworks_observe", lambda signal=signal: _raise(signal)))
        with pytest.raises(PluginError, match="bad: headworks_observe raised"):
            host.observe("bad", object(), 1.0)


@pytest.mark.parametrize("misdeed", MISDEEDS)
@pytest.mark.parametrize(
    "hook", ["observe", "preflight", "keeps", "execute", "review", "on_round", "analyse", "schedule"]
)
def test_no_plugin_of_any_kind_ends_the_loop(hook, misdeed):
    act = MISDEEDS[misdeed]
    name, engine, judge = f"headworks_{hook}", Engine(), Judge([0, 1])
    host = PluginHost()
    if hook in ("review", "on_round"):
        host = host.with_plugin("other", bad(name, act))
    else:
        whose = Judge if hook in ("analyse", "schedule") else Engine
        inherited = type("Broken", (whose,), {name: misbehaving(name, act)})
        engine, judge = (inherited(), judge) if whose is Engine else (engine, inherited([0, 1]))
    host = host.with_plugin("memory", engine).with_plugin("judge", judge)
    control = Control(scheduler="judge", engine="memory", guards=Guards(cooldown=0.0), window=0.1)
    loop = Loop(host, control, machine())
    rounds = [loop.round() for _ in range(2)]
    assert [each.number for each in rounds] == [1, 2]
    assert all(each.outcome in get_args(Outcome) for each in rounds)
    if hook in ("observe", "execute") or (hook == "schedule" and misdeed != "answers in parts and raises"):
        assert rounds[0].outcome in ("failed", "held")
        assert rounds[0].message


class TestFailures:
    def test_the_line_is_the_last_of_the_plugins_own_package(self, tmp_path, monkeypatch):
        package = tmp_path / "acme"
        package.mkdir()
        (package / "__init__.py").write_text("import json\ndef read(text):\n    return json.loads(text)\n")
        monkeypatch.syspath_prepend(tmp_path)
        import acme

        with pytest.raises(PluginError, match=r"JSONDecodeError: .* \(acme/__init__\.py:3\)$"):
            PluginHost().with_plugin("bad", bad_in(acme.read)).observe("bad", object(), 1.0)

    def test_an_error_without_a_line_of_the_plugin_has_none(self):
        assert author_line(ValueError("made, not raised")) == ""
        assert failure(ValueError("x")) == "ValueError: x"

    def test_the_traceback_is_there_for_who_asks(self, caplog):
        host = PluginHost().with_plugin("bad", bad("headworks_observe", MISDEEDS["raises"]))
        with caplog.at_level(logging.DEBUG, "headworks.plugins"), pytest.raises(PluginError):
            host.observe("bad", object(), 1.0)
        (record,) = caplog.records
        assert record.exc_info[1].args == ("broken",)
        assert record.getMessage().startswith("bad: headworks_observe raised RuntimeError: broken")


def bad_in(function):
    class Reads:
        @hookimpl
        def headworks_describe(self):
            return Description(summary="Reads.")

        headworks_observe = hookimpl(_observing(function))

    return Reads()


def _observing(function):
    made = {}
    code = "def headworks_observe(self, target, window): return function('no json')"
    exec(compile(code, function.__code__.co_filename, "exec"), {"function": function}, made)
    return made["headworks_observe"]


class TestPrints:
    def test_what_a_hook_prints_is_no_data(self, capsys):
        host = PluginHost().with_plugin("bad", bad("headworks_preflight", lambda: sys.stdout.write("noise\n") and None))
        assert host.preflight("bad", object(), Plan()) == ()
        assert capsys.readouterr() == ("", "noise\n")

    def test_other_threads_print_where_they_did(self, capsys):
        before = sys.stdout
        with printing_to_stderr(), printing_to_stderr():
            other = threading.Thread(target=lambda: sys.stdout.write("an application's line\n"))
            other.start()
            other.join()
            sys.stdout.write("a plugin's line\n")
        sys.stdout.write("afterwards\n")
        assert sys.stdout is before
        assert capsys.readouterr() == ("an application's line\nafterwards\n", "a plugin's line\n")

    def test_blocks_that_overlap_in_two_threads_leave_stdout_as_it_was(self):
        before, inside, leave = sys.stdout, threading.Event(), threading.Event()

        def stay():
            with printing_to_stderr():
                inside.set()
                leave.wait(60)

        other = threading.Thread(target=stay)
        with printing_to_stderr():
            other.start()
            assert inside.wait(60)
        assert sys.stdout is not before
        leave.set()
        other.join()
        assert sys.stdout is before


def test_plugins_are_the_same_where_docstrings_are_stripped():
    code = "from headworks.plugins.host import PluginHost; print(PluginHost.load().schedulers)"
    plain, stripped = (
        subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=True, timeout=300)
        for flags in ([], ["-OO"])
    )
    assert plain.stdout == stripped.stdout
    assert "'dstorm'" in plain.stdout
