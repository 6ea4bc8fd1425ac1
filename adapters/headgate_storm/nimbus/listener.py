"""A py4j server whose connections two threads may close, and which no caller keeps from ending.

py4j ends a connection from the thread that serves it and from the one that shuts the server down. Together they raise
on a socket that is already closed, and closing a stream waits for whoever reads it: a caller that stays silent would
hold the shutdown for ever.
"""

from __future__ import annotations

from threading import RLock
from typing import Any

from py4j.clientserver import ClientServer, ClientServerConnection, PythonServer
from py4j.java_gateway import quiet_shutdown


class Listener(ClientServer):  # type: ignore[misc]  # py4j has no types
    """A py4j client-server of which only the Python half is used."""

    def _create_callback_server(self, _parameters: Any) -> PythonServer:
        return _Server(self._gateway_client, self.java_parameters, self.python_parameters, self.gateway_property)


class _Server(PythonServer):  # type: ignore[misc]
    def _create_connection(self, caller: Any, stream: Any) -> ClientServerConnection:
        connection = _Connection(
            self.java_parameters, self.python_parameters, self.gateway_property, self.gateway_client, python_server=self
        )
        connection.init_socket_from_python_server(caller, stream)
        return connection


class _Connection(ClientServerConnection):  # type: ignore[misc]
    def __init__(self, *args: Any, **options: Any) -> None:
        self._closing = RLock()
        super().__init__(*args, **options)

    def close(self, reset: bool = False) -> None:  # noqa: FBT001, FBT002 - as in py4j
        if not reset:  # wakes the thread that reads; a reset comes from that thread itself
            quiet_shutdown(self.socket)
        with self._closing:
            super().close(reset)
