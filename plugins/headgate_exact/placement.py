"""The task placement with the least traffic between nodes, and of those one on the fewest nodes.

Tasks of a class and nodes of a group are interchangeable, so the question is how many nodes of each group hold which
pattern: an integer program with one row for each class and group, whatever the number of tasks. The duals of its
relaxation give each pattern a reduced cost; patterns that are in no placement with less traffic than some target are
left out, and the target grows until a placement meets it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headgate.problem.workers import Workers
from headgate_exact.classes import Classes
from headgate_exact.patterns import Patterns, patterns_of
from headgate_exact.pricing import PatternTable, Relaxation
from headgate_exact.solver import Budget, solve

if TYPE_CHECKING:
    from headgate.problem import Problem
    from headgate_exact.options import Options

STEP = 0.02
"""Distance of the first target above the bound of the relaxation, relative to it; doubled each time. The larger it is,
the more patterns the first integer program has; the smaller, the more programs are solved."""
MODEL = 6_000
"""Patterns of the integer program, at most. The larger it is, the more requests are searched to the end, and the longer
a model takes that CP-SAT cannot solve within the budget anyway."""


@attrs.frozen(eq=False, kw_only=True)
class Placed:
    """Outcome of the search.

    Attributes:
        node_of: int64 (n,), node of each task; None where no placement was found.
        bound: Traffic between nodes below which no placement goes, in units of `Traffic`.
        proven: Whether nothing is better.
        infeasible: Whether it is proven that there is no placement at all.
    """

    node_of: NDArray[np.int64] | None
    bound: int
    proven: bool = False
    infeasible: bool = False


def place(problem: Problem, start: NDArray[np.int64], options: Options, budget: Budget) -> Placed | None:
    """Search from a placement, whole or not; None if the model would have more than `options.max_columns` columns.

    Args:
        problem: The request as arrays.
        start: Node index of each task, shape (n,), -1 for tasks without one: the hint of the first integer program.
        options: Options of `optimal`.
        budget: Work and time that are left.
    """
    classes = Classes.of(problem)
    columns: list[Patterns] = []
    left, complete, workers = options.max_columns, True, Workers(problem)
    for nodes in classes.nodes:
        found = patterns_of(problem, classes, workers, nodes[0], left)
        if found is None:
            return None
        patterns, all_of_them = found
        left -= len(patterns)
        complete &= all_of_them
        columns.append(patterns)
    if not problem.n or not columns:
        nothing = np.zeros(0, dtype=np.int64) if not problem.n else None
        return Placed(node_of=nothing, bound=0, proven=True, infeasible=problem.n > 0)
    placed = _search(problem, classes, columns, start, budget)
    # a pattern may be missing that better packed workers would hold: then nothing is known of all placements
    return placed if complete else Placed(node_of=placed.node_of, bound=0)


def _search(
    problem: Problem, classes: Classes, columns: list[Patterns], start: NDArray[np.int64], budget: Budget
) -> Placed:
    table = PatternTable.of(problem, classes, columns)
    relaxed = Relaxation.of(problem, classes, table)
    total = problem.traffic.total
    best, hint, known = None, _as_patterns(problem, classes, table, start), total
    if hint.sum() == problem.m and (start >= 0).all():
        known = problem.traffic.inter_node(start)
    if relaxed is None:
        relaxed, step = Relaxation(bound=0.0, reduced_cost=np.zeros(len(table.every))), float(total)
    else:
        step = STEP * max(relaxed.bound, STEP * total)
    bound = math.ceil(relaxed.bound)
    while not budget.spent:
        target = min(math.ceil(relaxed.bound + step), known)
        # Reduced cost fixing: bound + reduced cost > target, and no placement within the target holds the pattern.
        kept = np.flatnonzero(relaxed.reduced_cost <= target - relaxed.bound)
        if len(kept) > MODEL:
            break
        complete, chosen = _solve_master(problem, classes, table, kept, hint, (bound, known), budget)
        if chosen is not None:
            best, hint = _place_patterns(problem, classes, table, chosen), chosen
            known = problem.traffic.inter_node(best)
            if complete and known <= target:
                return Placed(node_of=best, bound=known, proven=True)
        elif complete and target == total:
            return Placed(node_of=None, bound=0, proven=True, infeasible=True)
        elif target == known:  # the start is no placement after all
            known = total
        if not complete:
            break
        # All within the target was searched in vain (or beaten): the bound is beyond it.
        bound, step = max(bound, target + 1), 2 * step
    return Placed(node_of=best, bound=min(bound, known))


def _solve_master(
    problem: Problem,
    classes: Classes,
    table: PatternTable,
    kept: NDArray[np.int64],
    hint: NDArray[np.int64],
    traffic: tuple[int, int],
    budget: Budget,
) -> tuple[bool, NDArray[np.int64] | None]:
    """Solve the master problem over the patterns `kept`, with traffic in a range.

    Returns:
        Whether all was searched, and how many nodes hold each pattern in the best placement.
    """
    # The extra `exact`, and 0.1 s and more to import.
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    every, group, local = table.every[kept], table.group[kept], table.local[kept]
    unit = math.gcd(*local.tolist()) or 1
    holds = [
        model.new_int_var(0, _most_nodes(classes, row, len(classes.nodes[g])), "")
        for row, g in zip(every, group.tolist(), strict=True)
    ]
    # Convexity rows: each node of a group holds one pattern, the empty one included.
    for g, nodes in enumerate(classes.nodes):
        model.add(sum(holds[p] for p in np.flatnonzero(group == g).tolist()) == len(nodes))
    # Covering rows: sum over patterns of count * nodes = tasks of the class.
    for number, count in enumerate(classes.count.tolist()):
        rows = np.flatnonzero(every[:, number]).tolist()
        model.add(sum(int(every[p, number]) * holds[p] for p in rows) == count)
    stays = cp_model.LinearExpr.weighted_sum(holds, (local // unit).tolist())
    most, least = ((problem.traffic.total - each) // unit for each in (traffic[0], traffic[1]))
    model.add_linear_constraint(stays, least, most)
    empty = cp_model.LinearExpr.weighted_sum(holds, (~every.any(axis=1)).astype(np.int64).tolist())
    # Lexicographic: at most m nodes are empty, so one unit of traffic outweighs them all.
    model.maximize((problem.m + 1) * stays + empty)
    for each, count in zip(holds, hint[kept].tolist(), strict=True):
        model.add_hint(each, count)
    solver = solve(model, budget)
    complete = solver.status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    if solver.status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return complete, None
    chosen = np.zeros(len(table.every), dtype=np.int64)
    chosen[kept] = [solver.value(each) for each in holds]
    return complete, chosen


def _as_patterns(
    problem: Problem, classes: Classes, table: PatternTable, node_of: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Number of nodes that hold each pattern in a placement; nodes that hold none of them are left out."""
    every, group = table.every, table.group
    index = {(g, row.tobytes()): p for p, (g, row) in enumerate(zip(group.tolist(), every, strict=True))}
    counts = np.zeros((problem.m, len(classes.tasks)), dtype=np.int64)
    for number, tasks in enumerate(classes.tasks):
        for task in tasks:
            if node_of[task] >= 0:
                counts[node_of[task], number] += 1
    found = np.zeros(len(every), dtype=np.int64)
    for g, nodes in enumerate(classes.nodes):
        for node in nodes:
            if (g, counts[node].tobytes()) in index:
                found[index[g, counts[node].tobytes()]] += 1
    return found


