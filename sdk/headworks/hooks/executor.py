"""The hooks of an executor, which makes a plan true on an engine. Optional ones are in `headworks.hooks.optional`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from headworks.hooks.values import hookspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headworks.hooks.values import Description
    from headworks.model import Plan, Receipt


class Executor(Protocol):
    """Type of a plugin that carries plans out, for type checkers."""

    headworks_describe: Callable[[], Description]
    headworks_preflight: Callable[..., Sequence[str]]
    headworks_execute: Callable[..., Receipt]
    headworks_rollback: Callable[..., Receipt]


class ExecutorSpec:
    """The hooks of an executor."""

    @hookspec
    def headworks_preflight(self, target: Any, plan: Plan) -> Sequence[str]:  # type: ignore[empty-body]
        """Name the parts of a plan that the target cannot enforce, one sentence each. Light, without effect."""

    @hookspec
    def headworks_execute(self, target: Any, plan: Plan) -> Receipt:  # type: ignore[empty-body]
        """Carry out the plan's moves in order. A step that fails is in the receipt; it is not raised."""

    @hookspec
    def headworks_rollback(self, target: Any, receipt: Receipt) -> Receipt:  # type: ignore[empty-body]
        """Restore the receipt's `undo` and `undo_parallelism`. Idempotent; safe when nothing was executed."""
