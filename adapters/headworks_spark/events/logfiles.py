"""Files of an event log: on this machine or on others, whole or rolling, plain or compressed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

import attrs

from headworks.errors import DocumentError
from headworks.samples.objects import ObjectFolder, is_url

ROLLED = re.compile(r"(?:.*/)?events_(\d+)_[^/]*$")
"""Path of a part of a rolling log; its number is the order, which names do not sort in."""
COMPACTED = ".compact"
"""Suffix of the part that stands for all earlier ones of a rolling log, and for the one of its own number."""


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
    found = _remote(str(place)) if is_url(place) else _files(Path(place))
    if not found:
        message = f"{place} is not an event log of Spark: expected a file, or a folder with files events_1_..."
        raise DocumentError("", message)
    return found


def _files(path: Path) -> list[LogFile]:
    if path.is_file():
        return [LogFile(str(path), partial(_opened, path))]
    return _rolled({str(file): partial(_opened, file) for file in path.glob("events_*")})


def _opened(path: Path) -> BinaryIO:
    return path.open("rb")


def _remote(url: str) -> list[LogFile]:
    parts = urlsplit(url)
    there, path = ObjectFolder.of(f"{parts.scheme}://{parts.netloc}"), parts.path.strip("/")
    if path and there.is_file(path):
        return [LogFile(url, partial(there.open, path))]
    found = (each for each in there.names(path) if each.rpartition("/")[0] == path)
    return _rolled({each: partial(there.open, each) for each in found})


def _rolled(paths: Mapping[str, Callable[[], AbstractContextManager[BinaryIO]]]) -> list[LogFile]:
    """The parts of a rolling log by number, from the last one that Spark has compacted."""
    found = sorted((int(match[1]), path) for path in paths if (match := ROLLED.match(path)))
    # While Spark compacts, the parts that the compacted one stands for are there too.
    first = max((number for number, path in found if path.endswith(COMPACTED)), default=0)
    kept = (path for number, path in found if number > first or (number == first and path.endswith(COMPACTED)))
    return [LogFile(path, paths[path]) for path in (kept if first else (path for _, path in found))]
