"""The plugin `sim`: monitor and executor of a simulated engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.hooks import hookimpl
from headworks_sim.application import open_application
from headworks_sim.engine import SimEngine

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from headworks_sim.target import SimTarget


class Sim(SimEngine):
    """Simulate a cluster: steady state in closed form, moves, stalls and failures over simulated time."""

    @hookimpl
    def headworks_open(self, application: Sequence[str], address: str | None) -> AbstractContextManager[SimTarget]:
        """Simulate a request; see `headworks_sim.application.open_application`.

        Args:
            application: A request document or PLUGIN:WORKLOAD, then options.
            address: None; a simulation has no address.
        """
        return open_application(application, address)


sim = Sim()
