"""An HTTP server in a thread of its own, for callers of whom some are strangers: bounded places, bounded time."""

from __future__ import annotations

import asyncio
import socket
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from headworks.errors import EngineError

if TYPE_CHECKING:
    from fastapi import FastAPI

REQUEST = 10.0
"""Seconds in which a caller sends a whole request."""
PLACES = 64
"""Callers at a time whose request is not whole. The oldest makes room for the next."""
HEAD = 16 * 1024
"""Bytes of a request before its body."""
GOODBYE = 2
"""Seconds that requests under way have at the end."""


class Caller(H11Protocol):
    """A connection whose requests have to come whole, and in time."""

    late: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, waiting: dict[Caller, None], **more: Any) -> None:
        """Take uvicorn's arguments.

        Args:
            args: Uvicorn's.
            waiting: Callers whose request is not whole, in the order in which they began to wait.
            more: Uvicorn's.
        """
        super().__init__(*args, **more)
        self._waiting = waiting

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; the one who waits longest makes room."""
        super().connection_made(transport)
        self._wait()
        if len(self._waiting) > PLACES:
            next(iter(self._waiting)).end()

    def handle_events(self) -> None:
        """Take what came; a request that is whole has a place of its own until it is answered."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.more_body and not self.cycle.response_complete:
            self._rest()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._rest()
        if not self.transport.is_closing():
            self._wait()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the caller."""
        self._rest()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._waiting[self] = None
        self.late = self.loop.call_later(REQUEST, self.end)

    def _rest(self) -> None:
        self._waiting.pop(self, None)
        if self.late is not None:
            self.late.cancel()

    def end(self) -> None:
        """Hang up, without a word."""
        self._rest()
        self.transport.abort()


class HttpServer:
    """Server that listens in a `with` block.

    Attributes:
        address: Host and port; the port that the system gave if it was 0.
    """

    def __init__(self, app: FastAPI, address: tuple[str, int]) -> None:
        """Take who is served.

        Args:
            app: Answers requests.
            address: Host and port to listen on.
        """
        self.address = address
        protocol: Any = partial(Caller, waiting={})  # one dict for all connections
        self._server = Server(
            Config(
                app,
                http=protocol,
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="error",  # what strangers send is no concern of the operator's
                access_log=False,
                server_header=False,
                proxy_headers=False,
                h11_max_incomplete_event_size=HEAD,
                timeout_graceful_shutdown=GOODBYE,
            )
        )
        self._thread = threading.Thread(target=self._run, name="headworks-http", daemon=True)

    @property
    def url(self) -> str:
        """The root of what it answers."""
        host, port = self.address
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def __enter__(self) -> Self:
        """Listen.

        Raises:
            EngineError: The address is taken or not one of this machine.
        """
        host, port = self.address
        try:
            family, *_, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            self._socket = socket.create_server(where[:2], family=family)
        except OSError as error:
            said = (error.strerror or str(error)).partition(" (while")[0]
            raise EngineError(f"{host}:{port} cannot be listened on: {said}") from None
        self.address = self._socket.getsockname()[:2]
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Answer what is under way, for a moment, and hang up."""
        self._server.should_exit = True
        self._thread.join(GOODBYE + 1)  # a database that hangs has a thread that hangs
        self._socket.close()

    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))
