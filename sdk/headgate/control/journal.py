"""The append-only record of every round: one JSON object a line, from which a decision can be made again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headgate.errors import DocumentError

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


class FileJournal:
    """Records in a file. A record is one write of one line, flushed to disk; an older file is continued.

    A line that a crash cut off is ended first, so that it spoils no other.
    """

    def __init__(self, path: str | Path) -> None:
        """Open the file for appending.

        Raises:
            DocumentError: The file cannot be written.
        """
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            whole = _ends_a_line(self.path)
        except OSError as error:
            raise self._unwritable(error) from None
        self._write("" if whole else "\n")

    def append(self, record: Mapping[str, Any]) -> None:
        """Record one round.

        Raises:
            DocumentError: The file cannot be written any more.
        """
        self._write(json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n")

    def _write(self, text: str) -> None:
        try:
            with self.path.open("ab") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> DocumentError:
        return DocumentError("", f"the journal {self.path} cannot be written: {error.strerror}")


def _ends_a_line(path: Path) -> bool:
    with path.open("a+b") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def read_journal(path: str | Path) -> Iterator[dict[str, Any]]:
    """Records of a journal, oldest first; a line that was cut off by a crash is left out.

    Raises:
        DocumentError: The file cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            yield from filter(None, map(_record, file))
    except OSError as error:
        raise DocumentError("", f"the journal {path} cannot be read: {error.strerror}") from None


def _record(line: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
    except ValueError:
        return {}
    return found
