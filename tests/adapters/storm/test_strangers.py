"""Whoever calls the bridge without a proof takes no memory, no thread and no turn of Nimbus's from it."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Self

import psutil
import pytest

from headworks_storm.nimbus.bridge import BOUNDS, Bridge, Callers, Endpoint
from headworks_storm.peers.proof import make_nonce, prove
from patience import PATIENCE
from storm_callers import ask, exchange, read_line

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SERVER = """
import resource, sys
from pathlib import Path
from headworks_storm.nimbus.bridge import Bridge
resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))
with Bridge(str.upper, Path(sys.argv[1])) as bridge:
    print("ready", flush=True)
    sys.stdin.read()
"""
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs limits of a POSIX process")


class Service:
    """A bridge in a process of its own, which may have so many file descriptors."""

    def __init__(self, folder: Path, files: int) -> None:
        """Start it."""
        file = folder / "endpoint.json"
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER.format(files=files), str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"
        endpoint = Endpoint.read(file)
        assert endpoint is not None
        self.endpoint = endpoint
        self.seen = psutil.Process(self.process.pid)

    def call(self) -> socket.socket:
        """A connection that says nothing yet."""
        return socket.create_connection(("127.0.0.1", self.endpoint.port), timeout=PATIENCE)

    def megabytes(self) -> float:
        """Memory of the process."""
        return float(self.seen.memory_info().rss) / 2**20

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        _, self.said = self.process.communicate(timeout=PATIENCE)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path, 1024) as service:
        assert ask(service.endpoint, "first") == "FIRST"
        yield service


@pytest.mark.usefixtures("many_files")
def test_idle_strangers_cost_no_thread_and_nimbus_is_answered(service: Service) -> None:
    threads = service.seen.num_threads()
    with contextlib.ExitStack() as stack:
        for _ in range(1100):
            stack.enter_context(service.call())
            if len(stack._exit_callbacks) % 100 == 0:
                assert ask(service.endpoint, "meanwhile") == "MEANWHILE"
        assert service.seen.num_threads() <= threads + 2
        assert service.seen.num_fds() <= BOUNDS.strangers + 30
        assert ask(service.endpoint, "during") == "DURING"
    assert ask(service.endpoint, "after") == "AFTER"


def test_a_stranger_is_given_seconds(service: Service) -> None:
    begin = time.monotonic()
    with service.call() as silent, service.call() as slow:
        slow.sendall(b"headworks1 nimbus " + make_nonce().encode() + b"\n")
        read_line(slow)
        for caller in (silent, slow):
            assert hung_up(caller)
    assert BOUNDS.seconds / 2 < time.monotonic() - begin < 4 * BOUNDS.seconds


def test_nimbus_that_stands_still_for_seconds_is_no_stranger(service: Service) -> None:
    # as while its heap is collected, or on a machine that gives it no processor
    assert ask(service.endpoint, "late", pause=4.0) == "LATE"


def hung_up(caller: socket.socket) -> bool:
    try:
        return caller.recv(1) == b""
    except ConnectionResetError:
        return True


def flood(caller: socket.socket) -> None:
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        caller.sendall(b"x" * 300 * 2**20)


def test_a_line_that_never_ends_takes_no_memory(service: Service) -> None:
    before = service.megabytes()
    with service.call() as caller:
        flood(caller)
    with service.call() as caller:  # the same after half an exchange
        caller.sendall(b"headworks1 nimbus " + make_nonce().encode() + b"\n")
        read_line(caller)
        flood(caller)
    assert service.megabytes() < before + 20
    assert ask(service.endpoint, "after") == "AFTER"


def test_a_flood_of_callers_leaves_nimbus_its_turn(service: Service) -> None:
    flood = (
        f"import socket\nwhile True:\n    socket.create_connection(('127.0.0.1', {service.endpoint.port})).close()\n"
    )
    with subprocess.Popen([sys.executable, "-c", flood], stderr=subprocess.DEVNULL) as stranger:
        try:
            for number in range(50):
                assert ask(service.endpoint, f"n{number}") == f"N{number}"
        finally:
            stranger.kill()


@pytest.mark.parametrize(
    "hello",
    [
        b"A\n%(token)s\n",
        b"%(token)s\n",
        b"c\nt\nanswer\nsx\ne\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\n",
        b"headworks1 nimbus \n",
    ],
)
def test_what_is_no_exchange_is_refused(tmp_path: Path, hello: bytes) -> None:
    with Bridge(str.upper, tmp_path / "endpoint.json") as bridge:
        assert bridge.endpoint is not None
        with socket.create_connection(("127.0.0.1", bridge.endpoint.port), timeout=PATIENCE) as caller:
            caller.sendall(hello.replace(b"%(token)s", bridge.endpoint.token.encode()))
            assert hung_up(caller)
        assert bridge.callers == Callers(refused=1)


def test_a_wrong_proof_or_an_old_one_is_refused(tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(text: str) -> str:
        asked.append(text)
        return text

    with Bridge(answer, tmp_path / "endpoint.json") as bridge:
        assert bridge.endpoint is not None
        token, port = bridge.endpoint.token, bridge.endpoint.port
        nonce = make_nonce()
        hello = f"headworks1 nimbus {nonce}\n".encode()
        call = b"\nc\nt\nanswer\nsstranger\ne\n"
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as caller:
            caller.sendall(hello)
            other, proof = read_line(caller).split()
            old = prove(token, "caller", str(port), "nimbus", (nonce, other))
            caller.sendall(old.encode() + call.replace(b"stranger", b"nimbus"))
            assert read_line(caller) == "!ysnimbus"
        elsewhere = prove(token, "caller", "-", "nimbus", (nonce, other))
        for said in (old, proof, elsewhere, "0" * 64, ""):
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as caller:
                caller.sendall(hello)
                read_line(caller)
                caller.sendall(said.encode() + call)
                assert hung_up(caller)
        assert asked == ["nimbus"]
        assert bridge.callers == Callers(answered=1, refused=5)


def test_the_bridge_outlives_a_process_without_file_descriptors(tmp_path: Path) -> None:
    held = []
    with Bridge(str.upper, tmp_path / "endpoint.json") as bridge:
        endpoint, files = bridge.endpoint, psutil.Process().num_fds()
        assert endpoint is not None
        assert ask(endpoint, "before") == "BEFORE"
        while psutil.Process().num_fds() > files:  # until the bridge has closed its end, too
            time.sleep(0.01)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        caller = socket.socket()
        caller.settimeout(PATIENCE)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
            with contextlib.suppress(OSError):
                while True:
                    held.append(os.open(os.devnull, os.O_RDONLY))
            caller.connect(("127.0.0.1", endpoint.port))
            deadline = time.monotonic() + PATIENCE
            while bridge.callers.starved < 3:
                assert time.monotonic() < deadline
                time.sleep(0.01)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for each in held:
                os.close(each)
        with caller:  # who waited all the time is let in
            exchange(caller, endpoint.token, str(endpoint.port), "nimbus")
            caller.sendall(b"c\nt\nanswer\nsafter\ne\n")
            assert read_line(caller) == "!ysAFTER"
        assert ask(endpoint, "later") == "LATER"
