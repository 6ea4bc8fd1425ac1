"""The command line in the process that tests it."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import pytest

from headworks.cli.live import folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def nothing_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another test left behind in native code would have `main` end this process at once, and all of its tests."""
    monkeypatch.setattr("headworks.plugins.guard.abandoned", lambda: False)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of sockets of its own; its path is short, as that of a socket has to be."""
    with tempfile.TemporaryDirectory(prefix="hw") as place:
        monkeypatch.setenv("TMPDIR", place)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield folder()
