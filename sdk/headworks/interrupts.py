"""SIGINT, SIGTERM and SIGHUP as exceptions of the main thread: never lost, never in the middle of a clean-up.

An exception raised by a signal's handler wakes whatever the main thread waits for. Python loses it at two moments.

What is raised while a finalizer runs (`__del__`, or the callback of a weak reference, of which py4j has one for each
Java object) is reported and dropped. A garbage collection is one long call, and the first finalizer after it the first
moment at which a handler can run: a program that collects much loses nearly every signal. So `sys.unraisablehook` sees
what was dropped, and has it raised on the next line of the function below, as a debugger stops there.

A signal that comes just before a system call, or that another thread takes, is looked at after that call. So a thread
hears of each signal over a pipe (`signal.set_wakeup_fd`), and nudges the main thread some times.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that ask a process to end: Ctrl-C, `kill`, and a terminal that closes."""

NUDGE = signal.SIGURG
"""Cuts a system call short, and does nothing else: a program that has no use for it ignores it."""

PAUSES = (0.01, 0.04, 0.15, 0.5, 2.0)
"""Seconds before each nudge that follows a signal; with longer ones a lost signal is raised later."""

_DROPPED, _ANSWERED = 254, 255
"""Events in the pipe, beside the numbers of signals that the interpreter writes to it."""


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
        self._limit = limit
        self._holds = 1
        self._pending = 0
        self._main = threading.get_ident()
        self._thread = threading.Thread(target=self._watch, name="headworks-interrupts", daemon=True)

    def __enter__(self) -> Self:
        """Install the handlers."""
        self._before = {number: signal.getsignal(number) for number in (*ENDINGS, NUDGE)}
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._thread.start()
        self._tracer = sys.gettrace()
        self._wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
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
        if self.number and self._limit:
            self._ignore()
            return
        self.uninstall()
        if sys.unraisablehook == self._unraisable:
            sys.unraisablehook = self._hook
        if sys.gettrace() is None:
            sys.settrace(self._tracer)  # what is raised by a tracer ends all tracing
        os.close(self._writer)
        self._thread.join()
        os.close(self._reader)
        self.release()

    def install(self) -> None:
        """Set the handlers, again if a library has set its own."""
        for number in ENDINGS:
            before = self._before[number]
            handler = self._handle if before in (signal.SIG_DFL, signal.default_int_handler) else before
            if handler is not None:  # one that was not set from Python
                signal.signal(number, handler)
        if self._before[NUDGE] in (signal.SIG_DFL, signal.SIG_IGN):
            signal.signal(NUDGE, self._nudged)

    def uninstall(self) -> None:
        """Put back the handlers, and hear of no signal any more."""
        for number, handler in self._before.items():
            if signal.getsignal(number) in (self._handle, self._nudged):
                signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup)

    def _ignore(self) -> None:
        """Ignore signals from now on: the process ends, and its limit holds until the interpreter has ended."""
        for number in ENDINGS:
            if signal.getsignal(number) == self._handle:
                signal.signal(number, signal.SIG_IGN)

    def hold(self) -> None:
        """Let signals wait until as many releases as holds have followed."""
        self._holds += 1

    def release(self) -> None:
        """End a hold; after the last one a signal that waits is raised."""
        self._holds -= 1
        self._deliver(None)

    @property
    def holding(self) -> bool:
        """True while signals wait."""
        return self._holds > 0

    def check(self) -> None:
        """Raise the signal again that came to a process with a limit, and that it has not answered."""
        if self.number and self._limit is not None:
            self._pending = self.number
            self._deliver(None)

    def answered(self) -> None:
        """Take the signal for dealt with: the process goes on, without a limit."""
        self.number = self._pending
        self._tell(_ANSWERED)
        if self._limit is not None:
            logging.disable(logging.NOTSET)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.number = self.number or number
        self._pending = number
        if self._limit is not None:
            logging.disable()  # libraries log a traceback for each call that is cut off
        self._deliver(frame)

    def _nudged(self, _number: int, frame: FrameType | None) -> None:
        self._deliver(frame)

    def _deliver(self, frame: FrameType | None) -> None:
        if not self._pending or self._holds or self._is_hook(frame):
            return
        number, self._pending = self._pending, 0
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated(128 + number)

    def _is_hook(self, frame: FrameType | None) -> bool:
        """Check whether the hook runs, whose exceptions are dropped as well."""
        while frame is not None and frame.f_code is not Interrupts._unraisable.__code__:
            frame = frame.f_back
        return frame is not None

    def _unraisable(self, dropped: sys.UnraisableHookArgs) -> None:
        error = dropped.exc_value
        if not isinstance(error, KeyboardInterrupt) or threading.get_ident() != self._main:
            self._hook(dropped)
            return
        number = int(str(error.code)) - 128 if isinstance(error, Terminated) else signal.SIGINT
        self._pending = self._pending or number
        self._tell(_DROPPED)
        sys._getframe(1).f_trace = self._step  # noqa: SLF001 - the function in which the finalizer ran
        sys.settrace(lambda *_: None)

    def _step(self, frame: FrameType, _event: str, _value: object) -> None:
        sys.settrace(self._tracer)
        frame.f_trace = None
        self._deliver(frame)

    def _tell(self, event: int) -> None:
        with contextlib.suppress(OSError):  # it is full of events, and one more makes no difference
            os.write(self._writer, bytes([event]))

    def _watch(self) -> None:
        """Nudge the main thread some times after each event, and end the process at its limit."""
        nudges, limit = list[float](), float("inf")
        while True:
            next_ = min([limit, *nudges[:1]])
            wait = None if next_ == float("inf") else max(0.0, next_ - time.monotonic())
            if select.select([self._reader], [], [], wait)[0]:
                events = os.read(self._reader, 1024)
                if not events:
                    return
                now = time.monotonic()
                limit = self._limit_after(events, now, limit)
                if set(events) - {NUDGE}:
                    nudges = [now + pause for pause in PAUSES]
            elif next_ == limit:
                os._exit(128 + self.number)
            else:
                del nudges[0]
                signal.pthread_kill(self._main, NUDGE)

    def _limit_after(self, events: bytes, now: float, limit: float) -> float:
        """Deadline by which the process is ended, counted from the first signal that is not answered."""
        if _ANSWERED in events:
            return float("inf")
        if self._limit is None or not {*events} & {*ENDINGS}:
            return limit
        return min(limit, now + self._limit)


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


