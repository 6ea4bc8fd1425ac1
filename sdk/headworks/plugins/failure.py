"""Failures of plugins in words: the exception, the author's own line, and the traceback for who asks for it."""

from __future__ import annotations

import logging
import sysconfig
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import pluggy

from headworks.errors import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

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
