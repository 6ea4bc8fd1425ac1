"""The Python end of the bridge, without Nimbus."""

from __future__ import annotations

import socket

import pytest

from headgate_storm.nimbus.bridge import Bridge, Endpoint

pytest.importorskip("py4j")

TIMES = 100
"""Before, one connection in four to thirteen was refused, depending on how busy the machine was."""


def test_who_finds_the_endpoint_file_is_let_in(tmp_path):
    for number in range(TIMES):
        file = tmp_path / f"{number}.json"
        with Bridge(str.upper, file), socket.create_connection(("127.0.0.1", Endpoint.read(file).port), timeout=10):
            pass
        assert not file.exists()