def holding() -> bool:
    """Check whether a step runs that must be whole, so that signals wait."""
    return _active is not None and _active.holding


def keep() -> None:
    """Set the handlers again where signals are handled: PySpark sets one for Ctrl-C, which calls the JVM in a call."""
    if _active is not None and threading.current_thread() is threading.main_thread():
        _active.install()


def arrived() -> int:
    """The number of the signal that came and was not answered, 0 if there is none or nothing handles signals."""
    return _active.number if _active is not None else 0


def meant(error: BaseException) -> bool:
    """Check whether an exception in the main thread stands for a signal, and was not raised by somebody's code.

    Where nothing handles signals nobody can tell, and every `KeyboardInterrupt` counts as one.
    """
    if not isinstance(error, KeyboardInterrupt) or threading.current_thread() is not threading.main_thread():
        return False
    return _active is None or _active.number != 0


def check() -> None:
    """End a command that goes on although a signal came: for loops that live through errors.

    A library may put an error of its own in the place of the exception: py4j does where it cannot close a connection.
    """
    if _active is not None and threading.current_thread() is threading.main_thread():
        _active.check()


def answered() -> None:
    """Take the signal that came for dealt with: the program goes on."""
    if _active is not None and threading.current_thread() is threading.main_thread():
        _active.answered()


def _forget() -> None:
    """A process that was forked has handlers of its own, and no thread that watches."""
    global _active
    if _active is not None:
        _active.uninstall()
        _active = None


os.register_at_fork(after_in_child=_forget)
