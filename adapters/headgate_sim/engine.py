"""The simulated engine's own hooks: what a control loop needs of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.hooks import Description, hookimpl
from headgate_sim.executor import execute, preflight, rollback
from headgate_sim.monitor import observe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headgate.model import Observation, Plan, Receipt
    from headgate_sim.target import SimTarget


class SimEngine:
    """Simulate a cluster: steady state in closed form, moves, stalls and failures over simulated time."""

    @hookimpl
    def headgate_describe(self) -> Description:
        """Describe the adapter."""
        return Description(
            summary=self.__doc__ or "", paper="001 N-Storm (section 5.2), 003 priority thesis (use case 1)"
        )

    @hookimpl
    def headgate_observe(self, target: SimTarget, window: float) -> Observation:
        """See `headgate_sim.monitor.observe`."""
        return observe(target, window)

    @hookimpl
    def headgate_preflight(self, target: SimTarget, plan: Plan) -> Sequence[str]:
        """See `headgate_sim.executor.preflight`."""
        return preflight(target, plan)

    @hookimpl
    def headgate_execute(self, target: SimTarget, plan: Plan) -> Receipt:
        """See `headgate_sim.executor.execute`."""
        return execute(target, plan)

    @hookimpl
    def headgate_rollback(self, target: SimTarget, receipt: Receipt) -> Receipt:
        """See `headgate_sim.executor.rollback`."""
        return rollback(target, receipt)
