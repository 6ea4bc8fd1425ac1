"""The plugin `sim`: monitor and executor of a simulated engine, its claims and its experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.errors import PluginError
from headworks.hooks import hookimpl
from headworks.model.evidence import Evidence
from headworks_lab.simulated.claims import claims
from headworks_sim.application import open_application
from headworks_sim.engine import SimEngine
from headworks_sim.experiment import run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from headworks.control.round import Round
    from headworks.model import Request
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

    @hookimpl
    def headworks_evidence(self) -> Evidence:
        """Name the printed figures that the simulator recomputes, which show how far it may be trusted."""
        return Evidence(claims=claims())

    @hookimpl
    def headworks_experiment(self, request: Request, scheduler: str, seed: int, seconds: float) -> Mapping[str, float]:
        """Run an experiment; see `headworks_sim.experiment.run`.

        Args:
            request: Cluster and topologies.
            scheduler: Name of the scheduler.
            seed: Seed of the experiment.
            seconds: Simulated seconds.

        Returns:
            The numbers of its summary by name; a latency only if a tuple was completed.

        Raises:
            PluginError: The scheduler had no plan in some round: the numbers are then not its own.
        """
        lost: list[str] = []

        def note(done: Round, _now: float) -> None:
            if done.outcome in ("failed", "held"):
                lost.append(f"{done.outcome}: {done.message}")

        summary = run(request, scheduler, seed=seed, duration=seconds, on_round=note)
        if lost:
            raise PluginError(f"{scheduler}: {len(lost)} of {sum(summary.rounds.values())} rounds {lost[0]}")
        names = ("throughput", "offered", "latency", "inter_node", "nodes", "moves", "stopped", "degraded", "backlog")
        return {name: float(value) for name in names if (value := getattr(summary, name)) is not None}


sim = Sim()
