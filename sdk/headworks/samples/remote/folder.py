"""A folder on other machines as the rest of Headworks sees it: files that are listed, read, put and created whole."""

from __future__ import annotations

import io
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol
from urllib.parse import urlsplit

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

READ_AHEAD = 1 << 22
"""Bytes that are asked for at once."""
DRAFTS = "_drafts/"
"""Beginning of the names of files that are being written, where a store shows them before they are whole."""


@attrs.frozen
class Stored:
    """A file there: its bytes, and when it was last written."""

    size: int
    modified: datetime


class RemoteFolder(Protocol):
    """A folder of an object store or of a distributed file system. Paths are relative to it.

    Every method raises `EngineError` if the store cannot be reached, or refuses.
    """

    @property
    def url(self) -> str:
        """Such as `s3://BUCKET/PREFIX`."""

    def listing(self, prefix: str = "") -> dict[str, Stored]:
        """All files below a folder, by their paths.

        Args:
            prefix: A folder; empty for all of it.
        """

    def is_file(self, path: str) -> bool:
        """True for the path of a file, and not of a folder or of nothing."""

    def open(self, path: str) -> AbstractContextManager[BinaryIO]:
        """A file, to be read."""

    def put(self, path: str, file: Path) -> None:
        """Write a file, whole; one that is there is replaced."""

    def create(self, path: str, file: Path) -> bool:
        """Write a file, whole, if there is none: of several that try at once, one does.

        Returns:
            False if there was one, which stays as it is.
        """

    def delete(self, path: str) -> None:
        """Remove a file."""


class RemoteStream(io.RawIOBase):
    """A file that a client of a store reads, as Python's files are.

    Args:
        read: Reads up to a number of bytes, none at the end.
        errors: A context that turns errors of the client into those of Headworks. An `OSError` would be taken for the
            end of a file that was cut off.
    """

    def __init__(self, read: Callable[[int], Any], errors: Callable[[], AbstractContextManager[None]]) -> None:
        self._read, self._errors = read, errors

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read up to the size of a buffer; the number of bytes, 0 at the end."""
        with self._errors():
            found = bytes(self._read(len(buffer)))
        buffer[: len(found)] = found
        return len(found)


def is_url(place: str | Path) -> bool:
    """True for a folder on other machines."""
    return "://" in str(place)


def first_line(error: Exception) -> str:
    """The first line of an error, without the stack of a server that some clients add."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def remote_folder(url: str) -> RemoteFolder:
    """Open a folder on other machines.

    Args:
        url: Such as `hdfs://NAMENODE:PORT/FOLDER`, or `s3://BUCKET/PREFIX` and what else obstore knows.

    Raises:
        EngineError: The library for it is missing, or the URL is of no store that is known.
    """
    # Only the client of the one that is asked for is needed.
    from headworks.samples.remote import hdfs, objects

    return hdfs.HdfsFolder.of(url) if urlsplit(url).scheme == hdfs.SCHEME else objects.ObjectFolder.of(url)
