"""The plugin `otd`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.hooks import Description, hookimpl
from headworks_nstorm.cases import analyse
from headworks_nstorm.deployment import deploy
from headworks_nstorm.options import Options
from headworks_nstorm.workloads import workloads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.hooks import Verdict
    from headworks.model import Observation, Plan, Request, Workload


class Otd:
    """Move one executor a round: off the fullest node while any is too full, else to where its traffic is.

    The online task deployment of N-Storm. It never deploys anew: what runs nowhere is dealt round robin first.
    """

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(
            summary=(self.__doc__ or "").partition("\n")[0],
            options=Options,
            paper="Zhang et al.: Online Nonstop Task Management for Storm (JCST 2024), Algorithms 1 and 2, Eq. 4 and 5",
            capabilities=frozenset({"scale-free"}),
        )

    @hookimpl
    def headworks_schedule(self, request: Request, options: Options) -> Plan:
        """Plan one round."""
        return deploy(request, options)

    @hookimpl
    def headworks_analyse(self, observation: Observation, options: Options) -> Verdict:
        """Say which of the four cases it is."""
        return analyse(observation, options)

    @hookimpl
    def headworks_workloads(self) -> Sequence[Workload]:
        """Name the workloads of the evaluation."""
        return workloads()


otd = Otd()
