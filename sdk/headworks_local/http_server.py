"""An HTTP server in a thread of its own. Callers who are slow on purpose are a proxy's concern."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import TYPE_CHECKING, Self

from uvicorn import Config, Server

from headworks.errors import EngineError

if TYPE_CHECKING:
    from starlette.applications import Starlette

PLACES = 256
"""Connections at a time; more are answered 503."""
IDLE = 10
"""Seconds that a connection stays open between two requests."""
HEAD = 16 * 1024
"""Bytes of a request before its body."""
GOODBYE = 2
"""Seconds that requests under way have at the end."""


class HttpServer:
    """Server that listens in a `with` block.

    Attributes:
        address: Host and port; the port that the system gave if it was 0.
    """

    def __init__(self, app: Starlette, address: tuple[str, int]) -> None:
        """Take who is served.

        Args:
            app: Answers requests.
            address: Host and port to listen on.
        """
        self.address = address
        config = Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",  # what strangers send is no concern of the operator's
            access_log=False,
            server_header=False,
            proxy_headers=True,  # of a proxy on this machine alone
            limit_concurrency=PLACES + 1,  # uvicorn refuses from that number on
            timeout_keep_alive=IDLE,
            h11_max_incomplete_event_size=HEAD,
            timeout_graceful_shutdown=GOODBYE,
        )
        self._server = Server(config)
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
