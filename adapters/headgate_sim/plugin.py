"""The plugin `sim`: monitor and executor for a simulated engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.hooks import Description, hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    import click

    from headgate.hooks import Claim
    from headgate.model import Observation, Plan, Receipt, Request
    from headgate_sim.target import SimTarget


class Sim:
    """Simulate a cluster: steady state in closed form, moves, stalls and failures over simulated time."""

    @hookimpl
    def headgate_describe(self) -> Description:
        """Describe the adapter."""
        return Description(
            summary=self.__doc__ or "", paper="001 N-Storm (section 5.2), 003 priority thesis (use case 1)"
        )

    @hookimpl
    def headgate_open(self, application: Sequence[str], address: str | None) -> AbstractContextManager[SimTarget]:
        """See `headgate_sim.application.open_application`."""
        from headgate_sim.application import open_application

        return open_application(application, address)

    @hookimpl
    def headgate_observe(self, target: SimTarget, window: float) -> Observation:
        """See `headgate_sim.monitor.observe`."""
        from headgate_sim.monitor import observe

        return observe(target, window)

    @hookimpl
    def headgate_preflight(self, target: SimTarget, plan: Plan) -> Sequence[str]:
        """See `headgate_sim.executor.preflight`."""
        from headgate_sim.executor import preflight

        return preflight(target, plan)

    @hookimpl
    def headgate_execute(self, target: SimTarget, plan: Plan) -> Receipt:
        """See `headgate_sim.executor.execute`."""
        from headgate_sim.executor import execute

        return execute(target, plan)

    @hookimpl
    def headgate_rollback(self, target: SimTarget, receipt: Receipt) -> Receipt:
        """See `headgate_sim.executor.rollback`."""
        from headgate_sim.executor import rollback

        return rollback(target, receipt)

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
