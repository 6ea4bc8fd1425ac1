"""Answer of a scheduler that was asked somewhere, and why there is no plan."""

from __future__ import annotations

from typing import Any

import attrs

from headworks.model import Reason


@attrs.frozen(kw_only=True)
class Answer:
    """Answer of a scheduler.

    Attributes:
        plan: What it answered, checked by nobody.
        reasons: Reasons why there is no plan; none if it answered.
        early: Whether its search was ended early.
        changed: Whether it changed the request that it was lent.
    """

    plan: Any = None
    reasons: tuple[Reason, ...] = ()
    early: bool = False
    changed: bool = False


def no_plan(code: str, name: str, message: str) -> Reason:
    """Reason why a scheduler has no plan.

    Args:
        message: What it did, as the end of a sentence that begins with its name.
    """
    return Reason(code=code, subject=name, message=f"{name} {message}; the running assignment is held")
