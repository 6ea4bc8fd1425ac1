"""One daemon of an engine: a process in a session of its own, its log, and a sure end for all it started."""

from __future__ import annotations

import abc
import contextlib
import functools
import itertools
import os
import re
import signal
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

import attrs
import psutil

from headworks.errors import EngineError
from headworks.interrupts import handled, held, raise_pending
from headworks_local.lifetime import lifetime
from headworks_local.reaper import MARK, kill, marked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


_ERROR = re.compile(r"\b(ERROR|FATAL)\b")
_CAUSE = re.compile(r"\s*Caused by: ")

SAME = 2.0
"""Seconds by which two readings of one start may differ; no pid is given away again so soon."""


@attrs.frozen(kw_only=True)
class Daemon:
    """A process and everything in its session, which bears its pid.

    A session id is not given away while a process of the session lives.

    Attributes:
        name: What messages call it.
        pid: Its process, and its session.
        born: When the process started, see `_born`: with it another process that has the pid by now is told apart.
        log: The file with its output.
        group: The mark that it bears (`headworks_local.lifetime`), by which it is ended if its owner is killed; "" if
        none.
    """

    name: str
    pid: int
    born: float
    log: Path
    group: str = ""

    @classmethod
    def start(
        cls,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        env: Mapping[str, str],
        group: str = "",
        on: Callable[[Callable[[], int]], int] | None = None,
    ) -> Daemon:
        """Start a command in a session of its own, both its outputs in the log; `env` is all of its environment.

        Args:
            group: Mark by which the reaper finds it, "" for none.
            on: Has a call that starts a process and returns its pid made on a node; None for this machine as it is.
        """
        write = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        outputs = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), write, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ]
        env = {**env, MARK: group} if group else env
        spawn = functools.partial(os.posix_spawn, command[0], list(command), env, file_actions=outputs, setsid=True)
        with held():
            pid = on(spawn) if on else spawn()
            if group:
                lifetime().lead(group, pid)
        return cls(name=name, pid=pid, born=_born(pid) or 0.0, log=log, group=group)

    @property
    def alive(self) -> bool:
        """True while the process itself runs."""
        _reap(self.pid)
        return self._is(_born(self.pid))

    def members(self) -> tuple[int, ...]:
        """Pids of every process of its session, its own included."""
        _reap(self.pid)
        born = _born(self.pid)
        if born is not None and not self._is(born):
            return ()
        session = (pid for pid in psutil.pids() if _session(pid) == self.pid and _born(pid) is not None)
        return tuple(pid for pid in session if born is not None or _bears(pid, self.group))

    def _is(self, born: float | None) -> bool:
        return born is not None and abs(born - self.born) < SAME

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
    """End daemons and all they started: ask each to end, after `grace` seconds kill what is left.

    Args:
        grace: Seconds to end by themselves.
    """
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

    Args:
        seconds: Seconds to wait.

    Raises:
        EngineError: One of the daemons, as they are at that time, died; or the time is over: then with the complaint.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for daemon in daemons():
            if not daemon.alive:
                raise EngineError(f"{daemon.name} of the local cluster died:\n{daemon.tail()}")
        yield
        raise_pending()
        time.sleep(0.1)
    raise EngineError(f"{complaint} after {seconds:.0f} s")


def check_addresses(hosts: Iterable[str]) -> None:
    """See that daemons can have these addresses.

    Raises:
        EngineError: One is none of this machine, as on macOS, where the loopback interface has one address.
    """
    for host in hosts:
        if not is_of_this_machine(host):
            add = f"add it with `sudo ifconfig lo0 alias {host}`" if psutil.MACOS else "choose another one"
            raise EngineError(f"{host} is not an address of this machine: {add}")


def is_of_this_machine(host: str) -> bool:
    """Check whether a server of this machine can listen at an address."""
    with socket.socket() as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
    return True


class LocalCluster(abc.ABC):
    """Daemons that start when their `with` block is entered and stop when it is left, also by a signal.

    All that they start bears the mark `group`, by which the reaper ends it if this process is killed.
    """

    _guard: contextlib.ExitStack
    group: str

    @abc.abstractmethod
    def start(self) -> Self:
        """Start the daemons, and wait until they serve; if that fails, none is left."""

    @abc.abstractmethod
    def stop(self) -> object:
        """End every process that was started."""

    def __enter__(self) -> Self:
        self._guard = guard = contextlib.ExitStack()
        try:
            guard.enter_context(handled())
            guard.callback(self.stop)
            self.start()
        except BaseException:
            guard.close()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self._guard.close()


def end_group(group: str) -> None:
    """Kill all that bears a mark of `headworks_local.lifetime`, in whatever session, until nothing is left."""
    while group and (left := list(marked(group))):
        for process, _ in left:
            kill(process)
        time.sleep(0.05)


def command_line(pid: int) -> list[str]:
    """The program of a process and its arguments, empty if it is gone."""
    try:
        return psutil.Process(pid).cmdline()
    except psutil.Error:
        return []


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _born(pid: int) -> float | None:
    """Start time of a process, None if it is gone: on Linux in seconds since boot, which no clock setting changes.

    A dead process that another one has yet to reap is gone. One of ours is not: its threads may still be ending.
    """
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE and process.ppid() != os.getpid():
            return None
        return process.create_time() - (psutil.boot_time() if psutil.LINUX else 0.0)
    except psutil.NoSuchProcess:
        return None


def _bears(pid: int, group: str) -> bool:
    """Check that a process whose leader is gone is of the group, and not of a later session with the same pid."""
    try:
        return not group or psutil.Process(pid).environ().get(MARK) == group
    except psutil.AccessDenied:
        return psutil.MACOS  # which shows the environment of some programs to nobody
    except psutil.NoSuchProcess:
        return False


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


STREAMS = (1, 2)


@contextlib.contextmanager
def output_to(log: Path) -> Iterator[None]:
    """Send what this process and every process started meanwhile print to a file.

    A JVM that is started inside keeps the file for its whole life; this process gets its own streams back.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(stream) for stream in STREAMS]
    try:
        with log.open("ab") as file:
            for stream in STREAMS:
                os.dup2(file.fileno(), stream)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for stream, copy in zip(STREAMS, saved, strict=True):
            os.dup2(copy, stream)
            os.close(copy)
