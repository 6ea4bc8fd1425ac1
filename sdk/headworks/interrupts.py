"""SIGINT, SIGTERM and SIGHUP as exceptions of the main thread, and a limit at which the process ends whatever it does.

The exception wakes whatever the main thread waits for. Python may lose it: it drops what is raised while a finalizer
runs, and looks at a signal that comes just before a system call only after that call. So a command has a limit: a
thread hears of each signal over a pipe (`signal.set_wakeup_fd`), and ends the process some seconds after the first. The
reaper (`headworks_local.reaper`) then ends all that the process started.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import threading
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that ask a process to end: Ctrl-C, `kill`, and a terminal that closes."""

_ANSWERED = 255
"""Event in the pipe, beside the numbers of signals that the interpreter writes to it."""


class Terminated(SystemExit, KeyboardInterrupt):
    """SIGTERM or SIGHUP came; `code` is the exit code that a shell would show, 128 and the number of the signal.

    A `KeyboardInterrupt` as well, for which libraries put their affairs in order: py4j closes the connection of a call
    that was cut off, instead of reading the answer of that call as the answer of the next one.
    """


class Interrupts:
    """Handlers of `ENDINGS` while the context is entered; to be used in the main thread.

    Signals that are ignored, or have another handler than Python's own, are left alone.

    Attributes:
        number: The first signal that came and was not answered, 0 if there is none.
    """

    def __init__(self, limit: float | None = None) -> None:
        """Install nothing yet.

        Args:
            limit: Seconds after a signal at which the process is ended without further ado; by default it never is.
        """
        self.number = 0
        self._limit = None if limit is None else _Limit(limit)
        self._holds = 1
        self._pending = 0

    def __enter__(self) -> Self:
        self._before = {number: signal.getsignal(number) for number in ENDINGS}
        if self._limit is not None:
            self._limit.start()
        self.install()
        try:
            self.release()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        """Put back what was there before; a signal that waits is raised now. A process with a limit ends instead."""
        self.hold()
        if self.number and self._limit is not None:
            for number in self._own():
                signal.signal(number, signal.SIG_IGN)  # the limit holds until the interpreter has ended
            return
        self.uninstall()
        if self._limit is not None:
            self._limit.stop()
        self.release()

    def install(self) -> None:
        """Set the handlers, again if a library has set its own."""
        for number, before in self._before.items():
            handler = self._handle if before in (signal.SIG_DFL, signal.default_int_handler) else before
            if handler is not None:  # one that was not set from Python
                signal.signal(number, handler)

    def uninstall(self) -> None:
        """Put back the handlers, and hear of no signal any more."""
        for number in self._own():
            signal.signal(number, self._before[number])
        if self._limit is not None:
            self._limit.forget()

    def _own(self) -> list[signal.Signals]:
        return [number for number in ENDINGS if signal.getsignal(number) == self._handle]

    def hold(self) -> None:
        """Let signals wait until as many releases as holds have followed."""
        self._holds += 1

    def release(self) -> None:
        """End a hold; after the last one a signal that waits is raised."""
        self._holds -= 1
        self._deliver()

    @property
    def holding(self) -> bool:
        """True while signals wait."""
        return self._holds > 0

    @contextlib.contextmanager
    def lend(self) -> Iterator[Interrupts]:
        """Have signals raised in the block as ever, but without a limit: who catches one there goes on.

        One that leaves the block is this object's again, and its limit begins. Handlers that were set there end.
        """
        self.uninstall()
        other = Interrupts()
        try:
            with other:
                yield other
        except KeyboardInterrupt:
            self.number = self.number or other.number
            raise
        finally:
            if self._limit is not None:
                self._limit.hear(self.number)
            self.install()

    def check(self) -> None:
        """Raise the signal again that came to a process with a limit, and that it has not answered."""
        if self.number and self._limit is not None:
            self._pending = self.number
            self._deliver()

    def answered(self) -> None:
        """Take the signal for dealt with: the process goes on, without a limit."""
        self.number = self._pending
        if self._limit is not None:
            self._limit.lift()
            logging.disable(logging.NOTSET)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self.number = self.number or number
        self._pending = number
        if self._limit is not None:
            logging.disable()  # libraries log a traceback for each call that is cut off
        self._deliver()

    def _deliver(self) -> None:
        if not self._pending or self._holds:
            return
        number, self._pending = self._pending, 0
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated(128 + number)


