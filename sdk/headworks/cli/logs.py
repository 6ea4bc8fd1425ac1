"""Headworks's log on stderr, as much of it as the person wants: `-v`, `--log-level`, `--traceback`, `HEADWORKS_LOG`."""

from __future__ import annotations

import functools
import logging
import os
import sys
import traceback
from typing import TYPE_CHECKING

import click

from headworks.errors import printable

if TYPE_CHECKING:
    from collections.abc import Callable

ENVIRONMENT = "HEADWORKS_LOG"
"""Environment variable: the level of the log, as `--log-level` takes it."""
LEVELS = ("debug", "info", "warning", "error")
PLUGINS = "headworks.plugins"
"""Logger of the exceptions of plugins."""


class _OnStderr(logging.Handler):
    """Writes to the stderr of the moment; a traceback that was shown is not shown again."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record, its traceback if it has one."""
        said, _, trace = record.getMessage().partition("\n")  # that of another process comes as text
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            trace = "".join(traceback.format_exception(error))
        trace = trace.rstrip()
        if trace and trace in self._shown:
            return
        self._shown.add(trace)
        lines = [f"headworks: {record.levelname.lower()}: {said}", *filter(None, [trace])]
        # Nobody is told that stderr is gone.
        if sys.stderr is not None and not sys.stderr.closed:
            click.echo(printable("\n".join(lines)), err=True)


def show_logs(level: str, *, tracebacks: bool) -> None:
    """Write Headworks's log to stderr until the command has ended, once.

    Args:
        level: Least level of what is written, one of `LEVELS`; "" for the one in `HEADWORKS_LOG`, else warnings.
        tracebacks: Whether the exceptions of plugins are written with their traceback, whatever the level.

    Raises:
        click.UsageError: `HEADWORKS_LOG` is no level.
    """
    level = level or os.environ.get(ENVIRONMENT, "").lower()
    if level and level not in LEVELS:
        raise click.UsageError(f"{ENVIRONMENT}={level!r} is no level: {', '.join(LEVELS)}")
    if not (level or tracebacks):
        return
    if level:
        _set_level("headworks", level.upper())
    if tracebacks:
        _set_level(PLUGINS, "DEBUG")
    root = logging.getLogger()
    if not any(isinstance(each, _OnStderr) for each in root.handlers):
        handler = _OnStderr()
        handler.addFilter(logging.Filter("headworks"))
        root.addHandler(handler)
        _at_end(lambda: root.removeHandler(handler))


def _set_level(name: str, level: str) -> None:
    logger = logging.getLogger(name)
    _at_end(functools.partial(logger.setLevel, logger.level))
    logger.setLevel(level)


def _at_end(undo: Callable[[], object]) -> None:
    """Have something undone when the command has ended: the process may run others, as tests and programs do."""
    if context := click.get_current_context(silent=True):
        context.find_root().call_on_close(undo)
