"""A request as arrays, with its placement constraints and micro-batches: what a placement is held against."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import attrs

from headworks.problem.arrays.arrays import Arrays
from headworks.problem.arrays.batches import batches_of
from headworks.problem.rules.constraints import constraints_of

if TYPE_CHECKING:
    from headworks.problem.arrays.batches import Batch
    from headworks.problem.rules.constraints import Constraints


@attrs.frozen(eq=False, kw_only=True)
class ConstrainedArrays(Arrays):
    """Arrays with what binds their tasks; each part is made when it is first asked for."""

    @cached_property
    def constraints(self) -> Constraints | None:
        """Placement constraints as arrays, None where the request has none."""
        return constraints_of(self)

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """Micro-batches of the sequential topologies, in order of id."""
        return batches_of(self)
