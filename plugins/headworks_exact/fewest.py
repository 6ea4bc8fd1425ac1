"""The fewest tasks that sustain a rate: responses of one component after another, then an integer program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.toolbox.best_response import fewest_tasks
from headworks_exact.feasibility import Counts, by_counts, rate_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.toolbox.instance_counts import InstanceCounts
    from headworks_exact.options import Options
    from headworks_exact.solver import Budget

VARIABLES = 20_000
"""Counts of an integer program, at most: a larger one is not solved in what is left for it."""
FURTHER = 0.25
"""Part of the effort that is granted for it beside the search for the highest rate."""


def fewest(
    instances: InstanceCounts, known: Sequence[Counts], rate: float, options: Options, further: float, budget: Budget
) -> Counts:
    """Counts of the fewest tasks that were found to sustain a rate.

    Args:
        instances: The choice of instance counts.
        known: Counts to begin with, each of shape (K, m); one of them sustains the rate.
        rate: Factor of the stated rates.
        options: Options of `optimal`.
        further: Work that it may take.
        budget: Time that is left.
    """
    able = [each for each in known if rate_of(instances, each) >= rate]
    counts = min((fewest_tasks(instances, each, rate) for each in able), key=lambda each: int(each.sum()))
    parts, machines = counts.shape
    less = int(counts.sum()) - 1
    if less < parts or parts * machines * less > VARIABLES:
        return counts
    budget.grant(further)
    if budget.spent:
        return counts
    _, fewer = by_counts(instances, rate, counts, options, budget, tasks=less)
    return counts if fewer is None or rate_of(instances, fewer) < rate * (1 - 1e-6) else fewer
