"""The caller's half of the proofs, for commands on this machine; Nimbus and workers have it in Java."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headworks_storm.peers.proof import PROTOCOL, make_nonce, prove, same

if TYPE_CHECKING:
    import socket

STRANGER_LINE = 1024
"""Bytes that a listener may say before it has proved that it knows the token."""


def prove_to(caller: socket.socket, token: str, place: str, name: str, *, seconds: float) -> None:
    """Ask the listener for its proof, and prove this side then.

    Args:
        caller: Connected to it.
        token: That both know.
        place: Where it listens, as its proofs say that.
        name: Of the caller.
        seconds: Time that it has.

    Raises:
        OSError: It hangs up, is too slow, or does not know the token.
    """
    nonce = make_nonce()
    caller.sendall(f"{PROTOCOL} {name} {nonce}\n".encode())
    other, _, proof = read_line(caller, most=STRANGER_LINE, seconds=seconds).partition(" ")
    nonces = (nonce, other)
    if not same(proof, prove(token, "listener", place, name, nonces)):
        raise ConnectionError("the listener does not know the token")
    caller.sendall(f"{prove(token, 'caller', place, name, nonces)}\n".encode())


def read_line(caller: socket.socket, *, most: int, seconds: float) -> str:
    """The one line that a listener says, without its end.

    Args:
        most: Bytes that it may have.
        seconds: Time until its end.

    Raises:
        OSError: The listener hangs up, is too slow, or says more.
    """
    line, end = bytearray(), time.monotonic() + seconds
    while not line.endswith(b"\n"):
        caller.settimeout(max(end - time.monotonic(), 0.001))  # zero would not wait at all
        some = caller.recv(65536)
        line += some
        if not some or len(line) > most:
            raise ConnectionError("it said too much" if some else "it hung up")
    return line[:-1].decode(errors="replace")
