"""A request as arrays, with the limit on its batches: what a plan is held against."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import attrs

from headworks.problem.repair.slowdown import slowdown_of
from headworks.problem.rules.constrained import ConstrainedArrays

if TYPE_CHECKING:
    from headworks.problem.repair.slowdown import Slowdown


@attrs.frozen(eq=False, kw_only=True)
class LimitedArrays(ConstrainedArrays):
    """Constrained arrays with the limit that the engine's own scheduler sets to batches."""

    @cached_property
    def slowdown(self) -> Slowdown | None:
        """The limit on batches, None where the request has none."""
        return slowdown_of(self)
