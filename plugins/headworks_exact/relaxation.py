"""Upper bound on the rate of every placement: divisible work, each task's fixed cost charged to the tuples it takes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.toolbox.instance_counts import InstanceCounts
    from headworks_exact.solver import Budget


def highest_factor(instances: InstanceCounts, budget: Budget) -> float:
    """Upper bound on the factor of the stated rates, infinite if no rate costs anything.

    A task that can use c percent of a machine, what is free and what its threads can use of it, processes at most (c -
    MET) / e tuples/s, so a tuple costs at least e * c / (c - MET): with this price the linear program over rates by
    component and group of equal machines bounds every plan. GLOP solves it; where the budget ends first, each component
    has all machines to itself.

    Args:
        instances: Components, machines and profiles.
        budget: What is left of the work and of the time; what the program took is taken off.
    """
    # The extra `exact`, and slow to import.
    from ortools.linear_solver import pywraplp

    model = instances.profiled
    free = np.maximum(instances.free, 0.0)
    stuck = (instances.floor > 0) & (model.met >= model.limit) & (model.e * model.gain[:, None] > 0)
    if stuck.any():
        return 0.0
    works = np.flatnonzero((model.gain > 0) & np.where(model.covers, model.e > 0, True).any(axis=1))
    if not len(works) or not free.any():
        return math.inf
    solver = pywraplp.Solver.CreateSolver("GLOP")
    rate = solver.NumVar(0, solver.infinity(), "")
    groups = alike(instances, free)
    spent: list[list[Any]] = [[] for _ in groups]
    alone = math.inf
    for row in works.tolist():
        parts: list[Any] = []
        most = task = 0.0
        for number, nodes in enumerate(groups):
            node = nodes[0]
            met, e = float(model.met[row, node]), float(model.e[row, node])
            can = min(float(free[node]), float(model.limit[row, node]))
            if not model.covers[row, node] or (met >= can and e > 0) or free[node] <= 0:
                continue
            flow = solver.NumVar(0, solver.infinity(), "")
            parts.append(flow)
            if e > 0:
                price = e * can / (can - met)
                spent[number].append(price * flow)
                task = max(task, (can - met) / e)
            most += len(nodes) * float(free[node]) / price if e > 0 else math.inf
            task = task if e > 0 else math.inf
        most = min(most, task * max(int(instances.most[row]), int(instances.given[row])))
        if math.isfinite(most):
            solver.Add(float(model.gain[row]) * rate <= most)
        alone = min(alone, most / float(model.gain[row]))
        solver.Add(sum(parts) >= float(model.gain[row]) * rate if parts else rate <= 0)
    for nodes, terms in zip(groups, spent, strict=True):
        if terms:
            solver.Add(sum(terms) <= float(free[nodes[0]]) * len(nodes))
    solver.Maximize(rate)
    return float(solver.Objective().Value()) if budget.run_linear(solver) else alone


def alike(instances: InstanceCounts, free: NDArray[np.float64]) -> list[list[int]]:
    """Machines on which each component costs the same.

    Args:
        instances: Components, machines and profiles.
        free: Percent of each machine that is free, shape (m,).
    """
    model = instances.profiled
    found: dict[bytes, list[int]] = {}
    for node in range(len(free)):
        arrays = (model.e[:, node], model.met[:, node], model.covers[:, node], free[node : node + 1])
        found.setdefault(b"|".join(np.ascontiguousarray(each).tobytes() for each in arrays), []).append(node)
    return list(found.values())
