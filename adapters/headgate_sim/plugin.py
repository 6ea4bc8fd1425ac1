"""The plugin `sim`: monitor and executor for a simulated engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.hooks import hookimpl
from headgate_sim.engine import SimEngine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    import click

    from headgate.hooks import Claim
    from headgate.model import Request
    from headgate_sim.target import SimTarget


class Sim(SimEngine):
    """Simulate a cluster: steady state in closed form, moves, stalls and failures over simulated time."""

    @hookimpl
    def headgate_open(self, application: Sequence[str], address: str | None) -> AbstractContextManager[SimTarget]:
        """See `headgate_sim.application.open_application`."""
        from headgate_sim.application import open_application

        return open_application(application, address)

    @hookimpl
    def headgate_claims(self) -> Sequence[Claim]:
        """See `headgate_sim.claims`."""
        from headgate_sim.claims import claims

        return claims()

    @hookimpl
    def headgate_commands(self) -> Sequence[click.Command]:
        """The command `headgate simulate`."""
        from headgate_sim.simulate import simulate

        return (simulate,)

    @hookimpl
    def headgate_experiment(self, request: Request, scheduler: str, seed: int, seconds: float) -> Mapping[str, float]:
        """See `headgate_sim.experiment.run`; the numbers of its summary."""
        from headgate_sim.experiment import run

        summary = run(request, scheduler, seed=seed, duration=seconds)
        names = ("throughput", "offered", "latency", "inter_node", "nodes", "moves", "stopped", "degraded", "backlog")
        return {name: float(value) for name in names if (value := getattr(summary, name)) is not None}


sim = Sim()
