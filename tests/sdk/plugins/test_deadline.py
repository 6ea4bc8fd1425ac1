"""Hooks that hang: each call ends at its deadline, what it left is not joined by another, and every loop lives on."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from typing import get_args

import pytest

from bad_plugins import HOOKS, machine, misbehaving
from headworks import hooks
from headworks.control.guards import Guards
from headworks.control.journal import Outcome
from headworks.control.loop import Control, Loop
from headworks.errors import PluginError
from headworks.hooks import Description, hookimpl
from headworks.interrupts import held
from headworks.model import Observation, Plan, Receipt
from headworks.plugins import guard as deadline
from headworks.plugins.guard import (
    DEADLINES,
    LEAVING,
    MANY,
    ONE,
    ONE_TARGET,
    RING,
    SHORTER_ONLY,
    Overdue,
    cut_off,
    deadline_of,
)
from headworks.plugins.host import PluginHost
from memory_engine import Engine, Judge
from patience import PATIENCE
from plugin_folder import GOOD, install

OWN = {"headworks_reschedule", "headworks_recover", "headworks_examine", "headworks_schedule", "headworks_run"}
"""Hooks that take what they take; the scheduler's deadline is the request's."""


def until(come):
    """Wait for what comes; False if it does not."""
    end = time.monotonic() + PATIENCE
    while not (found := come()) and time.monotonic() < end:
        time.sleep(0.01)
    return bool(found)


@pytest.fixture
def gate():
    """An event that hooks wait for, so that none of them outlives its test."""
    opens = threading.Event()
    yield opens
    opens.set()


def hanging(hook, gate, answer=None):
    """A plugin whose one hook hangs until the gate opens, after a deadline of its own of 50 ms."""

    def hang():
        gate.wait()
        return answer

    members = {
        "headworks_describe": hookimpl(lambda self: Description(summary="Bad.", deadlines={hook: 0.05})),
        **({"headworks_schedule": hookimpl(lambda self, request: Plan())} if hook == "headworks_analyse" else {}),
        hook: misbehaving(hook, hang),
    }
    return type("Bad", (), members)()


def test_every_hook_has_a_deadline_or_takes_what_it_takes():
    named = {name for each in hooks.SPECS for name in vars(each) if name.startswith("headworks_")}
    assert {*DEADLINES} == named - OWN - {"headworks_prepare"}
    assert {*ONE, *MANY} <= {*DEADLINES, *OWN}
    assert {*DEADLINES} >= ONE_TARGET | SHORTER_ONLY


@pytest.mark.parametrize("hook", sorted({*HOOKS} & {*DEADLINES} - {"headworks_open"}))
def test_a_hook_that_hangs_is_abandoned_and_not_asked_again_before_it_ends(hook, gate):
    host = PluginHost().with_plugin("bad", hanging(hook, gate))
    window = "1.05" if hook == "headworks_observe" else "0.05"
    with pytest.raises(PluginError, match=f"^bad: {hook} has no answer after {window} s; it is abandoned$"):
        HOOKS[hook](host)
    with pytest.raises(PluginError, match=f"^bad: {hook} is not asked: {hook}, which was abandoned, is still going$"):
        HOOKS[hook](host)
    gate.set()

    def answers():
        try:
            HOOKS[hook](host)
        except PluginError as error:
            return "is not asked" not in str(error)
        return True

    assert until(answers)


def test_while_an_execution_goes_on_nothing_else_is_done_to_its_target(gate):
    plugin = type(
        "Both", (type(hanging("headworks_execute", gate)),), {"headworks_observe": Engine.headworks_observe}
    )()
    host = PluginHost().with_plugin("bad", plugin)
    with pytest.raises(PluginError, match="abandoned"):
        host.execute("bad", object(), Plan())
    with pytest.raises(
        PluginError, match="headworks_observe is not asked: headworks_execute, which was abandoned, is "
    ):
        host.observe("bad", object(), 1.0)


def test_what_is_called_unasked_can_take_less_time_than_others_and_no_more():
    assert deadline_of("headworks_review", {"headworks_review": 1e9}) == DEADLINES["headworks_review"]
    assert deadline_of("headworks_review", {"headworks_review": 1.0}) == 1.0
    assert deadline_of("headworks_execute", {"headworks_execute": 1e9}) == 1e9
    assert deadline_of("headworks_observe", {}, 10.0) == 10.0 + DEADLINES["headworks_observe"]
    assert deadline_of("headworks_examine", {}) is None


@pytest.mark.parametrize(
    "hook", ["observe", "preflight", "keeps", "execute", "rollback", "review", "on_round", "analyse"]
)
def test_a_plugin_that_hangs_ends_no_loop(hook, gate):
    name, engine, judge, seen = f"headworks_{hook}", Engine(), Judge([0, 1]), machine()
    host = PluginHost()
    if hook in ("review", "on_round"):
        host = host.with_plugin("other", hanging(name, gate))
    else:
        whose = Judge if hook == "analyse" else Engine
        members = {
            name: misbehaving(name, gate.wait),
            "headworks_describe": hookimpl(lambda self: Description(summary="Slow.", deadlines={name: 0.05})),
        }
        broken = type("Slow", (whose,), members)
        engine, judge = (broken(), judge) if whose is Engine else (engine, broken([0, 1]))
        seen.refuses = hook == "rollback"
    host = host.with_plugin("memory", engine).with_plugin("judge", judge)
    loop = Loop(host, Control(scheduler="judge", engine="memory", guards=Guards(cooldown=0.0), window=0.1), seen)
    rounds = [loop.round() for _ in range(2)]
    assert [each.number for each in rounds] == [1, 2]
    assert all(each.outcome in get_args(Outcome) for each in rounds)
    if hook not in ("on_round", "keeps"):  # a round in which tasks move asks nobody whether they stay
        assert rounds[0].outcome in ("failed", "held")
        assert f"{name} has no answer after" in rounds[0].message


class Slow:
    """An engine that hangs as it is reached or left."""

    def __init__(self, *, entering=False, leaving=False):
        self.entering, self.leaving = entering, leaving

    @hookimpl
    def headworks_describe(self):
        return Description(summary="An engine.", deadlines={"headworks_open": 0.05})

    @hookimpl
    def headworks_open(self, application, address):
        @contextlib.contextmanager
        def opened():
            if self.entering:
                time.sleep(3600)
            yield 1
            if self.leaving:
                time.sleep(3600)

        return opened()


def test_an_engine_that_hangs_as_it_is_reached_is_cut_off():
    host = PluginHost().with_plugin("bad", Slow(entering=True))
    with pytest.raises(PluginError, match=r"^bad: headworks_open is not done after 0.05 s; it is cut off$"):
        host.open("bad", (), None).__enter__()
    assert signal.getsignal(RING) is signal.SIG_DFL


def test_an_engine_that_hangs_as_it_is_left_is_cut_off(monkeypatch):
    monkeypatch.setattr("headworks.plugins.guard.LEAVING", 0.05)
    host = PluginHost().with_plugin("bad", Slow(leaving=True))
    with pytest.raises(PluginError, match="headworks_open is not done after"), host.open("bad", (), None):
        pass
    assert LEAVING == 300


IMPORTS = "import time\ntime.sleep(3600)\n"
DESCRIBES = GOOD.replace("return Description", "import time; time.sleep(3600); return Description")


@pytest.mark.parametrize(("source", "word"), [(IMPORTS, "its import"), (DESCRIBES, "headworks_describe")])
@pytest.mark.parametrize("thread", ["main", "another"])
def test_a_plugin_that_hangs_as_it_is_loaded_is_set_aside(source, word, thread, tmp_path, monkeypatch):
    monkeypatch.setattr("headworks.plugins.loading.LOADING", 0.2)
    monkeypatch.syspath_prepend(tmp_path)
    # A module that hangs in a thread is being imported for ever: each case has its own.
    install(tmp_path, f"slow-{thread}-{word[:3]}", {"slow": source.replace("sleep(3600)", "sleep(5)")}, rounds="")
    found = []
    load = lambda: found.extend(PluginHost.load(["slow"]).quarantined)  # noqa: E731
    if thread == "main":
        load()
    else:
        other = threading.Thread(target=load)
        other.start()
        other.join()
    (aside,) = found
    assert aside.reason.startswith(f"{word} ") or f": {word} " in aside.reason
    assert "after 0.2 s" in aside.reason


class TestCutOff:
    def test_code_that_swallows_all_errors_is_cut_off(self):
        def swallows():
            while True:
                with contextlib.suppress(Exception):
                    time.sleep(3600)

        with pytest.raises(Overdue), cut_off(0.05):
            swallows()

    def test_code_that_swallows_everything_once_is_cut_off_again(self, monkeypatch):
        monkeypatch.setattr(deadline, "AGAIN", 0.05)

        def swallows():
            with contextlib.suppress(BaseException):
                time.sleep(3600)
            time.sleep(3600)

        with pytest.raises(Overdue), cut_off(0.05):
            swallows()

    def test_a_step_that_must_be_whole_is_whole(self, monkeypatch):
        monkeypatch.setattr(deadline, "AGAIN", 0.01)
        steps = []
        with held(), cut_off(0.02):
            time.sleep(0.2)
            steps.append("whole")
        assert steps == ["whole"]

    def test_a_program_that_takes_the_signal_keeps_it(self):
        rang = []
        before = signal.signal(RING, lambda *_: rang.append(1))
        try:
            with cut_off(0.01):
                signal.raise_signal(RING)
        finally:
            signal.signal(RING, before)
        assert rang == [1]


def test_the_first_answer_counts_and_nothing_is_left():
    host = PluginHost().with_plugin("memory", Engine())
    seen = host.observe("memory", machine(), 1.0)
    assert isinstance(seen, Observation)
    assert isinstance(host.rollback("memory", machine(), Receipt()), Receipt)
