"""Every option of `run`, `plan` and `compare` arrives where it is to act, from the command line and from a file."""

from __future__ import annotations

import contextlib
import json

import attrs
import click
import pytest
from click.testing import CliRunner

from headworks.cli import rounds
from headworks.cli.commands import run
from headworks.cli.main import headworks
from headworks.cli.settings import keys
from headworks.control import loop
from headworks.control.autoscale import Fleet
from headworks.control.journal import read_journal
from headworks.control.moves_per import MovesPer
from headworks.documents import read, write
from headworks.errors import DocumentError
from headworks.hooks import Description, Verdict, hookimpl
from headworks.model import Metrics, Observation, Plan, Profile, TaskSample
from headworks.model.knowledge import Knowledge, ProfileFit
from headworks.plugins.host import PluginHost
from headworks.problem import Problem
from memory_engine import ElasticEngine, Machine
from small_requests import component, node, request, topology

RUNNING = request([node("a"), node("b")], [topology("t", component("c", 2))], {"t/c/0": "a", "t/c/1": "a"})


@attrs.frozen(kw_only=True)
class Options:
    spread: bool = False
    weight: float = 1.0


class Judge:
    """A scheduler that remembers what it is asked."""

    def __init__(self, *, replan=True):
        self.replan, self.asked = replan, []

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Remember.", options=Options)

    @hookimpl
    def headworks_analyse(self, observation):
        return Verdict(replan=self.replan)

    @hookimpl
    def headworks_schedule(self, request, options):
        self.asked.append((request, options))
        return Problem.of(request).plan([0, 1])


class Clocked(Machine):
    """A machine in whose time the pauses between rounds pass."""

    def wait(self, seconds):
        self.pauses.append(seconds)


class Sources:
    """Sources of topologies that nobody pauses."""

    cluster = "one"

    def backlog(self, topologies):
        return {}

    def pause(self, topology):
        pass

    def resume(self, topology):
        pass


class Windowed(ElasticEngine):
    """An engine that remembers how it was opened, and how long it was to measure."""

    @hookimpl
    def headworks_open(self, application, address):
        self.opened = (tuple(application), address)
        return contextlib.nullcontext(self.machine)

    @hookimpl
    def headworks_observe(self, target, window):
        self.windows.append(window)
        return target.seen

    @hookimpl
    def headworks_intake(self, target):
        return Sources()


class Launching(Windowed):
    """An engine that runs the application by itself, and remembers with which options."""

    launched = None

    @hookimpl
    def headworks_run(self, application, address, launch, rounds):
        self.launched = launch
        return 0


class Important:
    """A priority manager: all topologies have the priority that is its address; it remembers how to pause them."""

    def __init__(self):
        self.drains = []

    @hookimpl
    def headworks_describe(self):
        return Description(summary="Important.")

    @hookimpl
    def headworks_prioritise(self, observation, address):
        topologies = [attrs.evolve(each, priority=int(address)) for each in observation.topologies]
        return attrs.evolve(observation, topologies=tuple(topologies))

    @hookimpl
    def headworks_reschedule(self, change, drain):
        self.drains.append(drain)
        return change.execute()

    @hookimpl
    def headworks_recover(self):
        return ()


@attrs.define(slots=False)
class Seen:
    """What everything received; `said` is what the command printed."""

    engine: Windowed
    other: Windowed
    judge: Judge
    calm: Judge
    important: Important
    launcher: Launching
    folder: object
    said: object = None
    control: object = None
    host: object = None
    shown: int = 0

    @property
    def rounds(self):
        return len(self.engine.windows) - self.engine.machine.calls.count("execute")

    @property
    def asked(self):
        return self.judge.asked[0]


def engine(kind=Windowed):
    seen = Observation(
        cluster=RUNNING.cluster,
        topologies=RUNNING.topologies,
        assignment=RUNNING.assignment,
        metrics=Metrics(window=1.0, tasks=(TaskSample(task="t/c/0", cpu=5.0),)),
    )
    made = kind(Clocked(seen))
    made.machine.pauses, made.windows, made.opened = [], [], None
    return made


