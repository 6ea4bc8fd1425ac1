"""Calls of the hooks of a plugin: each within its deadline, failures and wrong answers as one error with its name.

Nobody waits longer for a plugin than its hook may take, whatever the plugin does. A call runs in a thread of its own,
which is abandoned at the deadline: Python cannot stop a thread. What has to run in the main thread, as imports and the
engine that a user opens, is cut off there by a signal.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import sysconfig
import threading
import traceback
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import pluggy

from headworks.errors import HeadworksError, PluginError, printable
from headworks.hooks import Description, Finding, Verdict
from headworks.interrupts import is_signal, signals_held
from headworks.model import Intake, Observation, Receipt, Workload
from headworks.plugins.own_process import printing_to_stderr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

    from headworks.plugins.loading import Loaded


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
    "headworks_look": 60.0,
    "headworks_needs": 60.0,
    "headworks_observe": 120.0,
    "headworks_on_round": 30.0,
    "headworks_open": 1800.0,
    "headworks_preflight": 60.0,
    "headworks_prioritise": 60.0,
    "headworks_recognise": 30.0,
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
        *("headworks_observe", "headworks_look", "headworks_preflight", "headworks_keeps", "headworks_intake"),
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


LOG = logging.getLogger("headworks.plugins")
"""Tracebacks of plugins, at level debug: `headworks --traceback` and `HEADWORKS_LOG=debug` show them."""

PYTHON = Path(sysconfig.get_path("stdlib")).resolve()
HOST = (Path(__file__).resolve().parents[1], Path(pluggy.__file__).resolve().parent)
"""Folders whose code calls plugins: a traceback through them alone says nothing about the plugin."""


def failure(error: BaseException, *callers: Path) -> str:
    """The type and text of an exception, and the last line of the plugin's own package that it went through.

    A text that cannot be made is left out: an exception is the plugin's code too.
    """
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - see above
        text = "its text cannot be read"
    where = author_line(error, *callers)
    return printable(f"{type(error).__name__}: {text}{f' ({where})' if where else ''}")


def author_line(error: BaseException, *callers: Path) -> str:
    """`package/module.py:line` of the last line of the plugin's own package in a traceback, "" if there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    own = _own(frames, (*HOST, *callers))
    if not own:
        return ""
    path = Path(own[-1].filename)
    return f"{path.parent.name}/{path.name}:{own[-1].lineno}"


def keep_traceback(name: str, hook: str, error: BaseException) -> None:
    """Log the traceback of a plugin's exception, for who asked for it."""
    LOG.debug("%s: %s raised %s", name, hook, failure(error), exc_info=error)


def _calls(path: Path, callers: Sequence[Path]) -> bool:
    """True for the host and for what of Python itself it imports and enters plugins by."""
    python = path.is_relative_to(PYTHON) and "site-packages" not in path.parts
    return python or path.name.startswith("<") or any(map(path.is_relative_to, callers))


def _own(frames: Sequence[traceback.FrameSummary], callers: Sequence[Path]) -> list[traceback.FrameSummary]:
    """Frames of the package that the host called first: what that calls in its turn is a library of the plugin's."""
    paths = [Path(frame.filename).resolve() for frame in frames]
    called = next((at for at, path in enumerate(paths) if not _calls(path, callers)), None)
    if called is None:
        return []
    package = paths[called].parent
    return [frame for frame, path in zip(frames, paths, strict=True) if path.is_relative_to(package)]


ONE: Mapping[str, type] = {
    "headworks_analyse": Verdict,
    "headworks_describe": Description,
    "headworks_documents": Mapping,
    "headworks_execute": Receipt,
    "headworks_intake": Intake,
    "headworks_keeps": bool,
    "headworks_look": Observation,
    "headworks_observe": Observation,
    "headworks_open": AbstractContextManager,
    "headworks_prioritise": Observation,
    "headworks_recognise": str,
    "headworks_reschedule": Receipt,
    "headworks_rollback": Receipt,
    "headworks_run": int,
    "headworks_scale": Receipt,
}
"""Type of the answer of each hook that has to answer one thing."""

MANY: Mapping[str, type] = {
    "headworks_examine": Finding,
    "headworks_needs": Finding,
    "headworks_preflight": str,
    "headworks_recover": str,
    "headworks_review": str,
    "headworks_workloads": Workload,
}
"""Type of each part of the answer of hooks that answer a sequence; None is an empty one."""


@contextlib.contextmanager
def guarded(name: str, hook: str, *, silent: bool = True) -> Iterator[None]:
    """Run a plugin's code: what it prints goes to stderr, what it raises becomes an error with its name.

    A `HeadworksError` is meant for the user and passes; so does a signal, which is nobody's failure and comes to the
    main thread alone.

    Args:
        silent: Whether it may print nothing to stdout; a user's application, which it runs, may.

    Raises:
        PluginError: It raised anything at all, or did not end in time.
    """
    try:
        with printing_to_stderr() if silent else contextlib.nullcontext():
            yield
    except HeadworksError:
        raise
    except Overdue as late:
        keep_traceback(name, hook, late)
        raise PluginError(f"{name}: {hook} {late}") from late
    except BaseException as error:
        if is_signal(error):
            raise
        keep_traceback(name, hook, error)
        raise PluginError(f"{name}: {hook} raised {failure(error)}") from error


def checked(name: str, hook: str, answer: Any) -> Any:
    """The answer of a hook if it is of the type that its specification asks for; a sequence becomes a tuple.

    Raises:
        PluginError: It is of another type.
    """
    if hook in MANY:
        return _parts(name, hook, answer)
    if hook in ONE and not isinstance(answer, ONE[hook]):
        raise PluginError(f"{name}: {hook} answered {_kind(answer)}, {_kind_of(ONE[hook])} is expected")
    return answer


def _parts(name: str, hook: str, answer: Any) -> tuple[Any, ...]:
    # A text is a sequence of texts as well: its letters.
    several = isinstance(answer, Iterable) and not isinstance(answer, str | bytes | Mapping)
    parts = tuple(answer) if several else ()
    wrong = [part for part in parts if not isinstance(part, MANY[hook])]
    if wrong or not (several or answer is None):
        found = f"a sequence with {_kind(wrong[0])}" if wrong else _kind(answer)
        raise PluginError(f"{name}: {hook} answered {found}, a sequence of {MANY[hook].__name__} is expected")
    return parts


def _kind(answer: Any) -> str:
    return "None" if answer is None else _kind_of(type(answer))


def _kind_of(kind: type) -> str:
    name = "context manager" if kind is AbstractContextManager else kind.__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


@contextlib.contextmanager
def opened(plugin: Loaded, hook: str, **arguments: Any) -> Iterator[Any]:
    """Reach an engine; yields what the other hooks take.

    Raises:
        PluginError: It failed as it was entered or left, or took too long.
    """
    name, seconds = plugin.name, deadline_of(hook, plugin.description.deadlines)
    with contextlib.ExitStack() as stack:
        with guarded(name, hook, silent=False), cut_off(seconds or LEAVING):
            answer = getattr(plugin.caller, hook)(**arguments)
            reached: AbstractContextManager[Any] = checked(name, hook, answer)
            target = stack.enter_context(reached)
        yield target
        # What happens between is not the plugin's, what it raises as it leaves is.
        leaving = stack.pop_all()
        with guarded(name, hook, silent=False), cut_off(LEAVING):
            leaving.close()
