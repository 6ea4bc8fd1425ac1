"""Experiments in the simulator."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import attrs

from headworks.errors import PluginError
from headworks.model import FILL
from headworks_sim.experiments.experiment import PATIENCE, run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.control.journal import Round
    from headworks.model import Request

FIGURES = (
    *("throughput", "offered", "latency", "inter_node", "nodes", "moves", "stopped", "degraded", "backlog"),
    *("warm_up", "start", "latency_p50", "latency_p95", "latency_p99"),
)


class SimBench:
    """Experiments in the simulator, whose seconds are simulated."""

    real = False

    def open(self) -> contextlib.AbstractContextManager[SimBench]:
        """Nothing has to be started."""
        return contextlib.nullcontext(self)

    def run(
        self, request: Request, scheduler: str, seed: int, seconds: float, warm_up: float | None = None
    ) -> Mapping[str, float]:
        """Run an experiment; see `headworks_sim.experiments.experiment.run`.

        Returns:
            The numbers of its summary by name; a latency only if a tuple was completed, a start only if it came.

        Raises:
            PluginError: The scheduler had no plan in some round: the numbers are then not its own.
        """
        lost: list[str] = []

        def note(done: Round, _now: float) -> None:
            if done.outcome in ("failed", "held"):
                lost.append(f"{done.outcome}: {done.message}")

        limits = attrs.evolve(PATIENCE, fill=request.limits.fill or FILL)
        summary = run(request, scheduler, seed, seconds, warm_up=warm_up, limits=limits, on_round=note)
        if lost:
            raise PluginError(f"{scheduler}: {len(lost)} of {sum(summary.rounds.values())} rounds {lost[0]}")
        return {name: float(value) for name in FIGURES if (value := getattr(summary, name)) is not None}


sim = SimBench()
