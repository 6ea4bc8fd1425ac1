"""The plugin `dstorm`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headworks.hooks import Description, hookimpl
from headworks.model import Status
from headworks.toolbox.move_limit import plan_within_limit
from headworks.toolbox.repair import repair
from headworks_dstorm.analyser import analyse
from headworks_dstorm.availability import by_availability
from headworks_dstorm.demand import planned
from headworks_dstorm.fast import place
from headworks_dstorm.options import Options
from headworks_dstorm.settling import runs, settled
from headworks_dstorm.workloads import workloads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.hooks import Verdict
    from headworks.model import Observation, Plan, Request, Workload
    from headworks.problem import Problem


def schedule(problem: Problem, options: Options) -> Plan:
    """Run Algorithm 1, and where it fails what the option `fallback` says.

    Args:
        problem: The problem.
        options: Options of the algorithm, and of what follows its Failure.
    """
    node_of = place(problem, options)
    left = int((node_of < 0).sum())
    if not left:
        return plan_within_limit(problem, node_of)
    said = f"Algorithm 1 failed: {left} of {problem.n} tasks were left when the nodes ran out"
    if options.fallback == "none":
        return problem.plan(node_of, said)
    if runs(problem) and (kept := problem.plan(problem.current, f"{said}; what runs stays")).status is Status.OK:
        return kept
    node_of = repair(problem, node_of, by_availability(problem))
    return plan_within_limit(problem, node_of, f"{said}; repair placed {left - int((node_of < 0).sum())} of them")


class DStorm:
    """Fill one node after the other with tasks that talk to each other, as long as it has room."""

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the scheduler."""
        return Description(
            summary=(self.__doc__ or "").partition("\n")[0],
            options=Options,
            paper="Liu, Lin, Buyya: Dynamic Resource-Efficient Scheduling (D-Storm, ICPADS 2017), Algorithm 1",
            capabilities=frozenset({"idempotent", "scale-free", "traffic-aware"}),
        )

    @hookimpl
    def headworks_schedule(self, request: Request, options: Options) -> Plan:
        """Run Algorithm 1; its Failure is an infeasible plan with a reason for each task left over."""
        return planned(request, options, lambda problem: settled(problem, partial(schedule, options=options)))

    @hookimpl
    def headworks_analyse(self, observation: Observation, options: Options) -> Verdict:
        """Check the two abnormal states of section 5.4."""
        return analyse(observation, options)

    @hookimpl
    def headworks_workloads(self) -> Sequence[Workload]:
        """Name the workloads of the evaluation."""
        return workloads()


dstorm = DStorm()
