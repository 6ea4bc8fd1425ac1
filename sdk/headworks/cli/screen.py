"""Rounds and messages shown by a service: whoever reads them slowly, or not at all, holds up nobody."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
from typing import TYPE_CHECKING, TextIO

from headworks.cli.control import round_text

if TYPE_CHECKING:
    from headworks.control.outbox import Outbox
    from headworks.control.round import Round


class Screen:
    """Writes to stdout and stderr by an outbox, whose thread alone stands where a pipe is full.

    Attributes:
        lost: Rounds and messages that were not shown: the queue was full, nobody reads any more, or they failed.
    """

    def __init__(self, outbox: Outbox, *, as_json: bool) -> None:
        """Take the way there.

        Args:
            outbox: The queue.
            as_json: Show rounds as JSON.
        """
        self._outbox, self._as_json = outbox, as_json
        self._unread = self._told = 0

    @property
    def lost(self) -> int:
        """Rounds and messages that were not shown."""
        return self._unread + self._outbox.lost

    def show(self, done: Round) -> None:
        """Show a round when its turn comes."""
        self._outbox.put(lambda: self._write(*round_text(done, as_json=self._as_json)))

    def say(self, message: str) -> None:
        """Say something on stderr when its turn comes."""
        self._outbox.put(lambda: self._write(f"{message}\n", ""))

    def _write(self, message: str, data: str) -> None:
        if self.lost > self._told:
            self._told, lost = self.lost, self.lost - self._told
            message = f"{lost} rounds and messages were not shown: nobody read them in time\n{message}"
        try:
            _put(sys.stderr, message)
            _put(sys.stdout, data)
        except (OSError, ValueError):  # whoever read has gone, or the stream is closed
            self._unread += 1


class ScreenHandler(logging.Handler):
    """Handler of log records that shows them on a screen, and so keeps no thread waiting that logs."""

    def __init__(self, screen: Screen) -> None:
        """Take the screen."""
        super().__init__()
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        """Show a record when its turn comes."""
        self._screen.say(self.format(record))


def _put(stream: TextIO, text: str) -> None:
    # Past Python's own buffer: a thread that stands in it holds its lock, and then no process ends in order.
    with contextlib.suppress(io.UnsupportedOperation):
        descriptor, left = stream.fileno(), text.encode(stream.encoding or "utf-8", "replace")
        while left:
            left = left[os.write(descriptor, left) :]
        return
    stream.write(text)
