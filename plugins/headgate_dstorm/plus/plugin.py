"""The plugin `dstorm-plus`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.hooks import Description, hookimpl
from headgate_dstorm.options import PlusOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headgate.hooks import Improvement
    from headgate.model import Plan, Request


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
        """Make the starts, anneal them, and choose; see `headgate_dstorm.plus.starts`."""
        from headgate_dstorm.plus.starts import improve

        return improve(request.problem(measured=options.measured), options)

    @hookimpl
    def headgate_improvements(self) -> Sequence[Improvement]:
        """Name settings of the micro-benchmark."""
        from headgate_dstorm.evidence.improvements import improvements

        return improvements()


dstorm_plus = DStormPlus()
