"""The plugin `optimal`."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from headworks.hooks import Description, Finding, hookimpl
from headworks_exact.options import Options
from headworks_exact.search import EXTRA, search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.hooks import Ask
    from headworks.model import Plan, Request


class Optimal:
    """Find the placement that no other beats, and prove it, or say how far from proven it is at the deadline."""

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(
            summary=(self.__doc__ or "").partition("\n")[0],
            options=Options,
            paper="the exhaustive search of the heterogeneity papers, by CP-SAT of OR-Tools",
            capabilities=frozenset({"total", "traffic-aware"}),
        )

    @hookimpl
    def headworks_needs(self) -> Sequence[Finding]:
        """The solver."""
        return (Finding.of_package("ortools", EXTRA),)

    @hookimpl
    def headworks_prepare(self) -> None:
        """Import the solver, 1 to 2 s; without it `headworks_schedule` says what is missing."""
        if find_spec("ortools") is not None:
            import_module("ortools.sat.python.cp_model")

    @hookimpl
    def headworks_schedule(self, request: Request, options: Options, ask: Ask) -> Plan:
        """Search until the optimum is proven, the effort is spent, or Ctrl-C ends it; the best plan found counts."""
        return search(request, options, ask)


optimal = Optimal()
