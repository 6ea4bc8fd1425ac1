"""Callers of the service's two ports, for tests: the caller's half of the proofs, and Nimbus's calls."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

from headworks_storm.peers.proof import make_nonce, prove
from patience import PATIENCE

if TYPE_CHECKING:
    from headworks_storm.nimbus.bridge import Endpoint


class NoProofError(Exception):
    """The listener does not know the token."""


def exchange(caller: socket.socket, token: str, place: str, name: str, pause: float = 0.0) -> None:
    """Ask the listener for its proof, look at it, and prove this side after a pause."""
    nonce = make_nonce()
    caller.sendall(f"headworks1 {name} {nonce}\n".encode())
    said = read_line(caller)
    other, proof = said.split()
    nonces = (nonce, other)
    if proof != prove(token, "listener", place, name, nonces):
        raise NoProofError
    time.sleep(pause)
    caller.sendall(prove(token, "caller", place, name, nonces).encode() + b"\n")


def read_line(caller: socket.socket) -> str:
    """The next line; EOFError if the listener hangs up."""
    line = b""
    while not line.endswith(b"\n"):
        some = caller.recv(65536)
        if not some:
            raise EOFError
        line += some
    return line[:-1].decode()


def ask(endpoint: Endpoint, text: str, seconds: float = PATIENCE, pause: float = 0.0) -> str:
    """Ask a round as Nimbus does, each on a connection of its own; in the middle of the proofs it stands still."""
    with socket.create_connection(("127.0.0.1", endpoint.port), timeout=seconds) as caller:
        exchange(caller, endpoint.token, str(endpoint.port), "nimbus", pause)
        escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
        caller.sendall(f"c\nt\nanswer\ns{escaped}\ne\n".encode())
        reply = read_line(caller)
    assert reply.startswith("!ys"), reply
    return reply[3:].replace("\\\\", "\\")
