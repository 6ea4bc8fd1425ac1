"""The plugin `dstorm`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.hooks import Description, hookimpl
from headworks_dstorm.options import ON_SPARK, Options
from headworks_dstorm.workloads import workloads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.hooks import Verdict
    from headworks.model import Observation, Plan, Request, Workload


class DStorm:
    """Fill one node after the other with tasks that talk to each other, as long as it has room."""

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(
            summary=(self.__doc__ or "").partition("\n")[0],
            options=Options,
            defaults=ON_SPARK,
            paper="Liu, Lin, Buyya: Dynamic Resource-Efficient Scheduling (D-Storm, ICPADS 2017), Algorithm 1",
            capabilities=frozenset({"idempotent", "scale-free", "traffic-aware"}),
        )

    @hookimpl
    def headworks_schedule(self, request: Request, options: Options) -> Plan:
        """Run Algorithm 1; its Failure is an infeasible plan with a reason for each task left over."""
        # The algorithm costs 10 ms of imports, which a command that asks for a workload alone does not need.
        from headworks_dstorm.settling import schedule_settled

        return schedule_settled(request, options)

    @hookimpl
    def headworks_analyse(self, observation: Observation, options: Options) -> Verdict:
        """Check the two abnormal states of section 5.4."""
        # Only the control loop asks.
        from headworks_dstorm.analyser import analyse

        return analyse(observation, options)

    @hookimpl
    def headworks_workloads(self) -> Sequence[Workload]:
        """Name the workloads of the evaluation."""
        return workloads()


dstorm = DStorm()
