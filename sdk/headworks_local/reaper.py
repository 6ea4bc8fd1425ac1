"""The reaper: a small process that ends what another one started, as soon as that one has ended in whatever way.

It is a program of its own, started by `headworks_local.lifetime`, and imports nothing of Headworks. In a session of
its own, where no Ctrl-C reaches it, it waits at a pipe that the system closes when its owner is gone, killed or not.
What to end it finds by a mark in the environment, which all that an owner starts inherits, down to the last child of a
child. A process that is being started while its owner dies bears it, too.

A parent-death signal (Linux) would not do: it comes when the *thread* that started a process ends, reaches no children
of children, and macOS has none.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
import time
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARK = "HEADWORKS_OWNER"
"""The environment variable: the token of an owner, or `TOKEN.NAME` for a group of processes of its own."""

GRACE = 4.0
"""Seconds for what bears the bare token: a JVM that a Python process talks to ends by itself, and tidies up."""

SETTLED = 1.5
"""Seconds without a marked process after which there is none: one that is being started has its mark by then."""

DEAF = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)
"""Signals that do not end a reaper, which ends when its owner has; they are blocked until it ignores them."""

PAUSE = 0.1
"""Seconds between two looks at all processes."""


def marked(mark: str) -> Iterator[tuple[psutil.Process, str]]:
    """Living processes that bear a mark, or one of a group below it, and the mark that they bear."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            found = process.environ().get(MARK, "")
            if found == mark or found.startswith(f"{mark}."):
                yield process, found


def in_session(leader: int) -> Iterator[psutil.Process]:
    """Living processes of a session."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                yield process


def kill(process: psutil.Process) -> None:
    """Kill a process, and never another one that has its pid by now."""
    with contextlib.suppress(psutil.Error):
        process.kill()


class Reaper:
    """State of the reaper: the owner's orders so far."""

    def __init__(self, owner: int, token: str) -> None:
        """Remember whom to wait for.

        Args:
            owner: Its pid; it is the parent of this process.
        """
        self._owner = owner
        self._token = token
        self._released: set[str] = set()
        self._leaders: dict[psutil.Process, str] = {}
        self._folders: list[str] = []

    def listen(self, pipe: int) -> None:
        """Take orders until the owner is gone, and those that it gave before.

        A process that was forked from it without a new program keeps the pipe open: so the owner is looked at as well,
        before the pipe, for its last order may be to release all.
        """
        rest = b""
        while True:
            there = os.getppid() == self._owner
            if select.select([pipe], [], [], 1.0 if there else 0.0)[0]:
                read = os.read(pipe, 4096)
                if not read:
                    return
                *lines, rest = (rest + read).split(b"\n")
                for line in lines:
                    self._order(*os.fsdecode(line).split(" ", 1))
            elif not there:
                return

    def _order(self, word: str, said: str) -> None:
        """`lead MARK PID`: what is in the session of this process belongs to the group, too. `release MARK`.

        `remove FOLDER`: it goes once nothing writes there any more.
        """
        if word == "release":
            self._released.add(said)
        elif word == "lead":
            mark, pid = said.split()
            with contextlib.suppress(psutil.Error):
                self._leaders[psutil.Process(int(pid))] = mark
        elif word == "remove":
            self._folders.append(said)

    def reap(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Kill what bears the mark, groups at once and the rest after a grace, until nothing is left, then folders."""
        begin = seen = clock()
        while clock() - seen < SETTLED:
            for process, mark in self._found():
                seen = clock()
                if mark != self._token or clock() - begin > GRACE:
                    kill(process)
            time.sleep(PAUSE)
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _found(self) -> Iterator[tuple[psutil.Process, str]]:
        for process, mark in marked(self._token):
            if not any(mark == each or mark.startswith(f"{each}.") for each in self._released):
                yield process, mark
        for leader, mark in self._leaders.items():
            if mark not in self._released and not _is_taken(leader):
                for process in in_session(leader.pid):
                    yield process, mark


def _is_taken(leader: psutil.Process) -> bool:
    """Check whether another process has the pid of a leader by now."""
    return psutil.pid_exists(leader.pid) and not leader.is_running()


def main(owner: int, token: str) -> None:
    """Wait for the end of the owner, then end what it started."""
    for number in DEAF:
        signal.signal(number, signal.SIG_IGN)
    reaper = Reaper(owner, token)
    reaper.listen(sys.stdin.fileno())
    reaper.reap()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
