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
    """Where rounds are recorded."""

    def append(self, record: Mapping[str, Any]) -> None:
        """Record one round."""


class NoJournal:
    """Records nothing."""

    def append(self, record: Mapping[str, Any]) -> None:
        """Forget the round."""


class FileJournal:
    """Records in a file. A record is one write of one line, flushed to disk; an older file is continued."""

    def __init__(self, path: str | Path) -> None:
        """Open the file for appending.

        Raises:
            DocumentError: The file cannot be written.
        """
        self.path = Path(path)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab"):
                pass
        except OSError as error:
            raise DocumentError("", f"the journal {path} cannot be written: {error.strerror}") from None

    def append(self, record: Mapping[str, Any]) -> None:
        """Record one round."""
        line = json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n"
        with self.path.open("ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())


def read_journal(path: str | Path) -> Iterator[dict[str, Any]]:
    """Records of a journal, oldest first; a last line that was cut off by a crash is left out."""
    with Path(path).open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield json.loads(line)
