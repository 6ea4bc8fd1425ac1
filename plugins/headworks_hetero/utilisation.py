"""Weighted utilisation (Eq. 7 and 8), and what Storm's default scheduler reaches with the same numbers of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model.scaling import with_instances
from headworks.problem import Problem
from headworks.problem.arrays.profiles import FULL, Profiled, counts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.model import Plan, Request

    Counts = NDArray[np.int64]


def weights(e: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weight x of each machine type (Eq. 8), float64 (T,): all together are C, not 1.

    Args:
        e: Percent-seconds of a tuple, by component type and machine type, float64 (C, T), above 0.
    """
    # x_ij = (1 / e_ij) / sum over machine types k of 1 / e_ik; x of a machine type is the sum over component types
    speed = 1 / e
    found: NDArray[np.float64] = (speed / speed.sum(axis=1, keepdims=True)).sum(axis=0)
    return found


@attrs.frozen(kw_only=True)
class Comparison:
    """Two placements of the same tasks: one of a scheduler, and that of Storm's default scheduler.

    Attributes:
        throughput: Throughput of the first over that of the second, less 1.
        utilisation: Weighted utilisation likewise.
    """

    throughput: float
    utilisation: float

    @property
    def ratio(self) -> float:
        """The figure of Table 5."""
        return self.throughput / self.utilisation


def compare_with_default(request: Request, plan: Plan, kinds: dict[str, str]) -> Comparison:
    """Compare a plan with a round robin over all machines, each at its highest rate.

    Args:
        request: With a profile of each component for each machine type.
        plan: Its numbers of tasks are placed by both.
        kinds: Type of each component; components of one type have one profile (C of Eq. 8 counts types).
    """
    problem = Problem.of(with_instances(request, plan.parallelism, priced=True))
    model = Profiled.of(problem.request)
    types = np.array([node.machine_type for node in sorted(request.cluster.nodes, key=lambda each: each.id)])
    rows = {kinds[name]: row for row, (_, name) in enumerate(problem.components)}
    first = [int(np.flatnonzero(types == name)[0]) for name in np.unique(types)]
    weight = weights(model.e[sorted(rows.values())][:, first])
    # Storm deals the executors, component by component, to the workers in turn, of which each machine has one.
    dealt = counts_of(problem, np.arange(problem.n) % problem.m)
    planned = counts_of(problem, problem.node_of(plan.assignment))
    rate, used = _reached(model, planned, types, weight)
    default_rate, default_used = _reached(model, dealt, types, weight)
    return Comparison(throughput=rate / default_rate - 1, utilisation=used / default_used - 1)


def _reached(
    model: Profiled, counts: Counts, types: NDArray[np.str_], weight: NDArray[np.float64]
) -> tuple[float, float]:
    """Highest factor of the stated rates, and U of Eq. 7 at it over C, so that 100 is every machine in full."""
    factor = model.max_factor(counts, np.full(len(types), FULL))
    load = model.load(counts, factor)
    mean = np.array([load[types == name].mean() for name in np.unique(types)])
    # U = sum over machine types of x * mean utilisation; the weights add up to C
    return factor, float(weight @ mean / weight.sum())
