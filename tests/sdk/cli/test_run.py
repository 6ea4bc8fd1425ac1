from __future__ import annotations

import contextlib
import json
import threading
from datetime import datetime
from typing import get_args
from urllib.request import urlopen

import attrs
import pytest
from click.testing import CliRunner

from headworks.cli.live import newest_round
from headworks.cli.main import headworks
from headworks.cli.rounds import bad_rounds
from headworks.control.journal import Outcome, Round, read_journal
from headworks.documents import loads
from headworks.errors import EngineError, EngineWaitsError
from headworks.hooks import hookimpl
from headworks.model import Metrics, Observation, TaskSample
from headworks.plugins.host import PluginHost
from headworks.samples.store import read_states
from memory_engine import Engine, Judge, Listener, Machine, Reviewer
from small_requests import component, node, request, topology


@pytest.fixture
def machine(monkeypatch):
    made = request([node("a"), node("b")], [topology("t", component("c", 2))], {"t/c/0": "a", "t/c/1": "a"})
    target = Machine(Observation(cluster=made.cluster, topologies=made.topologies, assignment=made.assignment))
    host = PluginHost().with_plugin("memory", Engine(target)).with_plugin("judge", Judge([0, 1]))
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls: host))
    return target


def invoke(*words):
    return CliRunner().invoke(headworks, ["run", "--engine", "memory", "-s", "judge", "--interval", "0", *words])


def test_rounds_are_run_and_the_engine_is_left(machine):
    done = invoke("--rounds", "2")
    assert done.exit_code == 0
    assert done.stderr.splitlines()[0] == "round 1: executed: 2 of 2 tasks run where asked"
    assert "round 2: unchanged" in done.stderr
    assert "migrate" in done.stdout
    assert machine.opened is False


def test_json_is_one_round_a_line_and_the_journal_keeps_the_same(machine, tmp_path):
    done = invoke("--rounds", "2", "--json", "--journal", str(tmp_path / "journal"))
    lines = done.stdout.splitlines()
    assert [loads(line, Round).outcome for line in lines] == ["executed", "unchanged"]
    assert list(read_journal(tmp_path / "journal")) == [json.loads(line) for line in lines]


def test_log_json_makes_each_line_of_stderr_an_object_that_names_its_round(machine, monkeypatch):
    host = PluginHost.load().with_plugin("deaf", Listener(broken=True))
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls: host))
    lines = [json.loads(each) for each in invoke("--rounds", "2", "--log-json").stderr.splitlines()]
    said = [(each["round"], each["logger"], each["level"]) for each in lines]
    log, shown = ("headworks.loop", "warning"), ("headworks.rounds", "info")
    assert said == [(1, *log), (1, *shown), (2, *log), (2, *shown)]
    assert lines[1]["message"].startswith("round 1: executed: 2 of 2 tasks run where asked\n  slots are not enforced")
    assert all(datetime.fromisoformat(each["time"]).tzinfo for each in lines)
    assert invoke("--rounds", "1").stderr.startswith("round 1: ")


class Launcher(Engine):
    """An engine that runs applications by itself: this one prints, waits for rounds, and ends with 5."""

    @hookimpl
    def headworks_run(self, application, address, launch, rounds):
        self.launched, self.heard, ended = (application, address, launch), threading.Event(), threading.Event()
        beside = threading.Thread(target=rounds, args=(self.machine, ended))
        beside.start()
        print("the application's")  # noqa: T201
        self.heard.wait()
        if "--limited" in application:
            beside.join()
        ended.set()
        beside.join()
        return 5

    @hookimpl
    def headworks_on_round(self, record):
        self.heard.set()


@pytest.fixture
def launcher(machine, monkeypatch):
    engine = Launcher(machine)
    host = PluginHost().with_plugin("memory", engine).with_plugin("judge", Judge([0, 1]))
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls: host))
    return engine