def _most_nodes(classes: Classes, row: NDArray[np.int64], nodes: int) -> int:
    """Number of nodes that can hold a pattern before some class runs out."""
    here = row > 0
    return min(nodes, int((classes.count[here] // row[here]).min(initial=nodes)))


def _place_patterns(
    problem: Problem, classes: Classes, table: PatternTable, chosen: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Nodes for the patterns and tasks for the counts, so that what runs stays where it can."""
    every, group = table.every, table.group
    counts = np.zeros((len(classes.tasks), problem.m), dtype=np.int64)
    runs = np.zeros_like(counts)
    for number, tasks in enumerate(classes.tasks):
        for task in tasks:
            if problem.current[task] >= 0:
                runs[number, problem.current[task]] += 1
    for g, nodes in enumerate(classes.nodes):
        rows = np.repeat(np.flatnonzero(group == g), chosen[group == g]).tolist()
        free = list(nodes)
        while rows:
            _, row, node = max(
                (int(np.minimum(every[row], runs[:, node]).sum()), -row, -node) for row in set(rows) for node in free
            )
            rows.remove(-row)
            free.remove(-node)
            counts[:, -node] = every[-row]
    node_of = np.full(problem.n, -1, dtype=np.int64)
    for number, tasks in enumerate(classes.tasks):
        left, waiting = counts[number].copy(), []
        for task in tasks:
            node = int(problem.current[task])
            if node >= 0 and left[node]:
                left[node] -= 1
                node_of[task] = node
            else:
                waiting.append(task)
        node_of[waiting] = np.repeat(np.arange(problem.m), left)
    return node_of
