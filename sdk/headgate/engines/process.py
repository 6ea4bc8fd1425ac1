"""One daemon of an engine: a process in a session of its own, its log, and a sure end for all it started."""

from __future__ import annotations

import abc
import contextlib
import itertools
import os
import re
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

import attrs

from headgate.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import FrameType

_ERROR = re.compile(r"\b(ERROR|FATAL)\b")
_CAUSE = re.compile(r"\s*Caused by: ")


@attrs.frozen(kw_only=True)
class Daemon:
    """A process and everything in its session, which bears its pid.

    `born` is the start time of the process in clock ticks since boot: with it a pid that was given to another
    process meanwhile is told apart. A session id is not given away while a process of the session lives.
    """

    name: str
    pid: int
    born: int
    log: Path

    @classmethod
    def start(cls, name: str, command: Sequence[str], *, log: Path, env: Mapping[str, str]) -> Daemon:
        """Start a command in a session of its own, both its outputs in the log."""
        write = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        outputs = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), write, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        pid = os.posix_spawn(command[0], list(command), env, file_actions=outputs, setsid=True)
        return cls(name=name, pid=pid, born=_born(pid) or 0, log=log)

    @property
    def alive(self) -> bool:
        """Whether the process itself runs."""
        _reap(self.pid)
        return _born(self.pid) == self.born

    def members(self) -> tuple[int, ...]:
        """Pids of every process of its session, its own included."""
        _reap(self.pid)
        if _born(self.pid) not in (None, self.born):
            return ()
        pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
        return tuple(pid for pid in pids if _session(pid) == self.pid)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to every process of the session."""
        for pid in self.members():
            _send(pid, number)

    def tail(self, lines: int = 15) -> str:
        """The end of its log; the errors there, if it has any: a dying JVM writes hundreds of lines after them.

        Of an exception the line after the error's tells its class and message, and each "Caused by" another.
        """
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        end = text.splitlines()[-50 * lines :]
        pairs = itertools.pairwise(["", *end])
        errors = [line for before, line in pairs if any(map(_ERROR.search, (before, line))) or _CAUSE.match(line)]
        return "\n".join((errors or end)[-lines:])


def end(daemons: Iterable[Daemon], *, grace: float = 10.0) -> None:
    """End daemons and all they started: ask each to end, after `grace` seconds kill what is left."""
    left = [daemon for daemon in daemons if daemon.members()]
    for daemon in left:
        if daemon.alive:
            _send(daemon.pid, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left = [daemon for daemon in left if daemon.members()]
    while left:
        for daemon in left:
            daemon.signal(signal.SIGKILL)
        time.sleep(0.05)
        left = [daemon for daemon in left if daemon.members()]


def patience(daemons: Callable[[], Iterable[Daemon]], seconds: float, complaint: str) -> Iterator[None]:
    """Yield again and again until `seconds` have passed; the caller leaves the loop when it has what it waits for.

    Raises:
        EngineError: One of the daemons, as they are at that time, died; or the time is over: then with the complaint.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for daemon in daemons():
            if not daemon.alive:
                raise EngineError(f"{daemon.name} of the local cluster died:\n{daemon.tail()}")
        yield
        time.sleep(0.1)
    raise EngineError(f"{complaint} after {seconds:.0f} s")


class LocalCluster(abc.ABC):
    """Daemons that start when their `with` block is entered and stop when it is left, also by SIGTERM."""

    _guard: contextlib.ExitStack

    @abc.abstractmethod
    def start(self) -> object:
        """Start the daemons, and wait until they serve; if that fails, none is left."""

    @abc.abstractmethod
    def stop(self) -> object:
        """End every process that was started."""

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as guard:
            guard.enter_context(exit_on_sigterm())
            self.start()
            guard.callback(self.stop)
            self._guard = guard.pop_all()
        return self

    def __exit__(self, *_error: object) -> None:
        self._guard.close()


@contextlib.contextmanager
def exit_on_sigterm() -> Iterator[None]:
    """Turn SIGTERM into SystemExit, so that `finally` and `with` clean up; nothing outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _exit(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _stat(pid: int) -> list[str]:
    """Fields of /proc/<pid>/stat from the state on (the third), empty if the process is gone.

    A dead process that another one has yet to reap is gone. One of ours is not: its threads may still be ending.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [] if fields[0] == "Z" and int(fields[1]) != os.getpid() else fields


def _born(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def _session(pid: int) -> int | None:
    fields = _stat(pid)
    return int(fields[3]) if fields else None
