"""Files of an event log: on this machine or in an object store, whole or rolling, plain or compressed."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from urllib.parse import urlsplit

import attrs

from headgate.engines.object_store import ObjectStore, is_url
from headgate.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

ROLLED = re.compile(r"(?:.*/)?events_(\d+)_[^/]*$")
"""Path of a part of a rolling log; its number is the order, which names do not sort in."""
COMPACTED = ".compact"
"""Suffix of the part that stands for all earlier ones of a rolling log, and for the one of its own number."""
READ_AHEAD = 1 << 22
"""Bytes that are asked of an object store at once: if larger, more memory; if smaller, more requests."""


@attrs.frozen
class LogFile:
    """A file of a log: its name, with the suffixes that Spark gives it, and how it is opened."""

    name: str
    open: Callable[[], AbstractContextManager[BinaryIO]]


def log_files(place: str | Path) -> list[LogFile]:
    """The files of a log in their order.

    Args:
        place: A file or the folder of a rolling log, as a path or as a URL such as `s3://BUCKET/PREFIX/APPLICATION`.

    Raises:
        DocumentError: There is no log.
        EngineError: The store cannot be reached, or refuses.
    """
    found = _objects(str(place)) if is_url(place) else _files(Path(place))
    if not found:
        message = f"{place} is no event log of Spark: expected a file, or a folder with files events_1_..."
        raise DocumentError("", message)
    return found


def _files(path: Path) -> list[LogFile]:
    if path.is_file():
        return [LogFile(str(path), partial(_opened, path))]
    return _rolled({str(file): partial(_opened, file) for file in path.glob("events_*")})


def _opened(path: Path) -> BinaryIO:
    return path.open("rb")


def _objects(url: str) -> list[LogFile]:
    parts = urlsplit(url)
    store, path = ObjectStore.of(f"{parts.scheme}://{parts.netloc}"), parts.path.strip("/")
    if path and _is_object(store, path):
        return [LogFile(url, partial(_reader, store, path))]
    there = (each for each in store.listing(path or None) if each.rpartition("/")[0] == path)
    return _rolled({each: partial(_reader, store, each) for each in there})


def _is_object(store: ObjectStore, path: str) -> bool:
    with store.errors():
        try:
            store.store.head(path)
        except FileNotFoundError:
            return False
    return True


class _ObjectStream(io.RawIOBase):
    """A reader of obstore as Python's files are, whose `closed` is no method."""

    def __init__(self, store: ObjectStore, reader: Any) -> None:
        self._store, self._reader = store, reader

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # An OSError would be taken for the end of a file that was cut off.
        with self._store.errors():
            found = bytes(self._reader.read(len(buffer)))
        buffer[: len(found)] = found
        return len(found)


@contextlib.contextmanager
def _reader(store: ObjectStore, path: str) -> Iterator[BinaryIO]:
    # obstore is optional: the store was made, so it is there.
    from obstore import open_reader

    with store.errors():
        reader = open_reader(store.store, path, buffer_size=READ_AHEAD)
    yield cast("BinaryIO", io.BufferedReader(_ObjectStream(store, reader)))


def _rolled(paths: Mapping[str, Callable[[], AbstractContextManager[BinaryIO]]]) -> list[LogFile]:
    """The parts of a rolling log by number, from the last one that Spark has compacted."""
    found = sorted((int(match[1]), path) for path in paths if (match := ROLLED.match(path)))
    # While Spark compacts, the parts that the compacted one stands for are there too.
    first = max((number for number, path in found if path.endswith(COMPACTED)), default=0)
    kept = (path for number, path in found if number > first or (number == first and path.endswith(COMPACTED)))
    return [LogFile(path, paths[path]) for path in (kept if first else (path for _, path in found))]