@pytest.fixture
def seen(monkeypatch, tmp_path):
    plugins = {"judge": Judge(), "calm": Judge(replan=False), "important": Important()}
    made = Seen(engine=engine(), other=engine(), launcher=engine(Launching), folder=tmp_path, **plugins)
    host = PluginHost()
    for name in ("engine", "other", "launcher", *plugins):
        host = host.with_plugin(name, getattr(made, name))
    monkeypatch.setattr(PluginHost, "load", classmethod(lambda cls: host))

    class Loop(loop.Loop):
        def __init__(self, host, control, *more, **named):
            made.control, made.host = control, host
            super().__init__(host, control, *more, **named)

    def watched(*words, tasks, **more):
        made.shown = tasks
        return rounds.watched(*words, tasks=tasks, **more)

    monkeypatch.setattr(loop, "Loop", Loop)
    monkeypatch.setattr(run, "watched", watched)
    write(tmp_path / "request.json", RUNNING)
    fit = ProfileFit(profile=Profile(topology="t", component="c", machine_type="large", e=0.5), samples=9)
    write(tmp_path / "learned.json", Knowledge(profiles=(fit,)))
    return made


@attrs.frozen
class Case:
    """An option: words of the command line, the value in a file, another one that the command line overrules, and
    what is to be seen of it; `base` is what the command needs besides."""

    words: tuple[str, ...]
    value: object
    other: object
    look: object
    expected: object
    base: dict = attrs.field(factory=dict)


def option(name, value, other, look, *, expected=None, **base):
    """The usual case: the text of the command line is that of the value."""
    words = (f"--{name}",) if value is True else (f"--{name}", str(value))
    return Case(words, value, other, look, value if expected is None else expected, base)


def launch(name, value, other):
    """An option of an engine's own launcher; a list in a file, if it may be repeated."""
    text = value[0] if isinstance(value, list) else value
    words = (f"--{name}", text)
    return Case(words, value, other, lambda seen: seen.launcher.launched, words, {"engine": "launcher"})


def guard(name, value, other, field=None):
    return option(name, value, other, lambda seen: getattr(seen.control.guards, field or name))


def offered(seen):
    """The share of a node's CPU that a scheduler is shown."""
    whole, shown = (each.cluster.nodes[0].capacity.cpu for each in (RUNNING, seen.asked[0]))
    return shown / whole


