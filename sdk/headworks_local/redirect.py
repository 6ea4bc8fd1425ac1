"""Keeps what a JVM says of itself out of the terminal."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
