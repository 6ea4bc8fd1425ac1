"""Engines that a plugin opens: entered and left in the main thread, each within a deadline."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from headworks.plugins.deadline import LEAVING, cut_off, deadline_of
from headworks.plugins.guard import checked, guarded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headworks.plugins.loading import Loaded


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