RUN = {
    "engine": option("engine", "other", "engine", lambda seen: len(seen.other.windows) > 0, expected=True),
    "scheduler": option("scheduler", "calm", "judge", lambda seen: seen.control.scheduler),
    "options": Case(
        ("-o", "weight=2.5"), {"weight": 2.5}, {"weight": 3}, lambda seen: seen.asked[1], Options(weight=2.5)
    ),
    "master": option("master", "host:7077", "other:1", lambda seen: seen.engine.opened[1]),
    "conf": launch("conf", ["a=1"], ["b=2"]),
    "packages": launch("packages", "a:b:1", "c:d:2"),
    "properties-file": launch("properties-file", "settings", "other"),
    "samples": option(
        "samples", "kept", "lost", lambda seen: bool(list((seen.folder / "kept").rglob("*.parquet"))), expected=True
    ),
    "journal": option(
        "journal", "rounds", "lost", lambda seen: len(list(read_journal(seen.folder / "rounds"))), expected=2
    ),
    "metrics": option(
        "metrics",
        "127.0.0.1:0",
        "127.0.0.2:0",
        lambda seen: "metrics are at http://127.0.0.1:" in seen.said.stderr,
        expected=True,
    ),
    "metrics-tasks": option("metrics-tasks", 3, 5, lambda seen: seen.shown, metrics="127.0.0.1:0"),
    "json": option(
        "json",
        True,
        None,
        lambda seen: [json.loads(line)["number"] for line in seen.said.stdout.splitlines()],
        expected=[1, 2],
    ),
    "log-json": option(
        "log-json", True, None, lambda seen: {line[0] for line in seen.said.stderr.splitlines()}, expected={"{"}
    ),
    "deadline": option("deadline", 7.5, 9, lambda seen: seen.asked[0].limits.deadline),
    "max-moves": option("max-moves", 1, 2, lambda seen: seen.asked[0].limits.max_moves),
    "slowdown": option("slowdown", 1.5, 2.5, lambda seen: seen.asked[0].limits.slowdown),
    "fill": option("fill", 0.7, 0.6, offered),
    "window": option("window", 2.5, 3, lambda seen: seen.engine.windows[0]),
    "shadow": option("shadow", True, None, lambda seen: "execute" not in seen.engine.machine.calls),
    "cooldown": guard("cooldown", 45.0, 40),
    "give-up": guard("give-up", 5, 6, "give_up"),
    "min-gain": guard("min-gain", 0.25, 0.5, "gain"),
    "goal": guard("goal", "latency", "nodes"),
    "worse": guard("worse", 0.3, 0.4),
    "settle": guard("settle", 4, 5),
    "reassert": guard("reassert", 0, 1),
    "knowledge": option(
        "knowledge", "learned.json", "request.json", lambda seen: len(seen.asked[0].profiles), expected=1
    ),
    "priorities": option(
        "priorities",
        "important:7",
        "important:8",
        lambda seen: seen.asked[0].topologies[0].priority,
        expected=7,
    ),
    "drain": option("drain", 4.5, 9, lambda seen: seen.important.drains[0].seconds, priorities="important:7"),
    "undrained": option(
        "undrained",
        "force",
        "wait",
        lambda seen: seen.important.drains[0].undrained,
        priorities="important:7",
        drain=4.5,
    ),
    "isolation": option("isolation", "process", "thread", lambda seen: seen.host.processes is not None, expected=True),
    "elastic": option("elastic", "2:3", "1:9", lambda seen: seen.control.fleet, expected=Fleet(minimum=2, maximum=3)),
    "predict": Case(("--no-predict",), False, True, lambda seen: seen.control.predict, expected=False),
    "moves-per": option(
        "moves-per",
        "topology=2,day=9",
        "day=1",
        lambda seen: seen.control.moves_per,
        expected=MovesPer(topology=2, day=9),
    ),
    "interval": option("interval", 12.5, 3, lambda seen: seen.engine.machine.pauses, expected=[12.5]),
    "rounds": option("rounds", 3, 5, lambda seen: seen.rounds),
    "replan": option("replan", True, None, lambda seen: len(seen.calm.asked), expected=2, scheduler="calm"),
}
PLAN = {
    "scheduler": option("scheduler", "calm", "judge", lambda seen: len(seen.calm.asked), expected=1),
    "options": Case(
        ("-o", "spread=yes"), {"spread": True}, {"spread": False}, lambda seen: seen.asked[1], Options(spread=True)
    ),
    "deadline": option("deadline", 7.5, 9, lambda seen: seen.asked[0].limits.deadline),
    "max-moves": option("max-moves", 0, 9, lambda seen: seen.asked[0].limits.max_moves),
    "slowdown": option("slowdown", 1.5, 2.5, lambda seen: seen.asked[0].limits.slowdown),
    "fill": option("fill", 0.7, 0.6, offered),
    "seed": option("seed", 7, 8, lambda seen: seen.asked[0].seed),
    "output": option(
        "output", "p.json", "lost.json", lambda seen: read(seen.folder / "p.json", Plan).status, expected="ok"
    ),
    "json": option("json", True, None, lambda seen: json.loads(seen.said.stdout)["status"], expected="ok"),
}
COMPARE = {
    "schedulers": Case(
        ("-s", "calm"), ["calm"], ["judge"], lambda seen: (len(seen.judge.asked), len(seen.calm.asked)), (0, 1)
    ),
    "options": Case(
        ("-o", "judge.spread=yes"),
        {"judge": {"spread": True}},
        {"judge.spread": False},
        lambda seen: seen.asked[1],
        Options(spread=True),
    ),
    "deadline": option("deadline", 7.5, 9, lambda seen: seen.asked[0].limits.deadline),
    "fill": option("fill", 0.7, 0.6, offered),
    # each is asked again: with a limit of no move, for it makes one without
    "front": option("front", True, None, lambda seen: len(seen.judge.asked), expected=2),
    "html": option(
        "html", "page.html", "lost.html", lambda seen: (seen.folder / "page.html").stat().st_size > 1000, expected=True
    ),
    "csv": option(
        "csv", "a.csv", "b.csv", lambda seen: len((seen.folder / "a.csv").read_text().splitlines()), expected=3
    ),
    "parquet": option(
        "parquet", "a.parquet", "b.parquet", lambda seen: (seen.folder / "a.parquet").read_bytes()[:4], expected=b"PAR1"
    ),
    "figures": option(
        "figures", "a", "b", lambda seen: {each.suffix for each in (seen.folder / "a").iterdir()}, expected={".svg"}
    ),
    "json": option("json", True, None, lambda seen: len(json.loads(seen.said.stdout)["plans"]), expected=2),
}
COMMANDS = {
    "run": (RUN, {"engine": "engine", "scheduler": "judge", "rounds": 2, "interval": 0}, ["app.py", "--window", "x"]),
    "plan": (PLAN, {"scheduler": "judge"}, ["request.json"]),
    "compare": (COMPARE, {}, ["request.json"]),
}
"""For each command its cases, what it needs in any case, and its arguments."""
EACH = [(command, name) for command, (cases, _, _) in COMMANDS.items() for name in cases]


