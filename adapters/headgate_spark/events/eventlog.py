"""Event logs that Spark has written, read with the parser that reads the live events."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import attrs
import pyarrow as pa

from headgate.errors import EngineError
from headgate_spark.events.event import parse
from headgate_spark.events.history import History

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CODECS = {".zstd": "zstd", ".lz4": "lz4"}
"""pyarrow's codec for each suffix that Spark gives a compressed log."""
BLOCK = 1 << 16
"""Bytes that are decompressed at once: at the end of a log that was cut off, less than this is lost."""
ROLLED = re.compile(r"events_(\d+)_")
"""Name of a part of a rolling log; its number is the order, which names do not sort in."""


@attrs.frozen(kw_only=True, eq=False)
class Replay:
    """The content of a log.

    Attributes:
        history: Finished jobs and the batches of queries.
        lines: Lines of the log. `unread`: those that are no event, mostly the last one of a log that was cut off.
    """

    history: History
    lines: int
    unread: int


def replay(path: Path, *, kept: int = 1_000_000) -> Replay:
    """Read a log: one file, plain or compressed, or the folder of a rolling one.

    Sizes of single shuffle blocks are not in a log, so its jobs have no `shuffles`.

    Args:
        path: File or folder.
        kept: Jobs and batches that are remembered, the latest; older ones are forgotten.

    Raises:
        EngineError: There is no log, or its compression is not known.
    """
    history, lines, unread = History(kept), 0, 0
    for line in read_lines(path):
        lines += 1
        try:
            event = parse(line)
        except (ValueError, KeyError):
            unread += 1
            continue
        if event is not None:
            history.add(event)
    return Replay(history=history, lines=lines, unread=unread)


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a log in their order; a file that is still written, or was cut off, ends at its last whole block.

    Raises:
        EngineError: There is no log, or its compression is not known.
    """
    files = [path] if path.is_file() else _rolled(path)
    if not files:
        raise EngineError(f"{path} is no event log of Spark: expected a file, or a folder with files events_1_...")
    for file in files:
        yield from _lines(file)


def _rolled(folder: Path) -> list[Path]:
    found = [(int(match[1]), file) for file in folder.glob("events_*") if (match := ROLLED.match(file.name))]
    return [file for _, file in sorted(found)]


def _lines(file: Path) -> Iterator[str]:
    # A log that is written has `.inprogress`, one that Spark has compacted `.compact`, after the codec's suffix.
    suffix = file.name.removesuffix(".inprogress").removesuffix(".compact")
    codec = next((CODECS[each] for each in CODECS if suffix.endswith(each)), None)
    if codec is None and suffix.endswith((".snappy", ".lzf")):
        raise EngineError(f"{file} is compressed in a way that is not read: set spark.eventLog.compression.codec=zstd")
    if codec is None:
        with file.open(encoding="utf-8", errors="replace") as text:
            yield from text
        return
    with pa.OSFile(str(file)) as raw, pa.CompressedInputStream(raw, codec) as stream:
        yield from io.StringIO(_decompress(stream))


def _decompress(stream: object) -> str:
    blocks: list[bytes] = []
    try:
        while block := stream.read(BLOCK):  # type: ignore[attr-defined]
            blocks.append(block)
    except OSError:
        pass
    return b"".join(blocks).decode(errors="replace")
