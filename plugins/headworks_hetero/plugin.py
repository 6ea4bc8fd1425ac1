"""The plugin `hetero`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.hooks import Description, hookimpl
from headworks_hetero.options import Options
from headworks_hetero.planning import as_printed
from headworks_hetero.workloads import workloads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.model import Plan, Request, Workload

PAPER = (
    "Nasiri, Nasehi, Divband, Goudarzi: A scheduling algorithm to maximize Storm throughput in heterogeneous cluster"
    " (Journal of Big Data, 2023), Algorithms 1 and 2"
)


class Hetero:
    """Choose numbers of tasks, their nodes and the input rate for the highest throughput, by profiles."""

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(summary=(self.__doc__ or "").partition("\n")[0], options=Options, paper=PAPER)

    @hookimpl
    def headworks_schedule(self, request: Request, options: Options) -> Plan:
        """Run Algorithms 1 and 2; tasks without a profile go where they take the least share of the CPU."""
        return as_printed(request, options)

    @hookimpl
    def headworks_workloads(self) -> Sequence[Workload]:
        """Name the workloads of the evaluation."""
        return workloads()


hetero = Hetero()
