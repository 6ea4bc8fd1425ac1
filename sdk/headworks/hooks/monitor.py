"""The hooks of a monitor, which says what an engine is and does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from headworks.hooks.values import hookspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from headworks.hooks.values import Description
    from headworks.model import Observation


class Monitor(Protocol):
    """Type of a plugin that watches an engine, for type checkers."""

    headworks_describe: Callable[[], Description]
    headworks_open: Callable[..., AbstractContextManager[Any]]
    headworks_observe: Callable[..., Observation]


class MonitorSpec:
    """The hooks of a monitor."""

    @hookspec
    def headworks_open(  # type: ignore[empty-body]
        self, application: Sequence[str], address: str | None
    ) -> AbstractContextManager[Any]:
        """Reach an engine and yield the target that the other hooks take.

        `application` is what the user wants to run there (a file and its arguments; empty to attach), `address`
        the engine's address, None to start one on this machine. Leaving the context ends what it started, and
        nothing else. Raises `EngineError` when the engine is out of reach. A target with methods `clock()` and
        `wait(seconds)` has a time of its own, in which the pauses between rounds pass too.
        """

    @hookspec
    def headworks_observe(self, target: Any, window: float) -> Observation:  # type: ignore[empty-body]
        """Measure an engine for about `window` seconds and say what was seen.

        `target` is the engine handle that the adapter's own connect function returns. The observation's
        assignment is where tasks *were seen to run*, not where they were asked to. The hook returns within
        `window` plus its own documented budget; what it could not measure it leaves out.
        """
