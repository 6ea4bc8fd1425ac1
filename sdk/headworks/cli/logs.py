"""Headworks's log on stderr, as a person wants it: `-v`, `--log-level`, `--traceback`, `--log-json`, HEADWORKS_LOG."""

from __future__ import annotations

import functools
import json
import logging
import os
import sys
import traceback
from datetime import UTC, datetime
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
_form = {"json": False}


def line(message: str, *, name: str = "headworks.cli", level: int = logging.INFO, number: int | None = None) -> str:
    """A message as it goes to stderr: as it is, or with `--log-json` as a JSON object.

    Args:
        name: Logger.
        number: Of the round that it is about, where that is known.
    """
    if not _form["json"]:
        return message
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    found = {"time": time, "level": logging.getLevelName(level).lower(), "logger": name, "message": message}
    return json.dumps(found if number is None else {**found, "round": number})


def line_of(record: logging.LogRecord, text: str) -> str:
    """A record of the log as it goes to stderr, of which the text is known."""
    return line(text, name=record.name, level=record.levelno, number=getattr(record, "round", None))


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
        text = "\n".join((said, trace)) if trace else said
        shown = line_of(record, text) if _form["json"] else printable(f"headworks: {record.levelname.lower()}: {text}")
        # Nobody is told that stderr is gone.
        if sys.stderr is not None and not sys.stderr.closed:
            click.echo(shown, err=True)


def show_logs(level: str, *, tracebacks: bool) -> None:
    """Write Headworks's log to stderr until the command has ended, once.

    Args:
        level: Least level of what is written, one of `LEVELS`; "" for the one in `HEADWORKS_LOG`, else warnings.
        tracebacks: Whether the exceptions of plugins are written with their traceback, whatever the level.

    Raises:
        click.UsageError: `HEADWORKS_LOG` is not a level.
    """
    level = level or os.environ.get(ENVIRONMENT, "").lower()
    if level and level not in LEVELS:
        raise click.UsageError(f"{ENVIRONMENT}={level!r} is not a level: {', '.join(LEVELS)}")
    if not (level or tracebacks):
        return
    if level:
        _set_level("headworks", level.upper())
    if tracebacks:
        _set_level(PLUGINS, "DEBUG")
    _write_to_stderr()


def write_json(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's
    """Take `--log-json`, which holds from the group's on, else from the command's on."""
    _form["json"] = wanted or (context.parent is not None and _form["json"])
    if wanted:
        _write_to_stderr()


def _write_to_stderr() -> None:
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
