"""Guard around the hooks of a plugin: failures and wrong answers become one error with its name, in words."""

from __future__ import annotations

import contextlib
import logging
import sysconfig
import traceback
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

from headworks.errors import HeadworksError, PluginError, printable
from headworks.hooks import Description, Finding, Verdict
from headworks.interrupts import is_signal
from headworks.model import Intake, Observation, Receipt, Workload
from headworks.plugins.deadline import LEAVING, Overdue, cut_off, deadline_of
from headworks.plugins.own_process import printing_to_stderr

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headworks.plugins.loading import Loaded


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
    "headworks_observe": Observation,
    "headworks_open": AbstractContextManager,
    "headworks_prioritise": Observation,
    "headworks_reschedule": Receipt,
    "headworks_rollback": Receipt,
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
        PluginError: It raised something, `SystemExit` included, or did not end in time.
    """
    try:
        with printing_to_stderr() if silent else contextlib.nullcontext():
            yield
    except HeadworksError:
        raise
    except Overdue as late:
        keep_traceback(name, hook, late)
        raise PluginError(f"{name}: {hook} {late}") from late
    except (Exception, SystemExit, KeyboardInterrupt) as error:
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
