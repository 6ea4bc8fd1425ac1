"""Commands that a running `headworks serve storm` carries out by the JVM that it has."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from headworks.errors import EngineError
from headworks_storm.cli.ask import NAMED, ask
from headworks_storm.client.connection import NimbusConnection
from headworks_storm.commands.line import answers
from headworks_storm.install.installation import Installation
from headworks_storm.nimbus.bridge import COMMANDS, Bridge, Endpoint
from patience import PATIENCE
from storm_callers import ask as ask_round

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytest.importorskip("py4j")


class OwnJvmError(Exception):
    """A command starts a JVM of its own."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation whose settings name an endpoint file, and in which no JVM starts."""

    def start(_where: Installation) -> None:
        raise OwnJvmError

    monkeypatch.setattr(Installation, "gateway", start)
    folder = tmp_path / "storm"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "storm-client-2.8.3.jar").touch()
    (folder / "conf").mkdir()
    (folder / "conf" / "storm.yaml").write_text(f'nimbus.seeds: ["n"]\nheadworks.endpoint: "{endpoint(folder)}"\n')
    return folder


def endpoint(home: Path) -> Path:
    return home.parent / "endpoint.json"


def bridge(home: Path, command: Callable[[str], str]) -> Bridge:
    return Bridge(str.upper, endpoint(home), command=command)


def test_a_command_is_carried_out_by_the_process_that_answers_nimbus(home: Path) -> None:
    asked = []

    def answer(text: str) -> str:
        asked.append(json.loads(text))
        return json.dumps({"done": {"said": 'two\nlines \\ and "quotes"'}})

    with bridge(home, answer):
        assert ask(home, "topology", name="words") == {"said": 'two\nlines \\ and "quotes"'}
    assert asked == [{"command": "topology", "home": str(home.resolve()), "words": {"name": "words"}}]


@pytest.mark.parametrize(("wrong_use", "code"), [(True, 2), (False, 4)])
def test_a_refusal_is_the_command_s_own(home: Path, *, wrong_use: bool, code: int) -> None:
    refusal = json.dumps({"error": "no topology 'words' runs on this cluster", "wrong_use": wrong_use})
    with bridge(home, lambda _: refusal), pytest.raises(EngineError, match="no topology 'words' runs") as refused:
        ask(home, "topology", name="words")
    assert refused.value.exit_code == code


def test_a_process_without_a_home_leaves_it_to_the_command(home: Path) -> None:
    with bridge(home, answers(None, None)), pytest.raises(OwnJvmError):
        ask(home, "cluster")


def test_without_a_process_the_command_has_a_jvm_of_its_own(home: Path) -> None:
    with pytest.raises(OwnJvmError):
        ask(home, "cluster")
    with bridge(home, lambda _: ""):
        left = endpoint(home).read_text()
    endpoint(home).write_text(left)  # as a process leaves it that was killed
    with pytest.raises(OwnJvmError):
        ask(home, "cluster")


def test_a_file_of_another_user_or_for_others_is_not_followed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bridge(home, lambda _: json.dumps({"done": 1})):
        assert ask(home, "cluster") == 1
        endpoint(home).chmod(0o640)
        with pytest.raises(OwnJvmError):
            ask(home, "cluster")
        endpoint(home).chmod(0o600)
        monkeypatch.setattr(os, "geteuid", lambda: endpoint(home).stat().st_uid + 1)
        with pytest.raises(OwnJvmError):
            ask(home, "cluster")


@contextlib.contextmanager
def stranger(reply: bytes) -> Iterator[tuple[int, bytearray]]:
    """A listener that says something and hangs up; what it was told."""
    told = bytearray()

    def listen() -> None:
        caller, _ = server.accept()
        with caller:
            told.extend(caller.recv(4096))
            caller.sendall(reply)
            caller.shutdown(socket.SHUT_WR)
            while some := caller.recv(4096):
                told.extend(some)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield server.getsockname()[1], told
        thread.join(PATIENCE)


@pytest.mark.parametrize("reply", [b"", b"x\n", b"0" * 32 + b" " + b"0" * 64 + b"\n", b"x" * 5000])
def test_a_listener_that_does_not_know_the_token_is_told_nothing(home: Path, reply: bytes) -> None:
    with stranger(reply) as (port, told):
        Endpoint(port=port, token="secret of the process").write(endpoint(home))
        with pytest.raises(OwnJvmError):
            ask(home, "kill", name="words", wait=None)
    assert told.startswith(b"headworks1 command ")
    assert told.count(b"\n") == 1


def test_a_process_that_ends_before_it_answers_is_told(home: Path) -> None:
    holds = threading.Event()
    begun = threading.Event()

    def answer(_text: str) -> str:
        begun.set()
        holds.wait(PATIENCE)
        return ""

    running = bridge(home, answer)
    running.__enter__()
    said: list[str] = []

    def command() -> None:
        try:
            ask(home, "kill", name="words", wait=None)
        except EngineError as error:
            said.append(str(error))

    thread = threading.Thread(target=command)
    thread.start()
    assert begun.wait(PATIENCE)
    running.__exit__()
    thread.join(PATIENCE)
    holds.set()
    assert said
    assert said[0].startswith("`headworks serve storm` ended before it answered")


def test_commands_that_hang_hold_up_no_round(home: Path) -> None:
    holds = threading.Event()
    begun = threading.Semaphore(0)

    def answer(_text: str) -> str:
        begun.release()
        holds.wait(PATIENCE)
        return json.dumps({"done": None})

    with bridge(home, answer) as running:
        threads = [threading.Thread(target=ask, args=(home, "cluster")) for _ in range(COMMANDS)]
        for each in threads:
            each.start()
            assert begun.acquire(timeout=PATIENCE)
        with pytest.raises(EngineError, match=f"{COMMANDS} earlier commands are still being carried out"):
            ask(home, "cluster")
        assert running.endpoint is not None
        assert ask_round(running.endpoint, "round") == "ROUND"
        holds.set()
        for each in threads:
            each.join(PATIENCE)
        assert ask(home, "cluster") is None


def test_what_is_meant_for_another_cluster_is_not_carried_out(home: Path, tmp_path: Path) -> None:
    def connect() -> Any:
        raise EngineError("there is no Java")

    line = json.dumps({"command": "cluster", "home": str(home.resolve()), "words": {}})
    (tmp_path / "another").mkdir()
    (tmp_path / "link").symlink_to(home)
    for served, said in {
        tmp_path / "another": f"its --home is {tmp_path / 'another'}",
        tmp_path / "link": "there is no Java",
    }.items():
        assert json.loads(answers(NimbusConnection(connect), served)(line)) == {"elsewhere": said}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('headworks.endpoint: "/a/b.json"', "/a/b.json"),
        ("headworks.endpoint: /a/b c.json", "/a/b c.json"),
        ("x: 1\n'headworks.endpoint' : '/a#b'  # here", "/a#b"),
        ('"headworks.endpoint":"/a"\r\n', "/a"),
        ("# headworks.endpoint: /a", None),
        ("  headworks.endpoint: /a", None),
        ("headworks.endpoint: endpoint.json", None),
        ("headworks.endpoint:\n  /a", "/a"),
    ],
)
def test_the_line_that_names_the_file_is_found_in_a_storm_yaml(text: str, path: str | None) -> None:
    found = NAMED.search(text)
    assert (found and found[2]) == path
