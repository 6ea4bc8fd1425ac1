"""The best placement of given numbers of tasks, by CP-SAT: the most that the counts of a paper allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
from ortools.sat.python import cp_model

from headworks.model import FrozenMap, Plan, Slot, Status
from headworks.model.scaling import with_instances
from headworks.problem import Problem
from headworks.problem.arrays.profiles import Profiled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from headworks.model import Request

PARTS = 1_000_000
"""Whole units of a machine's load: CP-SAT knows no fractions, and rounding costs less than a tenth of a percent."""
EFFORT = 1.5
"""Deterministic seconds of a search. With twice as many, nothing gets better by a percent."""


def best_placement(request: Request, counts: Mapping[str, int]) -> Plan:
    """A plan of so many tasks whose machine with most load at rates of 1 has as little as can be.

    Args:
        request: One topology without MET, with a profile of each component for each machine type.
        counts: Number of tasks of each component, by id.
    """
    (topology,) = request.topologies
    named = FrozenMap({f"{topology.id}/{name}": count for name, count in counts.items()})
    problem = Problem.of(with_instances(request, named, priced=True))
    model = Profiled.of(problem.request)
    tasks = np.bincount(problem.component)
    load = model.e * (model.gain / tasks)[:, None]
    placed = _spread(tasks, np.ceil(PARTS * load / load.max()).astype(np.int64))
    where = (node for row in placed for node, count in enumerate(row) for _ in range(count))
    slots = (Slot(problem.node_ids[node], problem.request.cluster.nodes[0].slots[0]) for node in where)
    assignment = FrozenMap(zip(problem.task_ids, slots, strict=True))
    return attrs.evolve(Plan(status=Status.OK), assignment=assignment, parallelism=named)


def _spread(tasks: NDArray[np.int64], load: NDArray[np.int64]) -> list[list[int]]:
    """Tasks of each component on each machine, (C, m), so that the largest load is least.

    Args:
        tasks: Number of tasks of each component, int64 (C,).
        load: Load of one task on each machine, int64 (C, m).
    """
    model = cp_model.CpModel()
    counts = [[model.new_int_var(0, int(most), "") for _ in range(load.shape[1])] for most in tasks]
    largest = model.new_int_var(0, int((tasks[:, None] * load).sum()), "")
    for row, count in zip(counts, tasks.tolist(), strict=True):
        model.add(sum(row) == count)
    for node in range(load.shape[1]):
        model.add(sum(int(load[part, node]) * counts[part][node] for part in range(len(tasks))) <= largest)
    model.minimize(largest)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = EFFORT
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise ValueError(f"no placement of {tasks.tolist()} tasks was found")
    return [[solver.value(each) for each in row] for row in counts]