def test_an_engine_that_runs_the_application_has_its_exit_code(launcher):
    launch = ("--conf", "a=1", "--properties-file", "settings", "--conf", "b=2", "--packages", "c:d:1")
    done = invoke("--json", "--rounds", "1", *launch, "--master", "here", "app.py", "--limited", "--conf", "its own")
    assert done.exit_code == 5
    assert [loads(line, Round).outcome for line in done.stdout.splitlines()] == ["executed"]
    assert "the application's" in done.stderr
    application, address, words = launcher.launched
    assert (application, address) == (("app.py", "--limited", "--conf", "its own"), "here")
    pairs = sorted(zip(words[::2], words[1::2], strict=True))
    assert pairs == [("--conf", "a=1"), ("--conf", "b=2"), ("--packages", "c:d:1"), ("--properties-file", "settings")]


def test_rounds_end_with_the_application_that_an_engine_runs(launcher):
    assert invoke("--interval", "600", "app.py").exit_code == 5


def test_options_of_a_launcher_need_an_engine_that_has_one(machine):
    done = invoke("--rounds", "1", "--conf", "a=1")
    assert (done.exit_code, machine.calls) == (2, [])
    assert "memory launches no application, so --conf has no effect there" in done.stderr


class Empty(Engine):
    """An engine on which nothing runs yet."""

    @hookimpl
    def headworks_observe(self, target, window):
        raise EngineWaitsError("no batch has ended yet")


def test_a_round_in_which_nothing_is_there_yet_waits(machine, monkeypatch):
    host = PluginHost().with_plugin("memory", Empty(machine)).with_plugin("judge", Judge([0]))
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls: host))
    done = invoke("--rounds", "1")
    assert (done.exit_code, done.stderr) == (0, "round 1: waiting: no batch has ended yet\n")


def test_samples_are_kept_when_a_window_was_measured(machine, tmp_path):
    machine.seen = attrs.evolve(machine.seen, metrics=Metrics(window=1.0, tasks=(TaskSample(task="t/c/0", cpu=5.0),)))
    assert invoke("--rounds", "1", "--samples", str(tmp_path)).exit_code == 0
    assert len(list(tmp_path.glob("day=*/hour=*/samples-*.parquet"))) == 2
    assert [state.assignment["t/c/1"].node for _, state in read_states(tmp_path)] == ["a", "b"]


def test_shadow_never_acts(machine):
    done = invoke("--rounds", "1", "--shadow")
    assert (done.exit_code, "execute" in machine.calls) == (0, False)


def test_a_failed_round_is_exit_code_1_and_the_engine_is_left(machine):
    machine.broken = {"execute"}
    assert invoke("--rounds", "1").exit_code == 1
    assert machine.opened is False


def test_what_follows_the_application_is_its_own(machine):
    assert invoke("--rounds", "1", "app.py", "--rounds", "many", "--other").exit_code == 0
    done = invoke("--roundz", "1", "app.py")
    assert (done.exit_code, machine.calls.count("execute")) == (2, 1)


@pytest.mark.parametrize("words", [["--window", "0"], ["--rounds", "0"], ["--deadline", "x"], ["--journal", "/"]])
def test_wrong_settings_are_told_before_the_engine_is_touched(machine, words):
    assert invoke(*words).exit_code == 2
    assert machine.calls == []


@pytest.mark.parametrize("value", ["4", "2:1", "0:3", "a:b", ":"])
def test_a_range_of_nodes_that_is_none_is_refused(machine, value):
    done = invoke("--rounds", "1", "--elastic", value)
    assert (done.exit_code, machine.calls) == (2, [])
    assert "expected MIN:MAX" in done.stderr


def test_elastic_needs_an_engine_that_can_scale(machine):
    done = invoke("--rounds", "1", "--elastic", "1:3")
    assert (done.exit_code, machine.calls) == (2, [])
    assert "memory cannot add or drain nodes" in done.stderr


def test_a_held_round_is_exit_code_1(machine, monkeypatch):
    host = PluginHost().with_plugin("memory", Engine(machine)).with_plugin("judge", Judge([0]))
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls: host))
    done = invoke("--rounds", "2")
    assert (done.exit_code, machine.calls.count("execute")) == (1, 0)
    assert [line.split(":")[1] for line in done.stderr.splitlines()] == [" held", " held"]


def test_the_loop_ends_with_the_application(machine):
    machine.over = True
    done = invoke()
    assert (done.exit_code, done.stderr) == (0, "round 1: ended: no query runs any more\n")


