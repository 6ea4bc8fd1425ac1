"""Every option of `headworks serve storm` arrives where it is to act, from the command line and from a file."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import attrs
import click
import pytest
from click.testing import CliRunner

from headworks.cli import rounds
from headworks.cli.main import headworks
from headworks.cli.settings import Pace, keys
from headworks.control import loop
from headworks.control.moves_per import MovesPer
from headworks_storm import service
from headworks_storm.cli import serve
from headworks_storm.nimbus.bridge import Endpoint

pytest.importorskip("py4j")


@attrs.define
class Seen:
    """What the service and the loop received."""

    folder: object
    said: object = None
    scheduler: object = None
    options: object = None
    settings: object = None
    control: object = None
    host: object = None
    pace: object = None
    port: int = 0
    collected: object = None
    journal: object = None
    as_json: object = None
    shown: int = 0


@pytest.fixture
def seen(monkeypatch, tmp_path):
    """The service is a real one; the loop is made, and goes no round."""
    made = Seen(folder=tmp_path)
    real = service.serve

    @contextlib.contextmanager
    def served(host, scheduler, options, settings, **more):
        made.scheduler, made.options, made.settings = scheduler, options, settings
        with real(host, scheduler, options, settings, **more) as running:
            made.port = Endpoint.read(settings.endpoint).port
            made.collected = running.collector is not None and running.collector.address
            yield running

    class Loop(loop.Loop):
        def __init__(self, host, control, target, journal=None, **more):
            made.control, made.journal, made.host = control, journal, host
            super().__init__(host, control, target, journal, **more)

    def run_rounds(_loop, pace, *, show, hear):
        made.pace = pace
        return 0

    class Screen(serve.Screen):
        def __init__(self, background, *, as_json):
            made.as_json = as_json
            super().__init__(background, as_json=as_json)

    def watched(*words, tasks, **more):
        made.shown = tasks
        return rounds.watched(*words, tasks=tasks, **more)

    monkeypatch.setattr(service, "serve", served)
    monkeypatch.setattr(serve, "watched", watched)
    monkeypatch.setattr(loop, "Loop", Loop)
    monkeypatch.setattr(serve, "run_rounds", run_rounds)
    monkeypatch.setattr(serve, "Screen", Screen)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "learned").mkdir()
    (tmp_path / "storm" / "lib").mkdir(parents=True)
    (tmp_path / "storm" / "lib" / "storm-client-2.8.3.jar").touch()
    return made


def free_port():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


PORTS = [free_port() for _ in range(3)]
COLLECTOR = f"127.0.0.1:{PORTS[1]}"
CASES = {
    "scheduler": ("even", lambda seen: (seen.scheduler, seen.control.scheduler), ("even", "even")),
    "endpoint": ("other.json", lambda seen: seen.settings.endpoint.name, "other.json"),
    "port": (PORTS[0], lambda seen: seen.port, PORTS[0]),
    "collector": (COLLECTOR, lambda seen: seen.collected, ("127.0.0.1", PORTS[1])),
    "token": ("secret", lambda seen: seen.settings.token_file.name, "secret"),
    "samples": ("kept", lambda seen: seen.settings.samples.name, "kept"),
    "samples-mb": (512, lambda seen: seen.settings.samples_mb, 512),
    "top-up": (True, lambda seen: seen.settings.top_up, True),
    "patience": (240.0, lambda seen: seen.settings.patience, 240.0),
    "journal": ("rounds", lambda seen: seen.journal.journal.path.name, "rounds"),
    "metrics": (
        f"127.0.0.1:{PORTS[2]}",
        lambda seen: f"metrics are at http://127.0.0.1:{PORTS[2]}/metrics" in seen.said.stderr,
        True,
    ),
    "metrics-tasks": (3, lambda seen: seen.shown, 3),
    "json": (True, lambda seen: seen.as_json, True),
    "log-json": (True, lambda seen: {each[0] for each in seen.said.stderr.splitlines()}, {"{"}),
    "deadline": (7.5, lambda seen: seen.control.limits.deadline, 7.5),
    "fill": (0.5, lambda seen: (seen.control.limits.fill, seen.settings.fill), (0.5, 0.5)),
    "max-moves": (1, lambda seen: seen.control.limits.max_moves, 1),
    "window": (2.5, lambda seen: seen.control.window, 2.5),
    "shadow": (True, lambda seen: (seen.control.shadow, "headworks.shadow: true" in seen.said.stderr), (True, True)),
    "cooldown": (45.0, lambda seen: seen.control.guards.cooldown, 45.0),
    "give-up": (5, lambda seen: seen.control.guards.give_up, 5),
    "min-gain": (0.25, lambda seen: seen.control.guards.gain, 0.25),
    "goal": ("latency", lambda seen: seen.control.guards.goal, "latency"),
    "worse": (0.3, lambda seen: seen.control.guards.worse, 0.3),
    "settle": (4, lambda seen: seen.control.guards.settle, 4),
    "reassert": (0, lambda seen: seen.control.guards.reassert, 0),
    "knowledge": (
        "learned",
        lambda seen: (seen.settings.knowledge, seen.control.knowledge),
        (Path("learned"), Path("learned")),
    ),
    "priorities": (
        "manager:kept.sqlite",
        lambda seen: (seen.settings.priorities, seen.control.priorities),
        ("manager:kept.sqlite", "manager:kept.sqlite"),
    ),
    "predict": (False, lambda seen: seen.control.predict, False),
    "moves-per": ("topology=2,day=9", lambda seen: seen.control.moves_per, MovesPer(topology=2, day=9)),
    "at-once": (7, lambda seen: seen.settings.at_once, 7),
    "home": ("storm", lambda seen: seen.settings.nimbus is not None, True),
    "drain": (4.5, lambda seen: seen.control.drain, 4.5),
    "undrained": ("force", lambda seen: seen.control.undrained, "force"),
    "isolation": ("thread", lambda seen: seen.host.processes is None, True),
    "interval": (12.5, lambda seen: seen.pace, Pace(interval=12.5, replan=True)),
    "rounds": (3, lambda seen: seen.pace, Pace(rounds=3, replan=True)),
    "replan": (True, lambda seen: seen.pace, Pace(replan=True)),
    "options": (
        {"order": "bfs"},
        lambda seen: (seen.options, seen.control.options),
        ({"order": "bfs"}, {"order": "bfs"}),
    ),
}
"""Of each option its value in a file, what is to be seen of it, and how it looks."""
# A scheduler in a thread is ready at once.
BASE = {"endpoint": "endpoint.json", "scheduler": "resource-aware", "replan": True, "isolation": "thread"}
MORE = {
    "samples": {"collector": COLLECTOR},
    "token": {"collector": COLLECTOR},
    "replan": {"scheduler": "dstorm"},
    "metrics-tasks": {"metrics": f"127.0.0.1:{PORTS[2]}"},
    "drain": {"collector": COLLECTOR, "home": "storm", "priorities": "manager:kept.sqlite"},
}


def toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


def invoke(seen, table, *words):
    lines = ["[serve.storm]", *(f"{name} = {toml(value)}" for name, value in table.items())]
    (seen.folder / "headworks.toml").write_text("\n".join(lines))
    seen.said = CliRunner().invoke(headworks, ["serve", "storm", "--config", "headworks.toml", *words])
    assert seen.said.exit_code == 0, seen.said.output


def base(name):
    return {key: value for key, value in {**BASE, **MORE.get(name, {})}.items() if key != name}


def test_no_option_is_left_out():
    context = click.Context(headworks)
    assert set(CASES) | {"kafka-conf"} == set(keys(serve.storm, context))  # that one needs a topic


@pytest.mark.parametrize("name", CASES)
def test_an_option_arrives_from_the_command_line(seen, name):
    value, look, expected = CASES[name]
    given = {True: (f"--{name}",), False: (f"--no-{name}",)}
    words = given[value] if isinstance(value, bool) else (f"--{name}", str(value))
    invoke(seen, base(name), *(("-o", "order=bfs") if name == "options" else words))
    assert look(seen) == expected


@pytest.mark.parametrize("name", CASES)
def test_an_option_arrives_from_the_file(seen, name):
    value, look, expected = CASES[name]
    invoke(seen, {**base(name), name: value})
    assert look(seen) == expected


@pytest.mark.parametrize("name", sorted(set(CASES) - {"endpoint"}))
def test_an_option_that_is_not_given_is_not_there(seen, name):
    _, look, expected = CASES[name]
    invoke(seen, base(name))
    found = None
    with contextlib.suppress(AttributeError):
        found = look(seen)
    assert found != expected


def test_with_priorities_running_executors_move_for_a_scheduler_without_an_analysis_too(seen):
    """Without them the command would wait for a signal here, and go no round."""
    invoke(seen, {"endpoint": "endpoint.json", "scheduler": "dps", "priorities": "manager:kept.sqlite"})
    assert (seen.pace, seen.control.scheduler) == (Pace(), "dps")
