"""A TCP server for lines of text, in a thread of its own, for peers that prove that they know a token.

Strangers, who have proved nothing yet, have few places of their own, short lines and little time; the oldest of them
makes room for the next. They cost no thread. A system without file descriptors delays callers and ends nothing; the
number of peers follows from the descriptors that the process may have.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import socket
import threading
from typing import TYPE_CHECKING, Protocol, Self

import attrs

from headworks.errors import EngineError
from headworks_storm.peers.proof import HELLO, make_nonce, prove, same

if TYPE_CHECKING:
    from collections.abc import Callable

LOG = logging.getLogger("headworks.storm.peers")
STRANGER_LINE = 1024
"""Bytes that a line of a stranger may have."""
BATCH = 16
"""Callers that are let in before the others are read from. With more than strangers have places, honest ones that come
all at once push each other out before they could prove anything."""
BACKLOG = 1024
"""Callers that may wait to be let in: all workers of a cluster call at once when a collector starts again."""
SILENCE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""Seconds of silence after which the system asks whether a peer's machine is still there, seconds between questions,
and questions. With more, peers whose machine lost its power or its network hold places for longer."""
STARVED = 0.1
"""Seconds for which nobody is let in after the system had no descriptor. With more, Nimbus waits longer in its round;
with far less, the wait costs a core."""
RESERVE = 256
"""Descriptors that no worker gets: strangers at both ports, Nimbus, files, what libraries open. With fewer, a cluster
that fills the rest leaves Nimbus without an answer."""
UNLIMITED = 2**20
"""What counts where the system names no limit."""


@attrs.frozen(kw_only=True)
class Bounds:
    """Limits on what the peers of a server may take.

    Attributes:
        line: Bytes of a line.
        peers: Peers at a time that have proved who they are.
        strangers: Callers at a time that have not.
        seconds: Time that a stranger has to prove it.
    """

    line: int
    peers: int
    strangers: int
    seconds: float


class Conversation(Protocol):
    """Words of a peer that has proved who it is."""

    def line(self, line: bytes) -> None:
        """Take a line, without its end; called in the server's thread."""

    def overlong(self) -> None:
        """Hear that a line was too long; it is left out."""


