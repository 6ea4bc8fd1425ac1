"""The Python end of the bridge: Nimbus calls, this process answers.

Nimbus is the client and opens no port. It finds this process through the endpoint file, which holds the port and a
token and is readable by its owner alone.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, Self

import attrs

from headgate.errors import EngineError
from headgate_storm.nimbus.secret import make_secret, write_private

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOST = "127.0.0.1"
"""The bridge listens here alone: a round names every host of the cluster, and an answer moves its executors."""


@attrs.frozen(kw_only=True)
class Endpoint:
    """The address of the bridge: the port on `HOST` where it listens, and the token that a caller has to send."""

    port: int
    token: str = attrs.field(repr=False)

    def write(self, path: Path) -> None:
        """Write the endpoint file, whole or not at all, for its owner alone.

        Raises:
            EngineError: It cannot be written.
        """
        write_private(path, json.dumps(attrs.asdict(self)))

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Read an endpoint file, None if there is none or it is half there."""
        try:
            return cls(**json.loads(path.read_text()))
        except (OSError, ValueError, TypeError):
            return None


class _Planner:
    """The object that Nimbus calls: Java's interface `headgate.storm.Planner`, implemented in Python."""

    def __init__(self, answer: Callable[[str], str]) -> None:
        self._answer = answer

    def answer(self, round: str) -> str:  # noqa: A002 - the name in the Java interface
        return self._answer(round)

    class Java:  # py4j reads the interfaces of a Python object from a nested class of this name
        implements = ("headgate.storm.Planner",)


class Bridge:
    """Server for the scheduling rounds of Nimbus, which listens in a `with` block."""

    def __init__(self, answer: Callable[[str], str], endpoint: Path, *, port: int = 0) -> None:
        """Take what is needed to listen.

        Args:
            answer: Answers a round, JSON in and out; called by a thread for each connection.
            endpoint: The file to write, named `headgate.endpoint` in Nimbus's configuration.
            port: TCP port; 0 is one that the system gives.
        """
        self._answer = answer
        self._path = endpoint
        self._port = port
        self._server: Any = None
        self.endpoint: Endpoint | None = None

    def __enter__(self) -> Self:
        """Listen, and write the endpoint file.

        Raises:
            EngineError: py4j is missing, the port is taken, or the file cannot be written.
        """
        token = make_secret()
        self._server = _listen(_Planner(self._answer), self._port, token)
        self.endpoint = Endpoint(port=self._server.get_callback_server().get_listening_port(), token=token)
        try:
            self.endpoint.write(self._path)
        except BaseException:
            self._server.shutdown()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop listening; the endpoint file goes if it is still this process's."""
        # A second process may have taken over with the same file while this one ended.
        if Endpoint.read(self._path) == self.endpoint:
            self._path.unlink(missing_ok=True)
        self._server.shutdown()


def _listen(planner: _Planner, port: int, token: str) -> Any:
    try:
        # py4j comes with the extra `storm`: without it this is an error with a fix, not a failed import.
        from py4j.clientserver import JavaParameters, PythonParameters
        from py4j.protocol import Py4JNetworkError

        from headgate_storm.nimbus.listener import Listener  # a subclass of py4j's server
    except ImportError:
        raise EngineError("py4j is not installed: `pip install 'headgate[storm]'`") from None
    logging.getLogger("py4j").addHandler(logging.NullHandler())  # it logs tracebacks, which Nimbus is told in a line
    # Daemon threads: a Nimbus that never hangs up would keep this process alive after its end.
    python = PythonParameters(address=HOST, port=port, auth_token=token, daemonize=True, daemonize_connections=True)
    try:
        server = Listener(JavaParameters(auto_convert=False), python, python_server_entry_point=planner)
    except (Py4JNetworkError, OSError) as error:
        raise EngineError(f"port {port} of {HOST} cannot be listened on: {error}") from None
    # py4j listens in its thread, some time after this; the endpoint file would name a port that refuses until then.
    server.get_callback_server().server_socket.listen()
    return server