class _Limit:
    """Thread that ends the process some seconds after the first signal that is not answered."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._thread = threading.Thread(target=self._watch, name="headworks-interrupts", daemon=True)

    def start(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._thread.start()
        self._before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)

    def hear(self, number: int) -> None:
        """Hear of signals again; of one that came meanwhile now, unless it is 0."""
        self._before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        if number:
            os.write(self._writer, bytes([number]))

    def forget(self) -> None:
        """Hear of no signal any more."""
        signal.set_wakeup_fd(self._before)

    def stop(self) -> None:
        """End the thread."""
        os.close(self._writer)
        self._thread.join()
        os.close(self._reader)

    def lift(self) -> None:
        """Let the process go on, until the next signal."""
        with contextlib.suppress(OSError):  # it is full of events, and one more makes no difference
            os.write(self._writer, bytes([_ANSWERED]))

    def _watch(self) -> None:
        end, first = float("inf"), 0
        while True:
            wait = None if end == float("inf") else max(0.0, end - time.monotonic())
            if not select.select([self._reader], [], [], wait)[0]:
                os._exit(128 + first)
            events = os.read(self._reader, 1024)
            if not events:
                return
            if _ANSWERED in events:
                end, first = float("inf"), 0
            elif not first and (came := [each for each in events if each in ENDINGS]):
                end, first = time.monotonic() + self._seconds, came[0]


_active: Interrupts | None = None


@contextlib.contextmanager
def handled(limit: float | None = None) -> Iterator[Interrupts | None]:
    """Handle signals in the block; without effect outside the main thread, and within another such block.

    Args:
        limit: Seconds after a signal at which the process is ended without further ado; by default it never is.

    Yields:
        What has come, None outside the main thread.

    Raises:
        KeyboardInterrupt: SIGINT came.
        Terminated: SIGTERM or SIGHUP came.
    """
    global _active
    if threading.current_thread() is not threading.main_thread():
        yield None
    elif _active is not None:
        yield _active
    else:
        try:
            with Interrupts(limit) as _active:
                yield _active
        finally:
            _active = None


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Let signals wait until the block has ended: for a step that must be whole, and for an end that must be sure."""
    with handled() as interrupts:
        if interrupts is None:
            yield
            return
        interrupts.hold()
        try:
            yield
        finally:
            interrupts.release()


@contextlib.contextmanager
def lent() -> Iterator[None]:
    """Lend signals to a user's program, which may catch one and go on, or have handlers of its own, in the block.

    Without effect where nothing handles signals.

    Raises:
        KeyboardInterrupt: SIGINT came, and the program did not catch it.
        Terminated: SIGTERM or SIGHUP came, likewise.
    """
    global _active
    if (mine := _mine()) is None:
        yield
        return
    try:
        with mine.lend() as _active:
            yield
    finally:
        _active = mine


def _mine() -> Interrupts | None:
    """What handles signals, in the main thread."""
    return _active if threading.current_thread() is threading.main_thread() else None


def signals_held() -> bool:
    """Check whether a step runs that must be whole, so that signals wait."""
    return _active is not None and _active.holding


def reinstall() -> None:
    """Set the handlers again where signals are handled: PySpark sets one for Ctrl-C, which calls the JVM in a call."""
    if (active := _mine()) is not None:
        active.install()


def pending_signal() -> int:
    """The number of the signal that came and was not answered, 0 if there is none or nothing handles signals."""
    return _active.number if _active is not None else 0


def is_signal(error: BaseException) -> bool:
    """Check whether an exception in the main thread stands for a signal, and was not raised by somebody's code.

    Where nothing handles signals nobody can tell, and every `KeyboardInterrupt` counts as one.
    """
    if not isinstance(error, KeyboardInterrupt) or threading.current_thread() is not threading.main_thread():
        return False
    return _active is None or _active.number != 0


def raise_pending() -> None:
    """End a command that goes on although a signal came: for loops that live through errors.

    Python drops the exception in a finalizer, and a library may put an error of its own in its place: py4j does where
    it cannot close a connection.
    """
    if (active := _mine()) is not None:
        active.check()


def dismiss() -> None:
    """Take the signal that came for dealt with: the program goes on."""
    if (active := _mine()) is not None:
        active.answered()


def _forget() -> None:
    """A process that was forked has handlers of its own, and no thread that watches."""
    global _active
    if _active is not None:
        _active.uninstall()
        _active = None


os.register_at_fork(after_in_child=_forget)
