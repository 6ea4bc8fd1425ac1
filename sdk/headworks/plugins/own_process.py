"""A process that is a program of Headworks's own: standard output kept for data, and few searches for cycles."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Divided:
    """Standard output of the process, for the threads in `diverted` standard error."""

    def __init__(self, stdout: Any) -> None:
        self.stdout = stdout
        self.diverted: dict[int, int] = {}

    def __getattr__(self, name: str) -> Any:
        stream = sys.stderr if self.diverted.get(threading.get_ident()) else self.stdout
        return getattr(stream, name)


_LOCK = threading.Lock()


class _Descriptor:
    """Descriptor 1, which is that of standard error while any thread runs a plugin's native code."""

    def __init__(self) -> None:
        self.claimed = False
        self._depth, self._kept, self._where = 0, -1, 2

    @contextlib.contextmanager
    def to_stderr(self) -> Iterator[None]:
        """Send what native code prints to standard error, where standard output has a descriptor of its own."""
        if not self.claimed:
            yield
            return
        with _LOCK:
            self._depth += 1
            if self._depth == 1:
                self._kept = os.dup(1)
                os.dup2(self._where, 1)
        try:
            yield
        finally:
            _flush_native()
            with _LOCK:
                self._depth -= 1
                if not self._depth:
                    os.dup2(self._kept, 1)
                    os.close(self._kept)

    @contextlib.contextmanager
    def heard(self) -> Iterator[Callable[[], str]]:
        """Keep what native code prints from now on; nobody else may claim the descriptor meanwhile.

        Yields:
            Reads what was printed.
        """
        before = self.claimed, self._where
        with tempfile.TemporaryFile() as file:
            self.claimed, self._where = True, file.fileno()

            def read() -> str:
                file.seek(0)
                return file.read(1_000).decode(errors="replace")

            try:
                yield read
            finally:
                self.claimed, self._where = before


_DESCRIPTOR = _Descriptor()
native_to_stderr, native_heard = _DESCRIPTOR.to_stderr, _DESCRIPTOR.heard


def claim_stdout() -> None:
    """Give `sys.stdout` a descriptor of its own, for a command: 1 is then that of native code, and can be redirected.

    A stream that is closed is one to nowhere from now on. A stream that a program has put in its place stays there.
    """
    if sys.stdout is not sys.__stdout__:
        return
    for number, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        with contextlib.suppress(OSError):
            os.fstat(number)
            continue
        os.dup2(os.open(os.devnull, mode), number)
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)
    before = sys.stdout
    sys.stdout = os.fdopen(
        os.dup(1),
        "w",
        encoding=before.encoding if before else "utf-8",
        errors=before.errors if before else "replace",
        buffering=1 if before and before.isatty() else -1,
    )
    _DESCRIPTOR.claimed = True


def _flush_native() -> None:
    """Write what C's own streams hold, and Python's first one: it would come out where descriptor 1 leads later."""
    import ctypes  # 10 ms, which only a command that calls plugins needs

    with contextlib.suppress(AttributeError, OSError, ValueError):  # there is none, it leads nowhere, it is closed
        sys.__stdout__.flush()  # type: ignore[union-attr]
    ctypes.CDLL(None).fflush(None)


@contextlib.contextmanager
def printing_to_stderr() -> Iterator[None]:
    """Send what this thread prints to standard error; other threads, such as an application's, print as before."""
    me = threading.get_ident()
    with _LOCK:
        divided = sys.stdout if isinstance(sys.stdout, _Divided) else _Divided(sys.stdout)
        divided.diverted[me] = divided.diverted.get(me, 0) + 1
        sys.stdout = divided
    try:
        with native_to_stderr():
            yield
    finally:
        with _LOCK:
            _end(divided, me)


def _end(divided: _Divided, thread: int) -> None:
    divided.diverted[thread] -= 1
    if not divided.diverted[thread]:
        del divided.diverted[thread]
    # Who has put another stream in its place meanwhile keeps that one.
    if not divided.diverted and sys.stdout is divided:
        sys.stdout = divided.stdout


THRESHOLDS = 50_000, 5, 1
"""Objects more than before at which young ones are searched, and after how many searches those that outlived them.
Python's own are 700, 10, 10."""


def collect_seldom() -> None:
    """Set it for this process, which is a program of Headworks's own: a library leaves its host's settings alone."""
    gc.set_threshold(*THRESHOLDS)
