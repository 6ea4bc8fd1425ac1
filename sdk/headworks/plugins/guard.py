"""Guard around the hooks of a plugin: what it raises, prints or answers wrongly becomes one error with its name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from headworks.errors import HeadworksError, PluginError
from headworks.hooks import Description, Finding, Verdict
from headworks.interrupts import is_signal
from headworks.model import Intake, Observation, Receipt, Workload
from headworks.plugins.deadline import LEAVING, Overdue, cut_off, deadline_of
from headworks.plugins.failure import failure, keep_traceback
from headworks.plugins.own_process import printing_to_stderr

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headworks.plugins.loading import Loaded


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
