"""Comparison of `dstorm-plus` with `dstorm` and the optimum: some settings of the micro-benchmark."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headworks.model import Status
from headworks_dstorm.workloads import BenchmarkSetting, micro_benchmark
from headworks_lab.evidence.model import Improvement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.model import Plan

INSTANCES: dict[str, Sequence[dict[str, float]]] = {
    "linear": ({}, {"cs": 20}, {"ss": 2}, {"ps": 5000}),
    "diamond": ({"cs": 30}, {"ss": 1.66}, {"ts": 8}, {"ts": 12}),
    "star": ({}, {"cs": 40}, {"ss": 1.33}, {"ts": 8}, {"ps": 10_000}),
}
"""Settings of Table 5.3 by shape, as they differ from the defaults: of each sweep, and two that are not proved."""
EFFORT = {"effort": 0.02, "max_columns": 50_000}


def improvements() -> Sequence[Improvement]:
    """Traffic between nodes on each instance."""
    return tuple(_improvement(shape, changed) for shape, settings in INSTANCES.items() for changed in settings)


def _improvement(shape: str, changed: dict[str, float]) -> Improvement:
    names = [f"{name}{value:g}" for name, value in changed.items()] or ["defaults"]
    setting = ", ".join(f"{name.capitalize()} {value:g}" for name, value in changed.items()) or "the defaults"
    return Improvement(
        id="-".join((shape, *names)),
        statement=f"traffic between nodes of {shape} at {setting}, tuples/s",
        build=partial(micro_benchmark, shape, BenchmarkSetting(**changed)),  # type: ignore[arg-type]
        published="dstorm",
        figure=traffic,
        exact="optimal",
        effort=EFFORT,
    )


def traffic(plan: Plan) -> float | None:
    """Tuples/s between nodes under a plan that places every task."""
    return plan.scores.inter_node if plan.status is Status.OK else None