def toml(value):
    """A value in TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


def invoke(seen, command, table, words, monkeypatch):
    monkeypatch.chdir(seen.folder)
    lines = [f"{name} = {toml(value)}" for name, value in table.items()]
    (seen.folder / "headworks.toml").write_text("\n".join([f"[{command}]", *lines]))
    arguments = COMMANDS[command][2]
    seen.said = CliRunner().invoke(headworks, [command, "--config", "headworks.toml", *words, *arguments])
    assert seen.said.exit_code == 0, seen.said.output


@pytest.mark.parametrize("command", COMMANDS)
def test_no_option_is_left_out(command):
    context = click.Context(headworks)
    found = headworks.get_command(context, command)
    needs_a_topic = {"kafka-conf"} if command == "run" else set()
    assert set(COMMANDS[command][0]) | needs_a_topic == set(keys(found, context))
    arguments = [each.name for each in found.get_params(context) if isinstance(each, click.Argument)]
    assert arguments == {"run": ["application"], "plan": ["request"], "compare": ["requests"]}[command]


@pytest.mark.parametrize(("command", "name"), EACH)
def test_an_option_arrives_from_the_command_line_and_wins_over_the_file(seen, command, name, monkeypatch):
    cases, base, _ = COMMANDS[command]
    case = cases[name]
    table = base | case.base | ({} if case.other is None else {name: case.other})
    invoke(seen, command, table, case.words, monkeypatch)
    assert case.look(seen) == case.expected


@pytest.mark.parametrize(("command", "name"), EACH)
def test_an_option_arrives_from_the_file(seen, command, name, monkeypatch):
    cases, base, _ = COMMANDS[command]
    invoke(seen, command, base | cases[name].base | {name: cases[name].value}, [], monkeypatch)
    assert cases[name].look(seen) == cases[name].expected


@pytest.mark.parametrize(("command", "name"), EACH)
def test_an_option_that_is_not_given_is_not_there(seen, command, name, monkeypatch):
    """What is looked for is made by the option, and by nothing else."""
    cases, base, _ = COMMANDS[command]
    invoke(seen, command, base | cases[name].base, [], monkeypatch)
    found = None
    with contextlib.suppress(LookupError, OSError, ValueError, DocumentError):
        found = cases[name].look(seen)
    assert found != cases[name].expected


def test_arguments_arrive(seen, monkeypatch):
    invoke(seen, "run", COMMANDS["run"][1], [], monkeypatch)
    assert seen.engine.opened == (("app.py", "--window", "x"), None)
    invoke(seen, "plan", COMMANDS["plan"][1], [], monkeypatch)
    assert [asked.assignment for asked, _ in seen.judge.asked][-1] == RUNNING.assignment


@pytest.mark.parametrize("name", ["shadow", "replan"])
def test_a_truth_of_the_file_can_be_denied(seen, name, monkeypatch):
    table = COMMANDS["run"][1] | {"scheduler": "calm" if name == "replan" else "judge", name: True}
    invoke(seen, "run", table, [f"--no-{name}"], monkeypatch)
    assert RUN[name].look(seen) in (False, 0)


def test_options_of_a_scheduler_are_added_to_those_of_the_file(seen, monkeypatch):
    table = COMMANDS["plan"][1] | {"options": {"spread": True, "weight": 3}}
    invoke(seen, "plan", table, ["-o", "weight=2"], monkeypatch)
    assert seen.asked[1] == Options(spread=True, weight=2.0)
