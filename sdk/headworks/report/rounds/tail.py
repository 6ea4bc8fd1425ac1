"""The rounds of a journal while it grows: what is new since the last look, and one round again."""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, BinaryIO

from headworks.control.journal import Round, journal_files, read_record
from headworks.documents import restore
from headworks.errors import DocumentError
from headworks.report.decisions import Decision
from headworks.report.rounds.scene import summary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEPT = 2**28
"""Bytes of records that can be asked for again. The journal of a large cluster is longer than memory."""
SUMMARIES = 2000
"""Rounds of a timeline."""


class JournalTail:
    """A journal that is read as it grows, by any thread; it goes on in the new file where it is put aside.

    Attributes:
        summaries: The newest rounds, oldest first, as plain data.
    """

    def __init__(self, path: Path, *, kept: int = KEPT) -> None:
        """Read what is there.

        Args:
            path: The journal.
            kept: Bytes of records that are kept.

        Raises:
            DocumentError: It cannot be read.
        """
        self.path, self._most = path, kept
        self.summaries: deque[dict[str, Any]] = deque(maxlen=SUMMARIES)
        self._lines: deque[tuple[int, bytes]] = deque()
        self._size = self._count = 0
        self._rest = b""
        self._lock = threading.Lock()
        self._files = deque(journal_files(path))
        self._file = self._open()
        self.refresh()

    def close(self) -> None:
        """Close its file."""
        self._file.close()

    def refresh(self) -> None:
        """Read what is new.

        Raises:
            DocumentError: The journal cannot be read, or a record is none of a round.
        """
        with self._lock:
            for line in self._new_lines():
                if record := read_record(line):
                    self._count += 1
                    self._keep(line)
                    self.summaries.append(summary(Decision(record=self._count, round=restore(record, Round))))

    def decision(self, record: int) -> Decision:
        """A round again.

        Raises:
            DocumentError: It is not in the journal, or so long ago that it is not kept.
        """
        with self._lock:
            line = next((line for number, line in self._lines if number == record), None)
        if line is None:
            raise DocumentError("", f"record {record} is not kept; {self._count} were read")
        return Decision(record=record, round=restore(read_record(line), Round))

    def _keep(self, line: bytes) -> None:
        self._lines.append((self._count, line))
        self._size += len(line)
        while self._size > self._most and len(self._lines) > 1:
            self._size -= len(self._lines.popleft()[1])

    def _new_lines(self) -> Iterator[bytes]:
        while True:
            for part in self._file:
                self._rest += part
                if self._rest.endswith(b"\n"):
                    line, self._rest = self._rest, b""
                    yield line
            if not self._is_aside():
                return
            self._file.close()
            self._rest = b""
            self._file = self._open()

    def _is_aside(self) -> bool:
        """Check whether the journal goes on in another file, and find those that follow this one."""
        if self._files:
            return True
        mine, files = os.fstat(self._file.fileno()), journal_files(self.path)
        try:
            found = [(each.stat().st_dev, each.stat().st_ino) for each in files]
        except OSError:
            return False  # files are being put aside
        at = (mine.st_dev, mine.st_ino)
        self._files.extend(files[found.index(at) + 1 :] if at in found else files)
        return bool(self._files)

    def _open(self) -> BinaryIO:
        path = self._files.popleft()
        try:
            return path.open("rb")
        except OSError as error:
            raise DocumentError("", f"the journal {path} cannot be read: {error.strerror}") from None
