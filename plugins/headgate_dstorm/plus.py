"""The plugin `dstorm-plus`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from attrs import validators as check

from headgate.hooks import Description, hookimpl
from headgate_dstorm.options import Options

if TYPE_CHECKING:
    from headgate.model import Plan, Request


@attrs.frozen(kw_only=True)
class PlusOptions(Options):
    """Options of D-Storm, which makes one of the starts, and of what follows it.

    Attributes:
        steps: Steps of annealing in all, 0 for none; by default they grow with the number of tasks, up to 3,000,000.
        least_gain: Share of all traffic that a new placement has to win over the running one, if all tasks run.
    """

    steps: int | None = attrs.field(default=None, validator=check.optional(check.ge(0)))
    least_gain: float = attrs.field(default=0.01, validator=[check.ge(0), check.le(1)])


class DStormPlus:
    """Improve the better of D-Storm's plan and a fill along the streams by annealing, never to a worse one."""

    @hookimpl
    def headgate_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(
            summary=(self.__doc__ or "").partition("\n")[0],
            options=PlusOptions,
            paper="After Liu, Lin, Buyya: Dynamic Resource-Efficient Scheduling (D-Storm, ICPADS 2017); not in it",
            capabilities=frozenset({"idempotent", "scale-free", "traffic-aware"}),
        )

    @hookimpl
    def headgate_schedule(self, request: Request, options: PlusOptions) -> Plan:
        """Make the starts, anneal them, and choose; see `headgate_dstorm.improve`."""
        from headgate_dstorm.improve import improve

        return improve(request.problem(measured=options.measured), options)


dstorm_plus = DStormPlus()
