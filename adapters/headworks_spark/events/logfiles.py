"""Files of an event log: on this machine or on others, whole or rolling, plain or compressed."""

from __future__ import annotations

import os
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
DATED = re.compile(r"(?:.*/)?eventlog(?:-(\d{4}-\d\d-\d\d--\d\d-\d\d)(?:\.gz)?)?$")
"""Path of a part of a log as Databricks rolls it: the parts that are closed have a date, the open one has none."""
COMPACTED = ".compact"
"""Suffix of the part that stands for all earlier ones of a rolling log, and for the one of its own number."""

OTHERS = (".crc", ".html", ".jsonl", ".parquet", ".tmp")
"""Suffixes of files that are no logs."""
HIDDEN = (".", "_", "appstatus_")
"""Beginnings of names of files that are no logs."""


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


def is_folder(place: str) -> bool:
    """True for a folder of this machine, and for any URL: it is looked at when it is used."""
    return is_url(place) or Path(place).is_dir()


def logs_below(folder: str) -> dict[str, tuple[int, float]]:
    """The logs below a folder, or its URL: files, and folders of rolling logs. Bytes of each, and its last change.

    Raises:
        EngineError: The object store cannot be reached, or refuses.
    """
    if is_url(folder):
        return _logs_of_store(folder)
    found: list[Path] = []
    for place, below, names in os.walk(folder):
        if any(map(_is_closed, names)):
            found.append(Path(place))
            below.clear()
        else:
            found += (Path(place, name) for name in names if _is_log(name))
    return {str(each): _state(each) for each in sorted(found)}


def _is_closed(path: str) -> bool:
    """True for a part of a rolling log, except for the open one of Databricks, which may be a whole log as well."""
    dated = DATED.match(path)
    return bool(ROLLED.match(path) or (dated and dated[1]))


def _is_log(name: str) -> bool:
    return not name.startswith(HIDDEN) and not name.endswith(OTHERS)


def _logs_of_store(url: str) -> dict[str, tuple[int, float]]:
    parts = urlsplit(url)
    root = f"{parts.scheme}://{parts.netloc}"
    there = {each.path: each for each in ObjectFolder.of(root).objects(parts.path.strip("/"))}
    folders = {path.rpartition("/")[0] for path in there}
    rolling = {path.rpartition("/")[0] for path in there if _is_closed(path)}
    found: dict[str, tuple[int, float]] = {}
    for path, each in sorted(there.items()):
        above, _, name = path.rpartition("/")
        # An empty object may stand for the folder of its name.
        if above in rolling or (_is_log(name) and path not in folders):
            log = f"{root}/{above if above in rolling else path}"
            size, changed = found.get(log, (0, 0.0))
            found[log] = size + each.size, max(changed, each.changed)
    return found


def _state(log: Path) -> tuple[int, float]:
    """Bytes of a log, and when it was changed last; zeros if it is gone or cannot be looked at."""
    try:
        states = [each.stat() for each in (log.iterdir() if log.is_dir() else (log,))]
    except OSError:
        return 0, 0.0
    return sum(each.st_size for each in states), max((each.st_mtime for each in states), default=0.0)


def _files(path: Path) -> list[LogFile]:
    if path.is_file():
        return [LogFile(str(path), partial(_opened, path))]
    return _rolled({str(file): partial(_opened, file) for file in path.glob("event*")})


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
    """The parts of a rolling log by number, from the last one that Spark has compacted; those of Databricks by date."""
    dated = sorted((match[1] or "open", path) for path in paths if (match := DATED.match(path)))
    if dated:
        return [LogFile(path, paths[path]) for _, path in dated]
    found = sorted((int(match[1]), path) for path in paths if (match := ROLLED.match(path)))
    # While Spark compacts, the parts that the compacted one stands for are there too.
    first = max((number for number, path in found if path.endswith(COMPACTED)), default=0)
    kept = (path for number, path in found if number > first or (number == first and path.endswith(COMPACTED)))
    return [LogFile(path, paths[path]) for path in (kept if first else (path for _, path in found))]
