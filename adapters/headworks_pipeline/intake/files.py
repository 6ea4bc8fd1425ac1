"""Intake of raw samples: the files of each hour, and the version that their footers tell. Rows are not read here."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections import defaultdict
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import attrs

from headworks.samples.rows import COLUMNS, VERSION
from headworks.samples.store import MARK
from headworks_pipeline.hadoop import HadoopPath
from headworks_pipeline.intake.compaction import PREFIX, file_line, replaced_by
from headworks_pipeline.places import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PLACE = re.compile(r"day=([0-9]{4}-[0-9]{2}-[0-9]{2})/hour=([0-9]{2})/[^._][^/]*\.parquet")
"""Day and hour in a file's path; names that begin with a dot or an underscore are drafts."""
AHEAD = timedelta(hours=1)
"""Time by which samples and states may be ahead of the run's clock: if larger, a monitor whose clock is wrong decides
what is newest; if smaller, one whose clock differs a little is not heard."""
UNREADABLE, UNKNOWN_VERSION, WRONG_COLUMNS = "half-written file", "unknown schema version", "columns of another type"
"""Reasons of whole files."""
TYPES = {"string": "string", "double": "double", "int32": "int32", "int64": "int64"}
"""Arrow's name of each type of the sample columns."""


@attrs.frozen(kw_only=True)
class Stamp:
    """A file as the folder lists it.

    Attributes:
        place: Where it is.
        lines: Name, bytes and time of the last change of the file, or of each of those that it stands for.
    """

    place: Place
    lines: tuple[str, ...]

    @property
    def path(self) -> str:
        """Absolute path, or URL."""
        return str(self.place)


@attrs.frozen(kw_only=True)
class SampleFile:
    """A file after a look at its footer, with the `reason` why it is not read, if there is one.

    `sources` are the names of the files that it stands for.
    """

    path: str
    hour: str
    rows: int = 0
    reason: str = ""
    sources: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Name without folders."""
        return PurePosixPath(self.path).name


def listing(folder: Place) -> dict[str, tuple[Stamp, ...]]:
    """The files of each hour (YYYY-MM-DDTHH), by path.

    Drafts, whose names begin with a dot, are passed over, and files that a compacted one stands for.
    """
    hours: dict[str, list[Stamp]] = defaultdict(list)
    there: Iterable[Place] = folder.walk() if isinstance(folder, HadoopPath) else folder.glob("day=*/hour=*/*.parquet")
    for path in sorted(there, key=str):
        if hour := hour_of(_below(path, folder)):
            # A file that goes meanwhile is one that another stands for.
            with contextlib.suppress(FileNotFoundError):
                lines = replaced_by(path) if path.name.startswith(PREFIX) else ()
                stamp = Stamp(place=path.absolute(), lines=lines or (file_line(path),))
                hours[hour].append(stamp)
    return {hour: _standing(hours[hour]) for hour in sorted(hours)}


def hour_of(path: str) -> str:
    """The hour (YYYY-MM-DDTHH) of a file by its path in a folder of samples, "" if it is in no hour that there is."""
    match = PLACE.fullmatch(path)
    return f"{match[1]}T{match[2]}" if match and _is_hour(match[1], match[2]) else ""


@lru_cache(1 << 14)
def _is_hour(day: str, hour: str) -> bool:
    try:
        datetime.strptime(f"{day} {hour}", "%Y-%m-%d %H")  # noqa: DTZ007 - only whether it can be read
    except ValueError:
        return False
    return True


def _below(path: Place, folder: Place) -> str:
    return str(path).removeprefix(str(folder)).lstrip("/")


def last_hour(now: datetime) -> str:
    """The last hour that is believed: those after it begin more than `AHEAD` after a moment."""
    return f"{now + AHEAD:%Y-%m-%dT%H}"


def _standing(stamps: list[Stamp]) -> tuple[Stamp, ...]:
    compacted = [each for each in stamps if each.place.name.startswith(PREFIX)]
    gone = {line for each in compacted for line in each.lines}
    return tuple(each for each in stamps if each in compacted or each.lines[0] not in gone)


def names(stamps: Iterable[Stamp]) -> frozenset[str]:
    """Names of files, without folders; of those that a compacted one stands for."""
    return frozenset(line.rsplit(" ", 2)[0] for each in stamps for line in each.lines)


def digest(stamps: Iterable[Stamp], tasks: str = "") -> str:
    """Digest of the input of an hour: another digest, another answer.

    Args:
        stamps: The files of the hour, in any order.
        tasks: Digest of the tasks that are known in that hour.
    """
    # Names without folders: the same samples elsewhere, or under another mount, are the same input. So are they when
    # they were compacted.
    lines = sorted(line for each in stamps for line in each.lines)
    return hashlib.sha256("\n".join([tasks, *lines]).encode()).hexdigest()[:16]


def inspect(hour: str, stamp: Stamp) -> SampleFile:
    """Look at the footer of a file."""
    # pyarrow is optional and costs 0.2 s; `headworks pipeline show` imports this module, and looks at no file.
    from pyarrow import ArrowException, parquet

    if not stamp.place.is_file():  # a pipe would be waited for
        return SampleFile(path=stamp.path, hour=hour, rows=1, reason=UNREADABLE, sources=names([stamp]))
    try:
        with stamp.place.open("rb") as content, parquet.ParquetFile(content) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
    # The footer is written last: a file that was cut off has none.
    except (OSError, ArrowException):
        return SampleFile(path=stamp.path, hour=hour, rows=1, reason=UNREADABLE, sources=names([stamp]))
    return SampleFile(path=stamp.path, hour=hour, rows=rows, reason=_reason(schema), sources=names([stamp]))


def _reason(schema: Any) -> str:
    if (schema.metadata or {}).get(MARK) != str(VERSION).encode():
        return UNKNOWN_VERSION
    types = {name: str(schema.field(name).type) for name in schema.names}
    return "" if _fits(types) else WRONG_COLUMNS


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
