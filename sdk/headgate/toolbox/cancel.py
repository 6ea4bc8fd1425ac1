"""Ending a search early, by Ctrl-C or near its deadline: it hears that, ends, and answers with its best plan so far."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextvars import ContextVar

import attrs


@attrs.define
class Wish:
    """How one run of a scheduler is ended early.

    Attributes:
        heard: What ends it; None as long as it cannot.
        told: Whether it is to end, or is to end as soon as it can.
    """

    heard: Callable[[], None] | None = None
    told: bool = False

    def tell(self) -> None:
        """End the search, or let it end when it begins; what goes wrong in `heard` is the deadline's to catch."""
        self.told = True
        if self.heard is not None:
            with contextlib.suppress(Exception):
                self.heard()


_WISH: ContextVar[Wish | None] = ContextVar("headgate-wish", default=None)


def on_interrupt(end: Callable[[], None]) -> None:
    """Say, from within a scheduler, how its search is ended: by Ctrl-C, and by the host near the deadline.

    Args:
        end: Is called in another thread, or at once if that time has come; more than once does no harm.
    """
    wish = _WISH.get()
    if wish is not None:
        wish.heard = end
        if wish.told:
            end()


def listen(wish: Wish | None) -> None:
    """Let the scheduler that runs in this context hear a wish."""
    _WISH.set(wish)