@pytest.mark.parametrize("outcome", ["vetoed", "missed", "rolled-back"])
def test_plans_of_which_none_came_to_be_are_exit_code_1(machine, monkeypatch, outcome):
    machine.deaf, machine.refuses = outcome == "missed", outcome == "rolled-back"
    reviewer = Reviewer("not on a Friday" if outcome == "vetoed" else "")
    host = PluginHost.load().with_plugin("reviewer", reviewer) if outcome == "vetoed" else PluginHost.load()
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls: host))
    done = invoke("--rounds", "2", "--cooldown", "0")
    assert [line.split(":")[1] for line in done.stderr.splitlines() if line.startswith("round")] == [f" {outcome}"] * 2
    assert done.exit_code == 1


def test_a_lost_plan_that_a_later_round_made_good_is_exit_code_0(machine, monkeypatch):
    machine.deaf = True
    monkeypatch.setattr("headworks.cli.commands.run.time.sleep", lambda _seconds: setattr(machine, "deaf", False))
    done = invoke("--rounds", "2", "--cooldown", "0")
    rounds = [line.split(":")[1] for line in done.stderr.splitlines() if line.startswith("round")]
    assert rounds == [" missed", " asserted"]
    assert done.exit_code == 0


@pytest.mark.parametrize("outcome", get_args(Outcome))
def test_each_outcome_is_good_bad_or_neither(outcome):
    alone = {"failed": 1, "held": 1, "vetoed": 1, "missed": 1, "rolled-back": 1}
    beside_a_good_one = {"failed": 1, "held": 1}
    assert bad_rounds({outcome: 1}) == alone.get(outcome, 0)
    assert bad_rounds({outcome: 1, "answered": 3}) == beside_a_good_one.get(outcome, 0)


class Curious(Engine):
    """An engine that asks, whenever it is observed, what others are told of the rounds before."""

    def __init__(self, machine, said=()):
        super().__init__(machine)
        self.said, self.told, self.page = said, [], ""

    @hookimpl
    def headworks_observe(self, target, window):
        with contextlib.suppress(EngineError):
            self.told.append(newest_round("memory"))
        for line in self.said:
            with urlopen(line.split()[3].rstrip(",")) as page:
                self.page = page.read().decode()
        return super().headworks_observe(target, window)


def curious(machine, monkeypatch, judge, said=()):
    engine = Curious(machine, said)
    host = PluginHost().with_plugin("memory", engine).with_plugin("judge", judge)
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls: host))
    return engine


def test_other_commands_are_told_of_the_newest_round_and_of_what_a_quiet_one_saw(machine, monkeypatch, runtime):
    engine = curious(machine, monkeypatch, Judge([0, 1]))
    assert invoke("--rounds", "2").exit_code == 0
    first = engine.told[-1]
    assert (first.outcome, first.plan.assignment["t/c/1"].node) == ("executed", "b")
    engine = curious(machine, monkeypatch, Judge([0, 1], replan=False))
    assert invoke("--rounds", "2").exit_code == 0
    assert (engine.told[-1].outcome, engine.told[-1].plan) == ("quiet", None)
    assert engine.told[-1].request.assignment["t/c/1"].node == "b"


def test_metrics_are_shown_while_rounds_go_on(machine, monkeypatch, runtime):
    pytest.importorskip("prometheus_client", reason="needs prometheus-client")
    said = []
    monkeypatch.setattr("headworks.cli.rounds.say", said.append)
    engine = curious(machine, monkeypatch, Judge([0, 1]), said)
    assert invoke("--rounds", "2", "--metrics", "0").exit_code == 0
    assert said[0].startswith("metrics are at http://127.0.0.1:")
    assert 'headworks_rounds_total{outcome="executed"} 1.0' in engine.page
    assert 'headworks_planning_seconds_count{scheduler="judge"} 1.0' in engine.page


def test_an_address_of_metrics_that_is_none_is_refused(machine):
    done = invoke("--rounds", "1", "--metrics", "here")
    assert (done.exit_code, machine.calls) == (2, [])
    assert "'here' is not a [HOST:]PORT" in done.stderr


def test_tasks_are_shown_in_metrics_alone(machine):
    done = invoke("--rounds", "1", "--metrics-tasks", "5")
    assert (done.exit_code, machine.calls) == (2, [])
    assert "give --metrics [HOST:]PORT as well" in done.stderr
