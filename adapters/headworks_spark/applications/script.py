"""A user's Python file as the main module of this process: what `python FILE` does, and no more."""

from __future__ import annotations

import builtins
import contextlib
import sys
import threading
from concurrent.futures import thread as pools
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from headworks.interrupts import is_signal, lent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

INTERRUPTED = 130
"""Exit code of a program that raises `KeyboardInterrupt`, as shells have it."""


def run_script(words: Sequence[str]) -> int:
    """Run a Python file in this thread, and wait for the threads that it leaves, as Python does.

    What it raises is shown as Python shows it, from its own line on.

    Args:
        words: The file, then its arguments.

    Returns:
        Its exit code.

    Raises:
        KeyboardInterrupt: A signal came, and it did not catch that.
    """
    with _main(words) as names, lent():
        others = set(threading.enumerate())
        try:
            exec(compile(Path(words[0]).read_bytes(), words[0], "exec"), names)  # noqa: S102 - the user's own file
            code = 0
        except BaseException as error:
            if is_signal(error):
                raise
            code = shown(error, lambda file: file == words[0])
        _join(others)
        return code


@contextlib.contextmanager
def _main(words: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The names of a new main module, with its own arguments, which imports what lies beside its file."""
    module = ModuleType("__main__")
    module.__dict__.update(__file__=words[0], __builtins__=builtins)
    saved = sys.argv, sys.path, sys.modules["__main__"]
    sys.argv, sys.path = list(words), [str(Path(words[0]).resolve().parent), *sys.path[1:]]
    sys.modules["__main__"] = module
    try:
        yield module.__dict__
    finally:
        sys.argv, sys.path, sys.modules["__main__"] = saved


def shown(error: BaseException, is_own: Callable[[str], bool]) -> int:
    """Show what ended a program, as Python does, from its own line on.

    Args:
        is_own: Whether a file is the program's.

    Returns:
        Its exit code.
    """
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        sys.stderr.write(f"{error.code}\n")
        return 1
    trace = error.__traceback__
    while trace is not None and not is_own(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    sys.excepthook(type(error), error.with_traceback(trace), trace)
    return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1


def _join(others: set[threading.Thread]) -> None:
    """Wait for the threads of the program that are no daemons; an idle pool ends with the process alone."""
    ours = {threading.current_thread(), *others}
    while left := [each for each in threading.enumerate() if not each.daemon and each not in (*ours, *_pooled())]:
        left[0].join()


def _pooled() -> set[threading.Thread]:
    return set(pools._threads_queues)  # noqa: SLF001 - Python offers no other way
