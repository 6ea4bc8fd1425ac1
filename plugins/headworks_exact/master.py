"""Integer master program: how many nodes of each group hold which pattern, by CP-SAT."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks_exact.pattern_constraints import PatternConstraints
from headworks_exact.pattern_model import PatternModel
from headworks_exact.patterns import Patterns
from headworks_exact.solver import solve

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks_exact.solver import Budget


@attrs.frozen(eq=False, kw_only=True)
class Master:
    """Master program over some patterns.

    Attributes:
        model: Classes and groups of nodes.
        patterns: The patterns.
        total: All traffic, in units.
        hint: Patterns of a placement that is known, None without one.
        constraints: Hard constraints of the problem.
    """

    model: PatternModel
    patterns: Patterns
    total: int
    hint: Patterns | None
    constraints: PatternConstraints


def solve_master(master: Master, least: int, most: int, budget: Budget) -> tuple[bool, Patterns | None]:
    """Find the placement of the patterns with the least traffic between nodes, then the fewest nodes.

    Args:
        master: The program.
        least: Units between nodes that no placement goes below.
        most: Units between nodes that the placement may have.
        budget: Work and time that are left.

    Returns:
        Whether all was searched, and the pattern of each node in the best placement, None if there is none.
    """
    # The extra `exact`, and 0.1 s and more to import.
    from ortools.sat.python import cp_model

    model, groups = cp_model.CpModel(), master.model
    every, group = master.patterns.every.astype(np.int64), master.patterns.group
    local = np.rint(master.patterns.worth * master.total).astype(np.int64)
    unit = math.gcd(*local.tolist(), master.total) or 1
    ends = np.searchsorted(group, np.arange(len(groups.nodes) + 1)).tolist()
    holds = [
        model.new_int_var(0, _most_nodes(groups.all_tasks, row, int(groups.nodes[g])), "")
        for row, g in zip(every, group.tolist(), strict=True)
    ]
    # Convexity rows: each node of a group holds one pattern, the empty one included.
    for g, nodes in enumerate(groups.nodes.tolist()):
        model.add(cp_model.LinearExpr.sum(holds[ends[g] : ends[g + 1]]) == nodes)
    # Covering rows: sum over patterns of count * nodes = tasks of the class.
    for number, tasks in enumerate(groups.all_tasks.tolist()):
        here = np.flatnonzero(every[:, number])
        counts = every[here, number].tolist()
        model.add(cp_model.LinearExpr.weighted_sum([holds[at] for at in here.tolist()], counts) == tasks)
    master.constraints.add(model, holds, master.patterns)
    within = cp_model.LinearExpr.weighted_sum(holds, (local // unit).tolist())
    model.add_linear_constraint(within, -(-(master.total - most) // unit), (master.total - least) // unit)
    empty = cp_model.LinearExpr.weighted_sum(holds, _empties(groups, every, group).tolist())
    # Lexicographic: at most m nodes are empty, so one unit of traffic outweighs them all.
    model.maximize((int(groups.nodes.sum()) + 1) * within + empty)
    _add_hint(model, holds, master)
    solver = solve(model, budget)
    complete = solver.status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    if solver.status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return complete, None
    rows = np.repeat(np.arange(len(holds)), [solver.value(each) for each in holds])
    worth = master.patterns.worth[rows]
    return complete, Patterns(every=master.patterns.every[rows], group=group[rows], worth=worth)


def _add_hint(model: object, holds: list[object], master: Master) -> None:
    known = Counter[tuple[int, bytes]]()
    if master.hint is not None:
        pairs = zip(master.hint.group.tolist(), master.hint.every, strict=True)
        known.update((group, row.tobytes()) for group, row in pairs)
    for each, group, row in zip(holds, master.patterns.group.tolist(), master.patterns.every, strict=True):
        model.add_hint(each, known[group, row.tobytes()])  # type: ignore[attr-defined]


def _empties(model: PatternModel, every: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.int64]:
    """1 for each pattern that leaves a node without tasks, else 0."""
    empty: NDArray[np.int64] = (~every.any(axis=1) & ~model.stays[group]).astype(np.int64)
    return empty


def _most_nodes(count: NDArray[np.int64], row: NDArray[np.int64], nodes: int) -> int:
    """Number of nodes that can hold a pattern before some class runs out."""
    here = row > 0
    return min(nodes, int((count[here] // row[here]).min(initial=nodes)))
