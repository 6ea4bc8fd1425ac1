"""Standard output kept for data: what a thread prints while it runs a plugin's code goes to standard error."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Divided:
    """Standard output of the process, for the threads in `diverted` standard error."""

    def __init__(self, stdout: Any) -> None:
        self.stdout = stdout
        self.diverted: dict[int, int] = {}

    def __getattr__(self, name: str) -> Any:
        stream = sys.stderr if self.diverted.get(threading.get_ident()) else self.stdout
        return getattr(stream, name)


_LOCK = threading.Lock()


@contextlib.contextmanager
def printing_to_stderr() -> Iterator[None]:
    """Send what this thread prints to standard error; other threads, such as an application's, print as before."""
    me = threading.get_ident()
    with _LOCK:
        divided = sys.stdout if isinstance(sys.stdout, _Divided) else _Divided(sys.stdout)
        divided.diverted[me] = divided.diverted.get(me, 0) + 1
        sys.stdout = divided
    try:
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
