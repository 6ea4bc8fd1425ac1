"""Intake of raw samples: the files of each hour, and the versions that their footers tell. Rows are not read here."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from headgate.samples.rows import COLUMNS, VERSION
from headgate.samples.store import MARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PLACE = re.compile(r"day=(\d{4}-\d\d-\d\d)/hour=(\d\d)/[^._][^/]*\.parquet$")
"""Day and hour in a file's path; names that begin with a dot or an underscore are drafts."""
OLDEST = 1
"""Version of Storm's own first columns: no mark, but `started` and `target_name`."""
UNREADABLE, UNKNOWN_VERSION, WRONG_COLUMNS = "half-written file", "unknown schema version", "columns of another type"
"""Reasons of whole files."""
TYPES = {"string": "string", "double": "double", "int32": "int32", "int64": "int64"}
"""Arrow's name of each type of the sample columns."""


@attrs.frozen(kw_only=True)
class Stamp:
    """A file as the folder lists it: absolute path, bytes, and time of its last change in nanoseconds."""

    path: str
    size: int
    changed: int


@attrs.frozen(kw_only=True)
class SampleFile:
    """A file after a look at its footer: `version` of its columns, or the `reason` why it is not read."""

    path: str
    hour: str
    version: int = VERSION
    rows: int = 0
    reason: str = ""


def listing(folder: Path) -> dict[str, tuple[Stamp, ...]]:
    """The files of each hour (YYYY-MM-DDTHH), by path. Drafts, whose names begin with a dot, are passed over."""
    hours: dict[str, list[Stamp]] = defaultdict(list)
    for path in sorted(folder.glob("day=*/hour=*/*.parquet")):
        if match := PLACE.search(path.as_posix()):
            status = path.stat()
            stamp = Stamp(path=str(path.absolute()), size=status.st_size, changed=status.st_mtime_ns)
            hours[f"{match[1]}T{match[2]}"].append(stamp)
    return {hour: tuple(hours[hour]) for hour in sorted(hours)}


def digest(stamps: Iterable[Stamp], tasks: str = "") -> str:
    """Digest of the input of an hour: another digest, another answer.

    Args:
        stamps: The files of the hour, in any order.
        tasks: Digest of the tasks that are known in that hour.
    """
    # Names without folders: the same samples elsewhere, or under another mount, are the same input.
    lines = sorted(f"{Path(each.path).name} {each.size} {each.changed}" for each in stamps)
    return hashlib.sha256("\n".join([tasks, *lines]).encode()).hexdigest()[:16]


def inspect(hour: str, stamp: Stamp) -> SampleFile:
    """Look at the footer of a file.

    Args:
        hour: Hour of its folder.
        stamp: The file.
    """
    # pyarrow is optional and costs 0.2 s; `headgate pipeline show` imports this module, and looks at no file.
    from pyarrow import ArrowException, parquet

    try:
        with parquet.ParquetFile(stamp.path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
    # The footer is written last: a file that was cut off has none.
    except (OSError, ArrowException):
        return SampleFile(path=stamp.path, hour=hour, rows=1, reason=UNREADABLE)
    version, reason = _version(schema)
    return SampleFile(path=stamp.path, hour=hour, version=version, rows=rows, reason=reason)


def _version(schema: Any) -> tuple[int, str]:
    mark = (schema.metadata or {}).get(MARK)
    types = {name: str(schema.field(name).type) for name in schema.names}
    if mark is None and {"started", "target_name", "window"} <= types.keys():
        return OLDEST, ""
    if mark != str(VERSION).encode():
        return 0, UNKNOWN_VERSION
    return VERSION, "" if _fits(types) else WRONG_COLUMNS


def _fits(types: Mapping[str, str]) -> bool:
    """A column that is not there is null; one that is there has its type."""
    for name, wanted in COLUMNS.items():
        found = types.get(name)
        if wanted == "timestamp":
            if found is None or not found.startswith(("timestamp[us", "timestamp[ms")):
                return False
        elif found is not None and found != TYPES[wanted]:
            return False
    return True
