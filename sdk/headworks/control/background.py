"""Records and messages that leave on threads of their own: a full disk or a stuck pipe holds up nobody who decides."""

from __future__ import annotations

import logging
import queue
import threading
from typing import TYPE_CHECKING, Any, Self

from headworks.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headworks.control.journal import Journal

LOG = logging.getLogger("headworks.control.background")
WAITING = 64
"""Entries that wait at most. One of a large cluster is megabytes."""
PATIENCE = 2.0
"""Seconds that the end of a process waits for what is left."""


class BackgroundQueue:
    """Does one thing after the other on a thread of its own, in a `with` block; any thread may put things in.

    Attributes:
        dropped: Entries that found the queue full.
        failed: Entries that raised, against what `put` asks for.
    """

    def __init__(self, name: str, *, waiting: int = WAITING) -> None:
        self.dropped = self.failed = 0
        self._lock = threading.Lock()
        self._queue: queue.Queue[Callable[[], None] | None] = queue.Queue(waiting)
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def lost(self) -> int:
        """Entries that were not done, or not to their end."""
        return self.dropped + self.failed

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Wait for what is left, though not for ever."""
        try:
            self._queue.put(None, timeout=PATIENCE / 2)
        except queue.Full:
            return
        self._thread.join(PATIENCE / 2)

    def put(self, work: Callable[[], None]) -> None:
        """Do something when its turn comes; without waiting, it is dropped where too much waits already.

        Args:
            work: Raises nothing; if it does, that is counted and logged, and the next one is done.
        """
        try:
            self._queue.put_nowait(work)
        except queue.Full:
            with self._lock:
                self.dropped += 1

    def _run(self) -> None:
        broken = False
        while (work := self._queue.get()) is not None:
            try:
                work()
            except Exception:
                self.failed += 1
                if not broken:  # the first of several: what shows the log may be what fails
                    LOG.exception("%s could not do an entry, and goes on", self._thread.name)
                broken = True
            else:
                broken = False


class QueuedJournal:
    """Journal that a background queue writes to; what cannot be written is counted and said.

    Attributes:
        journal: The sink.
        lost: Records that could not be made or written, and those that found the queue full.
        trouble: What is wrong, "" where the last record was written.
    """

    def __init__(self, journal: Journal, background: BackgroundQueue, say: Callable[[str], None]) -> None:
        """Take the sink and the way there.

        Args:
            say: Is told when records begin to be lost and when they are written again; does not block.
        """
        self.journal, self._background, self._say = journal, background, say
        self._failed = 0
        self.trouble = ""

    @property
    def lost(self) -> int:
        """Records that are not in the journal."""
        return self._failed + self._background.lost

    @property
    def status(self) -> str:
        """A sentence for people while records are lost; "" while all is well."""
        if self.trouble:
            return f"{self.trouble}; {self.lost} rounds are not in it"
        return ""

    def append(self, record: Mapping[str, Any]) -> None:
        """Record one round when its turn comes."""
        self.append_made(lambda: record)

    def append_made(self, make: Callable[[], Mapping[str, Any]]) -> None:
        """Record one round, whose record is made on the thread of the background queue."""
        before = self._background.dropped
        self._background.put(lambda: self._write(make))
        if self._background.dropped > before and not self.trouble:
            self.trouble = "the journal is written too slowly"
            self._say(self.status)

    def _write(self, make: Callable[[], Mapping[str, Any]]) -> None:
        try:
            self.journal.append(make())
        except DocumentError as error:
            self._failed += 1
            began, self.trouble = not self.trouble, str(error)
            if began:
                self._say(self.status)
            return
        if self.trouble:
            self.trouble = ""
            self._say(f"the journal is written again; {self.lost} rounds are not in it")
