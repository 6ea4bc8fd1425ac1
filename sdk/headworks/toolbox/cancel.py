"""Cancellation of a running search: by Ctrl-C or near its deadline it ends, and answers with its best plan so far."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextvars import ContextVar

import attrs

from headworks.model import Plan


@attrs.define
class Cancellation:
    """Cooperative cancellation of one run of a scheduler.

    Attributes:
        callback: Ends the search; None until the scheduler gives one to `on_cancel`.
        inner: Cancellation of another scheduler's run for which the search waits, None if there is none.
        requested: Whether the search is to end, or is to end as soon as it has a callback.
        lacking: Whether a plan of another scheduler, for which the search waited, came too late or was cut short.
        offered: Plan that stands where the deadline comes before the answer, None until the scheduler offers one.
        overtaken: Whether it came so, and the offered plan stands.
    """

    callback: Callable[[], None] | None = None
    requested: bool = False
    inner: Cancellation | None = None
    lacking: bool = False
    offered: Plan | None = None
    overtaken: bool = False

    @property
    def ended(self) -> bool:
        """True if a search was asked to end, and had said how, if one was that it waited for, or if it was late."""
        return self.lacking or self.overtaken or (self.requested and self.callback is not None)

    def request(self) -> None:
        """End the search now, or when it begins; a callback that raises is left to the deadline."""
        self.requested = True
        if self.inner is not None:
            self.inner.request()
        if self.callback is not None:
            with contextlib.suppress(Exception):
                self.callback()


_CANCELLATION: ContextVar[Cancellation | None] = ContextVar("headworks-cancellation", default=None)


def on_cancel(callback: Callable[[], None]) -> None:
    """Register, from within a scheduler, the callback that ends its search.

    Args:
        callback: Is called in another thread when Ctrl-C comes or the deadline is near, or at once if that was before;
            calling it more than once has to do no harm.
    """
    cancellation = _CANCELLATION.get()
    if cancellation is not None:
        cancellation.callback = callback
        # The request may have come between the start of the thread and this line.
        if cancellation.requested:
            callback()


def offer(plan: Plan) -> None:
    """Offer, from within a scheduler, a plan that stands if the deadline comes before the answer.

    It is for what a search has before it begins: on a machine that is busy, asking the search for its best plan may not
    leave the time to make one.

    Args:
        plan: The best plan so far, checked as an answer is; a later offer takes its place.
    """
    cancellation = _CANCELLATION.get()
    if cancellation is not None:
        cancellation.offered = plan


def attach(cancellation: Cancellation | None) -> None:
    """Make a cancellation the one that `on_cancel` finds in this context."""
    _CANCELLATION.set(cancellation)
