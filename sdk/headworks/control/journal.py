"""The append-only record of every round: one JSON object a line, from which a decision can be made again."""

from __future__ import annotations

import glob
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headworks.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Journal(Protocol):
    """Sink of round records."""

    def append(self, record: Mapping[str, Any]) -> None:
        """Record one round."""


class NoJournal:
    """Records nothing."""

    def append(self, record: Mapping[str, Any]) -> None:
        """Forget the round."""


LARGEST = 2**28
"""Bytes of a file of a rotated journal, about. A record of a large cluster is megabytes."""
FILES = 8
"""Older files of a rotated journal that are kept, `NAME.1` the newest."""


class FileJournal:
    """Records in a file. A record is one write of one line, flushed to disk; an older file is continued.

    A line that a crash or a full disk cut off is ended first, so that it spoils no other.
    """

    def __init__(self, path: str | Path, *, largest: int | None = None, files: int = FILES) -> None:
        """Open the file for appending.

        Args:
            largest: Bytes from which on the file is put aside as `NAME.1`, before that `NAME.1` as `NAME.2` and so on;
                None never does.

        Raises:
            DocumentError: The file cannot be written.
        """
        self.path = Path(path)
        self._largest, self._files = largest, files
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._whole = _ends_a_line(self.path)
        except OSError as error:
            raise self._unwritable(error) from None
        self._write("")

    def append(self, record: Mapping[str, Any]) -> None:
        """Record one round.

        Raises:
            DocumentError: The file cannot be written any more.
        """
        self._write(json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n")

    def _write(self, text: str) -> None:
        try:
            self._rotate()
            with self.path.open("ab") as file:
                ended, self._whole = self._whole, False
                file.write(text.encode() if ended else b"\n" + text.encode())
                file.flush()
                os.fsync(file.fileno())
                self._whole = True
        except OSError as error:
            raise self._unwritable(error) from None

    def _rotate(self) -> None:
        """Put a file aside that is large enough: the oldest is dropped, each other one a number older."""
        if self._largest is None or not self.path.exists() or self.path.stat().st_size < self._largest:
            return
        for number in range(self._files - 1, 0, -1):
            if (older := _aside(self.path, number)).exists():
                older.replace(_aside(self.path, number + 1))
        self.path.replace(_aside(self.path, 1))
        self._whole = True

    def _unwritable(self, error: OSError) -> DocumentError:
        return DocumentError("", f"the journal {self.path} cannot be written: {error.strerror}")


def _aside(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def _ends_a_line(path: Path) -> bool:
    with path.open("a+b") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def read_journal(path: str | Path) -> Iterator[dict[str, Any]]:
    """Records of a journal and the files that it put aside, oldest first; lines that were cut off are left out.

    Raises:
        DocumentError: The file cannot be read.
    """
    older = Path(path).parent.glob(f"{glob.escape(Path(path).name)}.*")
    numbers = sorted((int(each.suffix[1:]) for each in older if each.suffix[1:].isdecimal()), reverse=True)
    for each in (*(_aside(Path(path), number) for number in numbers), Path(path)):
        try:
            with each.open("rb") as file:
                yield from filter(None, map(_record, file))
        except OSError as error:
            raise DocumentError("", f"the journal {each} cannot be read: {error.strerror}") from None


def _record(line: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
    except ValueError:
        return {}
    return found
