"""Comparison of the guard of `otd` with the paper and a bound: the fullest Worker after many rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.problem import Problem
from headworks_lab.evidence.model import Improvement
from headworks_nstorm.workloads import computation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.model import Plan, Request

ROUNDS = 50


def improvements() -> Sequence[Improvement]:
    """The computation-intensive application of section 5.3."""
    return (
        Improvement(
            id="fullest-guard",
            statement=f"load of the fullest Worker after {ROUNDS} rounds at most, computation-intensive, % of its CPU",
            build=computation,
            published="otd",
            printed={"guard": False},
            options={"guard": True},
            figure=fullest,
            bound=mean,
            rounds=ROUNDS,
            note="the bound is the mean load of all Workers",
        ),
    )


def fullest(plan: Plan) -> float:
    """% of its CPU that the fullest Worker has to give."""
    return 100 * plan.scores.fullest_node


def mean(request: Request) -> float:
    """% of all CPU that the tasks need."""
    problem = Problem.of(request)
    return float(100 * problem.demand[:, 0].sum() / problem.capacity[:, 0].sum())
