"""The newest round of a running process, for other commands of its user: a socket in a folder of that user alone."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import stat
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from headworks.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headworks.control.journal import Round

LOG = logging.getLogger("headworks.cli.live")
PATIENCE = 30.0
"""Seconds that either end waits for the other. A round of a large cluster has megabytes, which take a second; while one
caller is silent, the next one waits."""
CHUNK = 2**16
"""Bytes that are read at a time."""


def folder() -> Path:
    """The folder of the sockets, such as /tmp/headworks-1000: the same for a service and for a shell of its user."""
    return Path(tempfile.gettempdir()) / f"headworks-{os.geteuid()}"


@contextlib.contextmanager
def offered(engine: str, newest: Callable[[], Round | None]) -> Iterator[None]:
    """Answer `--engine` of other commands while the block runs; where that is not possible, the log says why.

    Args:
        newest: The newest round, with the request of what it saw; None before the first. Called by any thread.
    """
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(_listening(engine, newest))
        except OSError as error:
            LOG.warning("`--engine %s` of other commands does not reach this process: %s", engine, error)
        yield


@contextlib.contextmanager
def _listening(engine: str, newest: Callable[[], Round | None]) -> Iterator[None]:
    path = _own(folder()) / f"{engine}-{os.getpid()}"
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        threading.Thread(target=_answer, args=(listener, newest), name="headworks-newest-round", daemon=True).start()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes the thread, which closing does not


def _answer(listener: socket.socket, newest: Callable[[], Round | None]) -> None:
    """Answer callers one after the other, until the listener is shut down."""
    with contextlib.suppress(OSError):
        while True:
            caller, _ = listener.accept()
            with caller, contextlib.suppress(OSError):  # who asked has gone
                caller.settimeout(PATIENCE)
                caller.sendall(_text(newest))


def _text(newest: Callable[[], Round | None]) -> bytes:
    # numpy and cattrs cost 0.2 s, which the list of commands does not need.
    from headworks.documents import unstructure

    try:
        found = newest()
        return b"" if found is None else json.dumps(unstructure(found)).encode()
    except Exception:
        LOG.exception("the newest round cannot be told")
        return b""


def _own(place: Path) -> Path:
    """A folder of this user alone, made if it is not there.

    Raises:
        PermissionError: It is of somebody else, or others may look into it.
    """
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = place.lstat()
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077 or not stat.S_ISDIR(found.st_mode):
        raise PermissionError(f"{place} is not a folder of this user alone")
    return place


def newest_round(name: str) -> Round:
    """The newest round of the process that runs the control loop on an engine.

    Args:
        name: Of the engine; where several processes do, the process number follows after a colon.

    Raises:
        EngineError: There is no such process, there are several, or it has ended no round yet.
    """
    # numpy and cattrs cost 0.2 s, which the list of commands does not need.
    from headworks.control.journal import Round
    from headworks.documents import restore

    engine, _, number = name.partition(":")
    found = {path.name.rpartition("-")[2]: text for path in _sockets(engine) if (text := _asked(path)) is not None}
    if number:
        found = {pid: text for pid, text in found.items() if pid == number}
    if not found:
        said = "start `headworks run` or `headworks serve`, or name the file of an earlier one with --journal"
        raise EngineError(f"no process of this user runs the control loop on {name}: {said}")
    if len(found) > 1:
        several = ", ".join(f"{engine}:{pid}" for pid in sorted(found))
        raise EngineError(f"{len(found)} processes run the control loop on {engine}: name one of {several}")
    (text,) = found.values()
    if not text:
        raise EngineError(f"the control loop on {name} has ended no round yet")
    return restore(json.loads(text), Round)


def _sockets(engine: str) -> list[Path]:
    try:
        return [each for each in sorted(_own(folder()).iterdir()) if each.name.rpartition("-")[0] == engine]
    except OSError:
        return []


def _asked(path: Path) -> bytes | None:
    """The answer at a socket; None if nobody listens there any more: a process that was killed leaves its own."""
    with socket.socket(socket.AF_UNIX) as caller:
        caller.settimeout(PATIENCE)
        try:
            caller.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return None
        except OSError:
            return None
        try:
            return b"".join(iter(lambda: caller.recv(CHUNK), b""))
        except OSError as error:
            raise EngineError(f"the process at {path} does not answer: {error}") from None
