"""Deadlines of hooks: nobody waits longer for a plugin than its hook may take, whatever the plugin does.

A call runs in a thread of its own, which is abandoned at the deadline: Python cannot stop a thread. What has to run in
the main thread, as imports and the engine that a user opens, is cut off there by a signal.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from headworks.interrupts import signals_held

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

T = TypeVar("T")

LOST = "headworks-abandoned-"
"""Prefix of the name of a thread in which an abandoned call is still going."""
RING = signal.SIGVTALRM
"""Signal to the main thread that its deadline is over; programs use it as the end of a timer of processor time."""
AGAIN = 1.0
"""Seconds after which code is cut off again that went on."""
LOADING = 60.0
"""Seconds for the import of a plugin, and for its description."""
LEAVING = 300.0
"""Seconds for the end of an engine's context."""

DEADLINES: Mapping[str, float] = {
    "headworks_analyse": 60.0,
    "headworks_describe": LOADING,
    "headworks_documents": 60.0,
    "headworks_execute": 900.0,
    "headworks_intake": 60.0,
    "headworks_keeps": 60.0,
    "headworks_needs": 60.0,
    "headworks_observe": 120.0,
    "headworks_on_round": 30.0,
    "headworks_open": 1800.0,
    "headworks_preflight": 60.0,
    "headworks_prioritise": 60.0,
    "headworks_review": 30.0,
    "headworks_rollback": 900.0,
    "headworks_scale": 900.0,
    "headworks_workloads": 60.0,
}
"""Seconds that a hook may take, `headworks_observe` beyond its window."""

SHORTER_ONLY = frozenset({"headworks_describe", "headworks_on_round", "headworks_review"})
"""Hooks that are called unasked: a plugin that nobody named may not take longer than any other."""

ONE_TARGET = frozenset(
    {
        *("headworks_observe", "headworks_preflight", "headworks_keeps", "headworks_intake"),
        *("headworks_execute", "headworks_rollback", "headworks_scale"),
    }
)
"""Hooks on one target, of which one is called at a time: while one is going that was abandoned, none is called."""


class Overdue(BaseException):
    """End of a hook's deadline; `str` says what is done about it. Code that catches all errors does not catch it."""


@attrs.define(eq=False)
class _Asked:
    thread: threading.Thread
    done: threading.Event = attrs.field(factory=threading.Event)
    value: Any = None
    error: BaseException | None = None


def deadline_of(hook: str, declared: Mapping[str, float], window: float = 0.0) -> float | None:
    """Seconds that a hook may take; None where it takes what it takes, as an experiment does.

    Args:
        declared: Seconds by name of the hook, as the plugin describes itself.
        window: Seconds of engine time that it was asked to measure.
    """
    usual = DEADLINES.get(hook)
    if usual is None:
        return None
    seconds = declared.get(hook, usual)
    return window + (min(seconds, usual) if hook in SHORTER_ONLY else seconds)


class Calls:
    """Calls of the hooks of one host's plugins, each in a thread of its own."""

    def __init__(self) -> None:
        self._going: dict[tuple[str, str], list[tuple[str, threading.Event]]] = {}
        self._lock = threading.Lock()

    def within(self, name: str, hook: str, seconds: float, call: Callable[[], T]) -> T:
        """The answer of a call, or what it raises.

        Raises:
            Overdue: There is no answer by then, or an earlier call that was abandoned is still going.
        """
        key = (name, "its target" if hook in ONE_TARGET else hook)
        if earlier := self._abandoned(key):
            raise Overdue(f"is not asked: {earlier}, which was abandoned, is still going")
        made = _started(name, hook, call)
        try:
            made.done.wait(min(seconds, threading.TIMEOUT_MAX))
        finally:  # a signal to the main thread ends the wait, too
            if not made.done.is_set():
                made.thread.name = f"{LOST}{name}-{hook}"
                with self._lock:
                    self._going.setdefault(key, []).append((hook, made.done))
        if not made.done.is_set():
            raise Overdue(f"has no answer after {seconds:g} s; it is abandoned")
        if made.error is not None:
            raise made.error
        value: T = made.value
        return value

    def _abandoned(self, key: tuple[str, str]) -> str:
        """Name of a hook an abandoned call of which is still going, "" if there is none."""
        with self._lock:
            self._going[key] = [each for each in self._going.get(key, ()) if not each[1].is_set()]
            return self._going[key][0][0] if self._going[key] else ""


def _started(name: str, hook: str, call: Callable[[], Any]) -> _Asked:
    def run() -> None:
        try:
            made.value = call()
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is waited for
            made.error = error
        finally:
            made.done.set()

    made = _Asked(threading.Thread(target=run, name=f"headworks-{name}-{hook}", daemon=True))
    made.thread.start()
    return made


def abandoned() -> bool:
    """Check whether an abandoned call of any plugin is still going in this process."""
    return any(thread.name.startswith(LOST) for thread in threading.enumerate())


def in_time(name: str, hook: str, seconds: float, call: Callable[[], T]) -> T:
    """The answer of a call that belongs into the main thread, if that is this one.

    Raises:
        Overdue: There is no answer by then.
    """
    if threading.current_thread() is not threading.main_thread():
        return Calls().within(name, hook, seconds, call)
    with cut_off(seconds):
        return call()


@contextlib.contextmanager
def cut_off(seconds: float) -> Iterator[None]:
    """Cut the block off at its deadline, in the main thread; without effect in others and where the signal is taken.

    A step that holds signals off is not cut.

    Raises:
        Overdue: It is over.
    """
    mine = threading.current_thread() is threading.main_thread() and signal.getsignal(RING) is signal.SIG_DFL
    if not mine:
        yield
        return
    over, bell = threading.Event(), threading.Event()

    def ring(_number: int, _frame: FrameType | None) -> None:
        if bell.is_set() and not over.is_set() and not signals_held():
            raise Overdue(f"is not done after {seconds:g} s; it is cut off")

    def watch(main: int) -> None:
        wait = seconds
        while not over.wait(min(wait, threading.TIMEOUT_MAX)):
            bell.set()
            signal.pthread_kill(main, RING)
            wait = AGAIN

    watcher = threading.Thread(target=watch, args=[threading.get_ident()], name="headworks-deadline", daemon=True)
    signal.signal(RING, ring)
    try:
        watcher.start()
        try:
            yield
        finally:
            over.set()
    finally:  # once more, for a bell that rang on the line before
        over.set()
        watcher.join()
        signal.signal(RING, signal.SIG_DFL)
