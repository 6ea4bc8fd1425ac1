"""Engines that a plugin opens: entered and left in the main thread, each within a deadline."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from headgate.plugins.deadline import LEAVING, cut_off, deadline_of
from headgate.plugins.guard import checked, guarded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headgate.plugins.loading import Loaded

OPEN = "headgate_open"


@contextlib.contextmanager
def opened(plugin: Loaded, application: Sequence[str], address: str | None) -> Iterator[Any]:
    """Reach an engine; yields the target that the other hooks take.

    Args:
        plugin: The engine's plugin, which has `headgate_open`.
        application: File to run there and its arguments; empty to attach.
        address: Address of the engine, None to start one on this machine.

    Raises:
        PluginError: It failed as it was entered or left, or took too long.
    """
    name, seconds = plugin.name, deadline_of(OPEN, plugin.description.deadlines)
    with contextlib.ExitStack() as stack:
        with guarded(name, OPEN, silent=False), cut_off(seconds or LEAVING):
            answer = plugin.caller.headgate_open(application=tuple(application), address=address)
            reached: AbstractContextManager[Any] = checked(name, OPEN, answer)
            target = stack.enter_context(reached)
        yield target
        # What happens between is not the plugin's, what it raises as it leaves is.
        leaving = stack.pop_all()
        with guarded(name, OPEN, silent=False), cut_off(LEAVING):
            leaving.close()
