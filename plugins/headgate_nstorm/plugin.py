"""The plugin `otd`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.hooks import Description, hookimpl
from headgate_nstorm.options import Options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headgate.hooks import Claim, Improvement, Verdict, Workload
    from headgate.model import Observation, Plan, Request


class Otd:
    """Move one executor a round: off the fullest node while any is too full, else to where its traffic is.

    The online task deployment of N-Storm. It never deploys anew: what runs nowhere is dealt round robin first.
    """

    @hookimpl
    def headgate_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(
            summary=(self.__doc__ or "").partition("\n")[0],
            options=Options,
            paper="Zhang et al.: Online Nonstop Task Management for Storm (JCST 2024), Algorithms 1 and 2, Eq. 4 and 5",
            capabilities=frozenset({"scale-free"}),
        )

    @hookimpl
    def headgate_schedule(self, request: Request, options: Options) -> Plan:
        """Plan one round."""
        from headgate_nstorm.deployment import deploy

        return deploy(request, options)

    @hookimpl
    def headgate_analyse(self, observation: Observation, options: Options) -> Verdict:
        """Say which of the four cases it is."""
        from headgate_nstorm.cases import analyse

        return analyse(observation, options)

    @hookimpl
    def headgate_workloads(self) -> Sequence[Workload]:
        """Name the word count of section 5.1."""
        from headgate_nstorm.evidence.workloads import workloads

        return workloads()

    @hookimpl
    def headgate_claims(self) -> Sequence[Claim]:
        """Name the printed figures."""
        from headgate_nstorm.evidence.claims import claims

        return claims()

    @hookimpl
    def headgate_improvements(self) -> Sequence[Improvement]:
        """Name the application that the guard helps."""
        from headgate_nstorm.evidence.improvements import improvements

        return improvements()


otd = Otd()
