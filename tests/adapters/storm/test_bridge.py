"""The Python end of the bridge, without Nimbus."""

from __future__ import annotations

import contextlib
import json
import socket
import threading

import attrs
import pytest

import headworks_storm.nimbus.bridge as bridge_module
from headworks.errors import HeadworksError
from headworks.model import Plan, Reason, Status
from headworks_storm.nimbus.answer import LONGEST
from headworks_storm.nimbus.bridge import PLANNING, Bridge, Endpoint
from headworks_storm.nimbus.rounds import Rounds
from patience import PATIENCE
from storm_callers import ask
from storm_rounds import round_text, supervisor, word_count

pytest.importorskip("py4j")

TIMES = 100
"""Before, one connection in four to thirteen was refused, depending on how busy the machine was."""


def test_who_finds_the_endpoint_file_is_let_in(tmp_path):
    for number in range(TIMES):
        file = tmp_path / f"{number}.json"
        with (
            Bridge(str.upper, file),
            socket.create_connection(("127.0.0.1", Endpoint.read(file).port), timeout=PATIENCE),
        ):
            pass
        assert not file.exists()


def test_an_endpoint_file_with_another_token_goes_too_and_that_of_another_process_stays(tmp_path):
    own, other = tmp_path / "own.json", tmp_path / "other.json"
    with Bridge(str.upper, own), Bridge(str.upper, other):
        Endpoint(port=Endpoint.read(own).port, token="rotated").write(own)
        Endpoint(port=Endpoint.read(other).port + 1, token="of another").write(other)
    assert (own.exists(), other.exists()) == (False, True)


@pytest.mark.parametrize("sent", [b"", b"A", b"A\nnot the token"], ids=["nothing", "half a line", "half a token"])
def test_a_caller_that_never_ends_its_line_does_not_hold_the_end(tmp_path, sent):
    file = tmp_path / "endpoint.json"
    bridge = Bridge(str.upper, file)
    bridge.__enter__()
    with socket.create_connection(("127.0.0.1", Endpoint.read(file).port), timeout=PATIENCE) as caller:
        caller.sendall(sent)
        end = threading.Thread(target=bridge.__exit__, daemon=True)
        end.start()
        end.join(timeout=PATIENCE)
        assert not end.is_alive()
        # A connection that is closed while bytes lie unread in it is reset by the system.
        with contextlib.suppress(ConnectionResetError):
            assert caller.recv(1) == b""
    assert not file.exists()


def test_a_round_that_is_larger_than_its_bound_is_not_planned_and_the_next_one_is(tmp_path, monkeypatch, caplog):
    """The bound is 64 MB; a smaller one here."""
    assert bridge_module.BOUNDS.line == 64 * 2**20
    monkeypatch.setattr(bridge_module, "BOUNDS", attrs.evolve(bridge_module.BOUNDS, line=2**20))
    asked = []
    with Bridge(lambda text: asked.append(len(text)) or "planned", tmp_path / "endpoint.json"):
        endpoint = Endpoint.read(tmp_path / "endpoint.json")
        with pytest.raises((EOFError, ConnectionError)):
            ask(endpoint, "x" * 2**21)
        assert ask(endpoint, "x" * 2**19) == "planned"
    assert asked == [2**19]
    assert "a round of more than 1 MB" in caplog.text


class MuteError(Exception):
    """Has no text."""

    def __str__(self):
        raise RuntimeError("no text")


HALF = "caf\udce9"
"""As a name of a file that is not UTF-8 is read: nothing that is sent can hold half a character."""


@pytest.mark.parametrize(
    "error", [SystemExit(3), MuteError(), ValueError(HALF), HeadworksError(HALF)], ids=lambda each: type(each).__name__
)
def test_whatever_a_scheduler_raises_the_next_round_is_planned(tmp_path, error):
    """Before, the thread of the round ended without a reply, and two of them ended all rounds for good."""
    fails = [error] * (PLANNING + 1)

    def schedule(request):
        if fails:
            raise fails.pop()
        return Plan(status=Status.HELD, reasons=(Reason(code="x", subject="x", message="enough"),))

    with Bridge(Rounds(schedule).answer, tmp_path / "endpoint.json") as bridge:
        text = round_text([supervisor("a")], [word_count()])
        for _ in range(PLANNING + 1):
            with contextlib.suppress(AssertionError):  # told as a failure
                assert json.loads(ask(bridge.endpoint, text))["mode"] == "hold"
        assert not fails
        assert json.loads(ask(bridge.endpoint, text))["reason"] == "enough"


def test_what_a_scheduler_says_comes_to_nimbus_as_a_line_of_bounded_length(tmp_path):
    long = f"one\ntwo {HALF} {'x' * 10**7}"

    def schedule(request):
        return Plan(status=Status.INFEASIBLE, reasons=(Reason(code="x", subject="wc", message=long),))

    with Bridge(Rounds(schedule).answer, tmp_path / "endpoint.json") as bridge:
        said = ask(bridge.endpoint, round_text([supervisor("a")], [word_count()]))
    status = json.loads(said)["status"]["wc"]
    assert len(said) < 2 * LONGEST
    assert "one two caf" in status
    assert status.isprintable()
    assert status.endswith("x...")
