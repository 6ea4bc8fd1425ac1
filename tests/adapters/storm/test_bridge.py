"""The Python end of the bridge, without Nimbus."""

from __future__ import annotations

import contextlib
import socket
import threading

import attrs
import pytest

import headgate_storm.nimbus.bridge as bridge_module
from headgate_storm.nimbus.bridge import Bridge, Endpoint
from patience import PATIENCE
from storm_callers import ask

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
