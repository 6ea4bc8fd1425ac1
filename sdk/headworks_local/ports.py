"""Ports for the daemons and workers of a local cluster: given by the system, and kept until they are used."""

from __future__ import annotations

import os
import socket
from typing import Self

import attrs


@attrs.define(eq=False)
class Ports:
    """TCP ports that were free, all different, each held by a socket that is bound and does not listen.

    A held port is never given to another process or to an outgoing connection, yet a server that sets SO_REUSEADDR, as
    every Java server does, can listen on it. Processes started meanwhile inherit the sockets, so that the ports of a
    worker stay its own while it restarts, even after this process has ended.
    """

    _held: list[socket.socket] = attrs.field(init=False, factory=list)

    def take(self, count: int = 1) -> tuple[int, ...]:
        """Hold `count` more ports."""
        return tuple(self._hold() for _ in range(count))

    def release(self) -> None:
        """Let go of all ports."""
        while self._held:
            self._held.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.release()

    def _hold(self) -> int:
        held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._held.append(held)
        held.bind(("", 0))
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # only now: the port had to be free of all others
        os.set_inheritable(held.fileno(), True)
        return int(held.getsockname()[1])
