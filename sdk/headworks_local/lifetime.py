"""Processes that live no longer than this one: each bears a mark, and a reaper ends what bears it."""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from headworks.interrupts import held
from headworks_local import reaper
from headworks_local.reaper import DEAF, MARK

if TYPE_CHECKING:
    from collections.abc import Iterator

LOG = logging.getLogger("headworks.lifetime")
PROGRAM = Path(reaper.__file__)
SHORT = 1.0
"""Seconds; a reaper that lived no longer was not killed by accident: it cannot run here."""


class Lifetime:
    """The mark of this process, and the reaper that watches over it."""

    def __init__(self) -> None:
        """Start the reaper."""
        self.token = uuid.uuid4().hex
        self._numbers = itertools.count(1)
        self._orders = b""
        self._lock = threading.Lock()
        self._start()
        threading.Thread(target=self._keep, name="headworks-reaper", daemon=True).start()

    def group(self) -> str:
        """A mark for processes that end, or outlive this process, together."""
        return f"{self.token}.{next(self._numbers)}"

    def lead(self, group: str, pid: int) -> None:
        """Say that the session of a process belongs to a group: where its environment cannot be read, that counts."""
        self._tell(f"lead {group} {pid}")

    def release(self, group: str) -> None:
        """Let a group outlive this process."""
        self._tell(f"release {group}")

    def scratch(self, prefix: str) -> Path:
        """A new temporary folder, which the reaper removes if this process does not live to do it."""
        with held():
            folder = tempfile.mkdtemp(prefix=prefix)
            self._tell(f"remove {folder}")
        return Path(folder)

    def _tell(self, order: str) -> None:
        line = os.fsencode(order) + b"\n"
        with held(), self._lock:
            self._orders += line
            with contextlib.suppress(OSError):  # the reaper has died: the next one is told all
                os.write(self._pipe, line)

    def _start(self) -> None:
        reader, self._pipe = os.pipe()
        os.write(self._pipe, self._orders)
        command = [sys.executable, "-P", str(PROGRAM), str(os.getpid()), self.token]
        env = {name: value for name, value in os.environ.items() if name != MARK}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, DEAF)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=reader,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=env,
                cwd="/",
                start_new_session=True,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(reader)

    def _keep(self) -> None:
        """Start another reaper when one has died; the processes of this one go on meanwhile."""
        while True:
            begin = time.monotonic()
            self._process.wait()
            if time.monotonic() - begin < SHORT:
                LOG.warning("no reaper runs: if this process is killed, the processes that it started live on")
                return
            with self._lock:
                os.close(self._pipe)
                self._start()


@functools.cache
def _of(_pid: int) -> Lifetime:
    return Lifetime()


_LOCK = threading.Lock()


def lifetime() -> Lifetime:
    """The one of this process, started when it is first asked for; a forked process has its own."""
    with held(), _LOCK:
        return _of(os.getpid())


def environment() -> dict[str, str]:
    """Variables for a process that is to end with this one."""
    return {MARK: lifetime().token}


@contextlib.contextmanager
def bound() -> Iterator[None]:
    """Have all processes that are started in the block, by whatever library, end with this one."""
    before = os.environ.get(MARK)
    os.environ.update(environment())
    try:
        yield
    finally:
        os.environ.pop(MARK)
        if before is not None:
            os.environ[MARK] = before
