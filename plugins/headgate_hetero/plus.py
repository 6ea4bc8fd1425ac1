"""The plugin `hetero-plus`: several tasks at once where one finds no room, then refinement by the closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from attrs import validators as check

from headgate.hooks import Description, hookimpl

if TYPE_CHECKING:
    from headgate.model import Plan, Request


@attrs.frozen(kw_only=True)
class PlusOptions:
    """Options of `hetero-plus`.

    Attributes:
        initial_rate: Tuples/s of the busiest spout to begin with.
        at_once: Tasks of a component that may be added at once (the authors' own code goes up to 200).
        refinements: Placements that the refinement may try.
        trials: Sizes of tasks that are drawn, from the request's seed, to pack the machines with.
        exchanges: Placements that may be tried by exchanges of two components, on a few machines.
        max_tasks: More tasks than this are not made.
    """

    initial_rate: float = attrs.field(default=1.0, validator=[check.gt(0), check.lt(1e12)])
    at_once: int = attrs.field(default=200, validator=[check.ge(1), check.le(10_000)])
    refinements: int = attrs.field(default=1_000, validator=[check.ge(0), check.le(10_000_000)])
    trials: int = attrs.field(default=400, validator=[check.ge(0), check.le(1_000_000)])
    exchanges: int = attrs.field(default=1_000_000, validator=[check.ge(0), check.le(100_000_000)])
    max_tasks: int = attrs.field(default=10_000, validator=[check.ge(1), check.le(100_000)])


class HeteroPlus:
    """Choose numbers of tasks, nodes and input rate as `hetero` does, several tasks at once, and refine the result."""

    @hookimpl
    def headgate_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(
            summary=(self.__doc__ or "").partition("\n")[0],
            options=PlusOptions,
            paper="hetero, with the steps of the authors' own code, and a refinement that is ours",
        )

    @hookimpl
    def headgate_schedule(self, request: Request, options: PlusOptions) -> Plan:
        """Run it; the plan is never worse than that of `hetero`."""
        from headgate_hetero.at_once import improved

        return improved(request, options)


hetero_plus = HeteroPlus()
