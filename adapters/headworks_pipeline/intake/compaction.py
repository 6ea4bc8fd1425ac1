"""Compaction of samples: the small files of an hour that is over become one, which stands for them.

A monitor writes a file a window, and all that a file costs beside its rows is paid hundreds of times an hour. The file
that replaces them lists their names, sizes and times, so a reader can tell which of them it still sees beside it, and
that nothing is new. They are removed later, when nobody reads them any more.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import attrs

from headworks.errors import EngineError
from headworks.samples.store import MARK, arrow_schema
from headworks_pipeline.hadoop import HadoopPath

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from headworks_pipeline.places import Place

PREFIX = "compacted-"
"""Beginning of the names of files that stand for others."""
REPLACES = b"headworks.replaces"
"""Key in the metadata of such a file: the others as JSON, each as `file_line` writes it."""
LEAST = 8
"""Small files that are worth a pass: if larger, more of them stay; if smaller, late files are rewritten one by one."""
WAIT = timedelta(minutes=15)
"""Time after the end of an hour before its files are compacted: if larger, small files stay for longer; if smaller,
late ones come after it, and wait for others."""
GRACE = timedelta(minutes=10)
"""Time for which files stay that another one stands for: if larger, their room is given back later; if smaller, a job
that has listed them may find them gone."""


@attrs.frozen(kw_only=True)
class Compaction:
    """Result of a pass: files that became others, the files that they became, and files that were removed."""

    replaced: int = 0
    written: int = 0
    removed: int = 0


def file_line(file: Place) -> str:
    """Name, bytes and time of the last change of a file: another line, another content."""
    # Of a loop of links, or one to nowhere, it is that of the link.
    status = file.stat() if isinstance(file, HadoopPath) or file.exists() else file.lstat()
    return f"{file.name} {status.st_size} {status.st_mtime_ns}"


def replaced_by(file: Place) -> tuple[str, ...]:
    """Lines of the files that a compacted one stands for; none if it cannot be read."""
    # pyarrow costs 0.2 s, and is an extra.
    from pyarrow import ArrowException, parquet

    if not file.is_file():
        return ()
    try:
        with file.open("rb") as content:
            text = (parquet.read_schema(content).metadata or {}).get(REPLACES, b"[]")
        return tuple(json.loads(text))
    except (OSError, ArrowException, ValueError):
        return ()


def compact(
    folder: Path, now: datetime, *, least: int = LEAST, wait: timedelta = WAIT, grace: timedelta = GRACE
) -> Compaction:
    """Compact the hours of a folder that are over, and remove files that others have stood for long enough.

    Killed at any moment, no row is lost and none counts twice; two that compact at once write the same files.

    Args:
        folder: Folder of the samples.
        now: Present time.
        least: Files below which an hour is left as it is.
        wait: Time after the end of an hour before it is compacted.
        grace: Time for which replaced files stay.

    Raises:
        EngineError: pyarrow is missing, or a file cannot be written or removed.
    """
    replaced = written = removed = 0
    for hour in sorted(folder.glob("day=*/hour=*")):
        try:
            end = datetime.strptime(f"{hour.parent.name} {hour.name}", "day=%Y-%m-%d hour=%H").replace(tzinfo=UTC)
        except ValueError:  # a folder of somebody else
            continue
        try:
            removed += _remove_replaced(hour, now - grace)
            if now >= end + timedelta(hours=1) + wait:
                small = list(_small(hour))
                merged = _merge(hour, small, least) if len(small) >= least else 0
                replaced, written = replaced + merged, written + bool(merged)
        except OSError as error:
            raise EngineError(f"the samples in {hour} cannot be compacted: {error.strerror or error}") from None
    return Compaction(replaced=replaced, written=written, removed=removed)


def _remove_replaced(hour: Path, before: datetime) -> int:
    removed = 0
    for compacted in hour.glob(f"{PREFIX}*.parquet"):
        if compacted.stat().st_mtime < before.timestamp():
            for file in standing(hour, replaced_by(compacted)):
                file.unlink(missing_ok=True)
                removed += 1
    return removed


def standing(hour: Path, lines: Collection[str]) -> Iterator[Path]:
    """Files that are there as some lines say; one that was written again since is another file.

    Args:
        hour: Folder of an hour.
        lines: As `file_line` writes them.
    """
    for line in lines:
        file = hour / line.rsplit(" ", 2)[0]
        if file.exists() and file_line(file) == line:
            yield file


def _small(hour: Path) -> Iterator[Path]:
    """Sound files of the present version that nothing stands for yet."""
    # pyarrow costs 0.2 s, and is an extra.
    from pyarrow import ArrowException, parquet

    gone = {line for each in hour.glob(f"{PREFIX}*.parquet") for line in replaced_by(each)}
    for file in sorted(hour.glob("[!._]*.parquet")):
        if file.name.startswith(PREFIX) or not file.is_file() or file_line(file) in gone:
            continue
        try:
            schema = parquet.read_schema(file)
        except (OSError, ArrowException):  # cut off: the pipeline says so
            continue
        # All columns in their types, or the file is left for the pipeline to judge.
        if (schema.metadata or {}).get(MARK) == arrow_schema().metadata[MARK] and schema.equals(arrow_schema()):
            yield file


def _merge(hour: Path, files: Sequence[Path], least: int) -> int:
    """Write the file that stands for those that can be read to their ends; their number, 0 if they are too few."""
    # pyarrow costs 0.2 s, and is an extra.
    from pyarrow import ArrowException, concat_tables, parquet

    found: dict[str, Any] = {}
    for file in files:
        # Damaged pages, or a file that goes or changes meanwhile: it stays as it is, for the pipeline to judge.
        with contextlib.suppress(OSError, ArrowException):
            line = file_line(file)
            table = parquet.read_table(file, partitioning=None)
            if file_line(file) == line:
                found[line] = table
    if len(found) < least:
        return 0
    lines, tables = list(found), list(found.values())
    metadata = arrow_schema().metadata | {REPLACES: json.dumps(lines).encode()}
    name = f"{PREFIX}{hashlib.sha256(json.dumps(lines).encode()).hexdigest()[:16]}.parquet"
    # Rows of a task one after the other: names repeat, and compress to nothing.
    order = [(column, "ascending") for column in ("kind", "origin", "task", "target", "node", "number")]
    _write(hour / name, concat_tables(tables).sort_by(order).replace_schema_metadata(metadata))
    return len(lines)


def _write(file: Path, table: Any) -> None:
    # pyarrow costs 0.2 s, and is an extra.
    from pyarrow import parquet

    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with draft.open("wb") as stream:
            parquet.write_table(table, stream, compression="zstd")
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