class PeerServer:
    """Server that listens in a `with` block."""

    def __init__(
        self,
        address: tuple[str, int],
        converse: Callable[[Peer], Conversation],
        *,
        name: str,
        bounds: Bounds,
        token: Callable[[str], str],
        by_port: bool,
        count: Callable[[str], None],
    ) -> None:
        """Take who is served, and how much of it.

        Args:
            address: Host and port to listen on; port 0 is one that the system gives.
            converse: Begins the conversation with a peer that has proved who it is.
            name: Of the server's thread and in its log.
            bounds: What peers may take.
            token: The token of a caller by the name it gives.
            by_port: Proofs cover the port: callers reach it by no other one.
            count: Hears of a caller that is `refused` as a stranger, or `crowded` out as one peer too many, and of
                each time that the process was `starved` of descriptors.
        """
        self.address = address
        self.bounds = bounds
        self.converse = converse
        self.token = token
        self.count = count
        self._by_port = by_port
        self._name = name
        self._strangers: dict[Peer, None] = {}
        self._peers: set[Peer] = set()
        self._arriving: set[asyncio.Task[object]] = set()
        self._starving = False
        self._ended = False

    @property
    def place(self) -> str:
        """The address on which it listens, as proofs say it."""
        return str(self.address[1]) if self._by_port else "-"

    def __enter__(self) -> Self:
        """Listen.

        Raises:
            EngineError: The address is taken or not one of this machine.
        """
        host, port = self.address
        try:
            family, *_, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            self._socket = socket.create_server(where[:2], family=family, backlog=BACKLOG)
        except OSError as error:
            raise EngineError(f"{host}:{port} cannot be listened on: {error.strerror}") from None
        self._socket.setblocking(False)
        self.address = self._socket.getsockname()[:2]
        self._loop = asyncio.new_event_loop()
        self._loop.add_reader(self._socket, self._accept)
        self._thread = threading.Thread(target=self._loop.run_forever, name=self._name, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Hang up on everybody, and stop."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def soon(self, call: Callable[[], None]) -> None:
        """Call something in the server's thread, soon; nothing if the server has ended."""
        if not self._ended:
            self._loop.call_soon_threadsafe(call)

    def every(self, seconds: float, call: Callable[[], None]) -> None:
        """Call something in the server's thread, now and again and again.

        Args:
            seconds: Between the end of a call and the next.
            call: Without arguments; it must not wait.
        """

        def again() -> None:
            call()
            self._loop.call_later(seconds, again)

        self.soon(again)

    async def _close(self) -> None:
        self._ended = True
        self._loop.remove_reader(self._socket)
        self._socket.close()
        await asyncio.gather(*self._arriving, return_exceptions=True)
        for peer in (*self._strangers, *self._peers):
            peer.hang_up()
        await asyncio.sleep(0)  # connections close in the next turn of the loop

    def _accept(self) -> None:
        for _ in range(BATCH):
            try:
                caller, _ = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._starve(error)
                return
            self._starving = False
            _keep_alive(caller)
            arrival = self._loop.create_task(self._loop.connect_accepted_socket(lambda: Peer(self), caller))
            self._arriving.add(arrival)
            arrival.add_done_callback(self._arrived)

    def _arrived(self, arrival: asyncio.Task[object]) -> None:
        self._arriving.discard(arrival)
        if not arrival.cancelled() and arrival.exception() is not None:
            LOG.debug("a caller was gone before it was let in: %s", arrival.exception())

    def _starve(self, error: OSError) -> None:
        """Let nobody in for a moment: the listening socket stays, and a stranger gives its descriptor back."""
        self.count("starved")
        if not self._starving:
            LOG.warning("%s lets nobody in for the moment: %s; raise `ulimit -n`", self._name, error.strerror)
        self._starving = True
        self._shed()
        self._loop.remove_reader(self._socket)
        self._loop.call_later(STARVED, self._resume)

    def _resume(self) -> None:
        if not self._ended:
            self._loop.add_reader(self._socket, self._accept)

    def _shed(self) -> None:
        """Hang up on the oldest stranger: who means it has proved it long before."""
        if self._strangers:
            next(iter(self._strangers)).refuse()

    def arrive(self, stranger: Peer) -> None:
        """Count a stranger in; the oldest one makes room if there are too many."""
        self._strangers[stranger] = None
        if len(self._strangers) > self.bounds.strangers:
            self._shed()

    def admit(self, peer: Peer) -> bool:
        """Count a stranger as a peer; False if there are too many."""
        self._strangers.pop(peer, None)
        if len(self._peers) >= self.bounds.peers:
            self.count("crowded")
            return False
        self._peers.add(peer)
        return True

    def leave(self, peer: Peer) -> None:
        """Count a connection out."""
        self._strangers.pop(peer, None)
        self._peers.discard(peer)


def _keep_alive(caller: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it was gone before it was let in
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in SILENCE.items():
            if hasattr(socket, option):  # Linux has all three, macOS calls the first one by another name
                caller.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


class Peer(asyncio.Protocol):
    """A connection: the proofs, then lines. It holds no more than one line."""

    def __init__(self, server: PeerServer) -> None:
        """Begin as a stranger of a server."""
        self._server = server
        self._conversation: Conversation | None = None
        self._awaited: str | None = None
        self._skipping = False
        self._rest = bytearray()
        self.name = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the caller in, and give it its time."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._deadline = asyncio.get_running_loop().call_later(self._server.bounds.seconds, self.refuse)
        self._server.arrive(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - of the interface
        """Count the caller out."""
        self._deadline.cancel()
        self._server.leave(self)

    @property
    def gone(self) -> bool:
        """True if nobody hears a reply any more."""
        return self._transport.is_closing()

    def reply(self, text: bytes) -> None:
        """Send bytes; called in the server's thread."""
        if not self.gone:
            self._transport.write(text)

    def hang_up(self) -> None:
        """End the connection at once."""
        self._transport.abort()

    def refuse(self) -> None:
        """Hang up on a stranger, and count it."""
        if not self.gone:
            self._server.leave(self)
            self._server.count("refused")
            self.hang_up()

    def data_received(self, data: bytes) -> None:
        """Cut what came into lines."""
        # TCP knows no lines: a chunk ends the line of an earlier one, holds any number of whole ones, begins another.
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._rest += line
            whole, self._rest = bytes(self._rest), bytearray()
            skip, self._skipping = self._skipping, False  # the end of a line that was too long
            if not skip and not self.gone:
                self._line(whole)
        self._rest += rest
        if len(self._rest) > self._limit:
            self._overlong()

    @property
    def _limit(self) -> int:
        return STRANGER_LINE if self._conversation is None else self._server.bounds.line

    def _line(self, line: bytes) -> None:
        if len(line) > self._limit:
            self._overlong()
            self._skipping = False
        elif self._conversation is not None:
            self._conversation.line(line)
        elif self._awaited is None:
            self._challenge(line)
        elif same(line, self._awaited):
            self._begin()
        else:
            self.refuse()

    def _challenge(self, hello: bytes) -> None:
        """Answer the first line of a stranger with the server's own proof, and wait for the stranger's."""
        said = HELLO.fullmatch(hello)
        if said is None:
            self.refuse()
            return
        self.name, nonce = (each.decode("ascii") for each in said.groups())
        nonces, token, place = (nonce, make_nonce()), self._server.token(self.name), self._server.place
        self._awaited = prove(token, "caller", place, self.name, nonces)
        proof = prove(token, "listener", place, self.name, nonces)
        self.reply(f"{nonces[1]} {proof}\n".encode())

    def _begin(self) -> None:
        self._deadline.cancel()
        if self._server.admit(self):
            self._conversation = self._server.converse(self)
        else:
            self.hang_up()

    def _overlong(self) -> None:
        """Drop what came of a line that is too long, and skip the rest of it; a stranger is refused."""
        self._rest.clear()
        if self._conversation is None:
            self.refuse()
        elif not self._skipping:
            self._skipping = True
            self._conversation.overlong()


def raise_limit() -> int:
    """Raise the number of descriptors that this process may have to the hard limit; returns the number it has then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):  # macOS names a hard limit that it does not grant
            return soft
    return UNLIMITED if hard == resource.RLIM_INFINITY else hard


def places(limit: int, wanted: int) -> int:
    """Peers that a process with so many descriptors can serve at a time, at least one.

    Args:
        limit: Descriptors that it may have.
        wanted: Most peers that are asked for.
    """
    return max(1, min(wanted, limit - RESERVE))
