"""Ctrl-C as a wish: a search that knows a best plan so far hears it, ends, and answers with that plan."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

import attrs


@attrs.define
class Wish:
    """What one run of a scheduler does when a person no longer wants to wait; None: it cannot end early."""

    heard: Callable[[], None] | None = None


_WISH: ContextVar[Wish | None] = ContextVar("headgate-wish", default=None)


def on_interrupt(end: Callable[[], None]) -> None:
    """Say, from within a scheduler, how its search is ended; `end` is called in another thread, once.

    Without effect where nobody may interrupt: the control loop ends as a whole.
    """
    wish = _WISH.get()
    if wish is not None:
        wish.heard = end


def listen(wish: Wish | None) -> None:
    """Let the scheduler that runs in this context hear a wish."""
    _WISH.set(wish)
