"""The plugin `sim`: monitor and executor of a simulated engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.hooks import Description, hookimpl
from headworks_sim.application import open_application
from headworks_sim.executor import execute, preflight, rollback
from headworks_sim.target import observe

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from headworks.model import Observation, Plan, Receipt
    from headworks_sim.target import SimTarget


class Sim:
    """Simulate a cluster: steady state in closed form, moves, stalls and failures over simulated time."""

    @hookimpl
    def headworks_describe(self) -> Description:
        """Describe the adapter."""
        return Description(
            summary=self.__doc__ or "",
            paper="001 N-Storm (section 5.2), 003 priority thesis (use case 1)",
            deadlines={"headworks_observe": 86_400.0},  # simulated seconds that are hours of a large cluster
        )

    @hookimpl
    def headworks_open(self, application: Sequence[str], address: str | None) -> AbstractContextManager[SimTarget]:
        """Simulate a request; see `headworks_sim.application.open_application`.

        Args:
            application: A request document or PLUGIN:WORKLOAD, then options.
            address: None; a simulation has no address.
        """
        return open_application(application, address)

    @hookimpl
    def headworks_observe(self, target: SimTarget, window: float) -> Observation:
        """Observe the simulated cluster; see `headworks_sim.target.observe`.

        Args:
            target: The engine.
            window: Simulated seconds to measure.
        """
        return observe(target, window)

    @hookimpl
    def headworks_preflight(self, target: SimTarget, plan: Plan) -> Sequence[str]:
        """Warn of what is not carried out; see `headworks_sim.executor.preflight`."""
        return preflight(target, plan)

    @hookimpl
    def headworks_execute(self, target: SimTarget, plan: Plan) -> Receipt:
        """Carry out a plan; see `headworks_sim.executor.execute`."""
        return execute(target, plan)

    @hookimpl
    def headworks_rollback(self, target: SimTarget, receipt: Receipt) -> Receipt:
        """Undo a plan; see `headworks_sim.executor.rollback`."""
        return rollback(target, receipt)


sim = Sim()
