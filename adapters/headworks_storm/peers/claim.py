"""One process for an endpoint file: a lock beside it, which the system lets go when its holder ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

from headworks.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def claim(endpoint: Path) -> Iterator[None]:
    """Hold an endpoint file, so that no second process answers the same Nimbus.

    Args:
        endpoint: The file; the lock is a file beside it that ends in `.lock` and holds the process id.

    Raises:
        EngineError: Another process holds it, which the message names; or the lock cannot be written.
    """
    path = endpoint.with_name(f"{endpoint.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = _lock(path)
    except BlockingIOError:
        raise EngineError(
            f"process {_holder(path)} answers Nimbus by {endpoint} already: end it, or give this one an --endpoint of "
            "its own"
        ) from None
    except OSError as error:
        raise EngineError(f"{path} cannot be written: {error.strerror}") from None
    try:
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())
        yield
    finally:
        path.unlink(missing_ok=True)  # before the lock goes: afterwards it may be another's
        os.close(file)


def _lock(path: Path) -> int:
    """A descriptor of the file, locked; tried again if the file was removed between opening and locking it."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(os.fstat(file), path.stat()):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _holder(path: Path) -> str:
    try:
        return path.read_text().strip() or "?"
    except (OSError, ValueError):
        return "?"
