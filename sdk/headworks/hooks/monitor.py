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
        """Reach or start an engine, and yield the target that the other hooks take.

        `application` is the application and its arguments, empty to attach to a running one. `address` is that of the
        engine, None to start one on this machine. When the context ends, everything that it started ends too, and
        nothing else; 300 s are allowed for that. Raise `EngineError` if the engine is out of reach. If the target has
        methods `clock()` and `wait(seconds)`, the loop uses them for its pauses between rounds.
        """

    @hookspec
    def headworks_observe(self, target: Any, window: float) -> Observation:  # type: ignore[empty-body]
        """Measure an engine for about `window` seconds and return the observation.

        `target` is the handle that `headworks_open` or a function of the adapter gave. The assignment says where tasks
        *were seen to run*, not where they were asked to. Return within `window` plus a budget that you document, and
        leave out any figure that could not be measured. The deadline begins after the window.
        """
