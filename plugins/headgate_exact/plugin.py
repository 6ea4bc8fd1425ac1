"""The plugin `optimal`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.hooks import Description, hookimpl
from headgate_exact.options import Options

if TYPE_CHECKING:
    from headgate.model import Plan, Request


class Optimal:
    """Find the placement that no other beats, and prove it, or say how far from proven it is at the deadline."""

    @hookimpl
    def headgate_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(
            summary=(self.__doc__ or "").partition("\n")[0],
            options=Options,
            paper="the exhaustive search of the heterogeneity papers, by CP-SAT of OR-Tools",
            capabilities=frozenset({"total", "traffic-aware"}),
        )

    @hookimpl
    def headgate_schedule(self, request: Request, options: Options) -> Plan:
        """Search until the optimum is proven, the effort is spent, or Ctrl-C ends it; the best plan found counts."""
        from headgate_exact.search import search

        return search(request, options)


optimal = Optimal()
