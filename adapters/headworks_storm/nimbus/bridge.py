"""The Python end of the bridge: Nimbus calls, this process answers.

Nimbus is the client and opens no port. It finds this process through the endpoint file, which holds the port and a
token and is readable by its owner alone; both prove to each other that they know the token. Calls are py4j's. Commands
of that owner come the same way.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

import attrs

from headworks.errors import EngineError, how_to_install
from headworks_local.private_files import make_secret, write_private
from headworks_storm.nimbus.answer import LONGEST
from headworks_storm.peers.server import Bounds, PeerServer

if TYPE_CHECKING:
    from pathlib import Path

    from headworks_storm.peers.server import Peer

LOG = logging.getLogger("headworks.storm.bridge")
HOST = "127.0.0.1"
"""The bridge listens here alone: a round names every host of the cluster, and an answer moves its executors."""
BOUNDS = Bounds(line=64 * 2**20, peers=16, strangers=64, seconds=10.0)
"""A round of 10,000 executors has 0.4 MB; with longer lines a caller could take more memory. Nimbus has one connection
at a time: with more strangers they hold more descriptors. With more time a silent one keeps its place for longer; with
less, a Nimbus that stands still while its heap is collected, or has no processor, is taken for a stranger."""
PLANNING = 2
"""Rounds at a time that are planned."""
COMMANDS = 4
"""Commands at a time that are carried out. With more, those that wait for a move take the places of peers."""
LONGEST_CALL = 5
"""Lines of a call: command, object, method, the round, end."""


@attrs.frozen(kw_only=True)
class Endpoint:
    """The address of the bridge: the port on `HOST` where it listens, and the token that a caller has to know."""

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


@attrs.frozen(kw_only=True)
class Callers:
    """Counts of the bridge's callers since it started.

    Attributes:
        answered: Calls that were answered, failures included.
        refused: Strangers: no proof, a wrong one, too late, or pushed out by the next. `crowded`: one peer too many.
        starved: Times that the process had no file descriptor for the next caller.
    """

    answered: int = 0
    refused: int = 0
    crowded: int = 0
    starved: int = 0


class Bridge:
    """Server for the scheduling rounds of Nimbus, and for commands, which listens in a `with` block."""

    def __init__(
        self,
        answer: Callable[[str], str],
        endpoint: Path,
        *,
        port: int = 0,
        command: Callable[[str], str] | None = None,
    ) -> None:
        """Take what is needed to listen.

        Args:
            answer: Answers a round, JSON in and out; called by a thread for each round.
            endpoint: The file to write, named `headworks.endpoint` in Nimbus's configuration.
            port: TCP port; 0 is one that the system gives.
            command: Answers a command alike; None knows none.
        """
        self._methods = {"answer": _Method(answer, PLANNING, "earlier rounds are still being planned")}
        if command is not None:
            self._methods["command"] = _Method(command, COMMANDS, "earlier commands are still being carried out")
        self._path = endpoint
        self._port = port
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._busy: Counter[str] = Counter()
        self.endpoint: Endpoint | None = None

    @property
    def callers(self) -> Callers:
        """Counts of callers up to now."""
        with self._lock:
            return Callers(**self._counts)

    def __enter__(self) -> Self:
        """Listen, and write the endpoint file.

        Raises:
            EngineError: py4j is missing, the port is taken, or the file cannot be written.
        """
        _need_py4j()
        token = make_secret()
        self._server = PeerServer(
            (HOST, self._port),
            lambda peer: _Calls(self, peer),
            name="headworks-bridge",
            bounds=BOUNDS,
            token=lambda _name: token,
            by_port=True,
            count=self._count,
        ).__enter__()
        self.endpoint = Endpoint(port=self._server.address[1], token=token)
        try:
            self.endpoint.write(self._path)
        except BaseException:
            self._server.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop listening; the endpoint file goes if it still names the port of this process, with whatever token."""
        # A second process may have taken over with the same file while this one ended: it has another port.
        found = Endpoint.read(self._path)
        if self.endpoint is not None and found is not None and found.port == self.endpoint.port:
            self._path.unlink(missing_ok=True)
        self._server.__exit__()

    def _count(self, what: str) -> None:
        with self._lock:
            self._counts[what] += 1

    def call(self, peer: Peer, call: list[bytes]) -> None:
        """Answer a call in a thread of its own; called in the server's thread.

        Args:
            peer: Who asks; it has proved who it is.
            call: The lines of its call.
        """
        name = call[2].decode(errors="replace") if len(call) == LONGEST_CALL else ""
        method = self._methods.get(name)
        if method is None:
            peer.reply(_failed(f"the methods here are: {', '.join(self._methods)}, of a text"))
            return
        if self._busy[name] >= method.at_a_time:
            peer.reply(_failed(f"{self._busy[name]} {method.busy}"))
            return
        self._busy[name] += 1
        # A daemon: a scheduler that hangs would keep this process alive after its end.
        thread = threading.Thread(target=self._run, args=(peer, name, call), name=f"headworks-{name}", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the system has no thread left
            self._busy[name] -= 1
            peer.reply(_failed(_text(error)))

    def _run(self, peer: Peer, name: str, call: list[bytes]) -> None:
        try:
            reply = _reply(name, self._methods[name].answer, call)
        except BaseException as error:  # noqa: BLE001 - a thread that ends without a reply takes a place for good
            reply = _failed(_text(error))

        def send() -> None:
            self._busy[name] -= 1
            peer.reply(reply)

        self._count("answered")
        self._server.soon(send)


@attrs.frozen
class _Method:
    """A method that callers may call: what answers it, and how many calls at a time."""

    answer: Callable[[str], str]
    at_a_time: int
    busy: str


class _Calls:
    """The calls that one connection makes, in py4j's protocol: a part a line."""

    def __init__(self, bridge: Bridge, peer: Peer) -> None:
        self._bridge = bridge
        self._peer = peer
        self._call: list[bytes] = []

    def line(self, line: bytes) -> None:
        """Take a part of a call; the last one is `e`."""
        self._call.append(line)
        if line == b"e":
            call, self._call = self._call, []
            self._bridge.call(self._peer, call)
        elif len(self._call) >= LONGEST_CALL:
            self._peer.hang_up()

    def overlong(self) -> None:
        """Hang up: what is left out of a round cannot be planned."""
        LOG.warning("Nimbus asks a round of more than %d MB", BOUNDS.line // 2**20)
        self._peer.hang_up()


def _need_py4j() -> None:
    try:
        import py4j.protocol  # noqa: F401 - comes with the extra `storm`; without it, an error with a fix
    except ImportError:
        raise EngineError(f"py4j is not installed: {how_to_install('storm')}") from None


def _reply(name: str, answer: Callable[[str], str], call: list[bytes]) -> bytes:
    """Call a method of the only object here, and put its answer into a line; what it raises is not caught."""
    from py4j import protocol  # the extra `storm`, which `headworks --help` works without

    *head, text, _end = (part.decode(errors="replace") for part in call)
    if (
        head != [protocol.CALL_PROXY_COMMAND_NAME, protocol.ENTRY_POINT_OBJECT_ID, name]
        or text[:1] != protocol.STRING_TYPE
    ):
        return _failed(f"the call is String {name}(String) of the entry point")
    said = answer(protocol.unescape_new_line(text[1:]))
    return _line(protocol.SUCCESS, said)


def _text(error: BaseException) -> str:
    """Kind and words of an error; a plugin's may have none that can be read."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - see above
        return type(error).__name__


def _failed(why: str) -> bytes:
    from py4j import protocol  # the extra `storm`, which `headworks --help` works without

    return _line(protocol.ERROR, why[:LONGEST])


def _line(kind: str, text: str) -> bytes:
    """A reply as py4j writes it. Half a character of UTF-16, as names of files may hold, has no bytes: it is `?`."""
    from py4j import protocol  # the extra `storm`, which `headworks --help` works without

    return bytes(protocol.RETURN_MESSAGE + kind + protocol.get_command_part(text), "utf-8", "replace")
