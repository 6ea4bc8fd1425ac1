"""Comparison of `hetero-plus` with `hetero` and the optimum: three, six and 180 machines."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from headworks.model import Status
from headworks_hetero.workloads import SCENARIOS, SHAPES, micro_benchmark
from headworks_lab.evidence.model import Improvement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headworks.model import Plan

INSTANCES = (
    *((shape, "three", met) for shape in SHAPES for met in (0.0, 5.0)),
    ("linear", "small", 5.0),
    ("linear", "large", 0.0),
    ("star", "large", 5.0),
)
"""Shape, cluster, and MET in percent."""
EFFORT = {"effort": 0.02, "within": 0.0}
PROVED = "proved within 0.05 %, for any numbers of tasks"
RELAXED = "the bound lets a task be cut into any parts, each with its part of the fixed cost"


def improvements() -> Sequence[Improvement]:
    """Throughput on each instance."""
    return tuple(_improvements())


def _improvements() -> Iterator[Improvement]:
    for shape, scenario, met in INSTANCES:
        machines = SCENARIOS[scenario]
        yield Improvement(
            id=f"{shape}-{scenario}-met{met:g}",
            statement=f"throughput of {shape} on {sum(machines)} machines, MET {met:g} %, tuples/s",
            build=partial(micro_benchmark, shape, machines, met),
            published="hetero",
            figure=throughput,
            more=True,
            exact="optimal",
            effort=EFFORT,
            options={"within": 0.0},
            note=RELAXED if scenario == "large" else PROVED,
        )


def throughput(plan: Plan) -> float | None:
    """Tuples/s of a plan that places every task."""
    return plan.scores.throughput if plan.status is Status.OK else None
