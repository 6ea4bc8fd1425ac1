"""Choice of the objective, and the plan of what its search found."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headgate.model import NOT_SEARCHED, Bound, Reason, Status
from headgate.problem import Problem
from headgate.toolbox.limited import plan_within_limit
from headgate_exact.placement import place
from headgate_exact.solver import Budget
from headgate_exact.start import start
from headgate_exact.throughput import most_throughput

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate.model import Plan, Request
    from headgate_exact.options import Options

EXTRA = "optimal needs OR-Tools: pip install 'headgate[exact]'"


def search(request: Request, options: Options) -> Plan:
    """Answer a request with the best plan that the budget allows.

    Args:
        request: The request.
        options: Options of `optimal`.
    """
    if find_spec("ortools") is None:
        return _without_solver(request)
    budget = Budget.of(request.limits.deadline, options)
    if options.objective == "throughput" or (options.objective == "auto" and request.profiles):
        return most_throughput(request, options, budget)
    return least_traffic(Problem.of(request, measured=options.measured), options, budget)


def _without_solver(request: Request) -> Plan:
    problem = Problem.of(request)
    plan = problem.plan(problem.current)
    reason = Reason(code="extra", subject="ortools", message=EXTRA, resource="package", need=1.0, have=0.0)
    return attrs.evolve(plan, status=Status.INFEASIBLE, reasons=(reason, *plan.reasons))


def least_traffic(problem: Problem, options: Options, budget: Budget) -> Plan:
    """The placement with the least traffic between nodes; what runs stays if it is as good.

    Args:
        problem: The request as arrays.
        options: Options of `optimal`.
        budget: Work and time that are left.
    """
    greedy = start(problem)
    found = place(problem, greedy, options, budget)
    if found is None:
        node_of = min((problem.current, greedy), key=lambda each: _worth(problem, each))
        return _not_searched(problem, node_of, "first fit" if node_of is greedy else "as it is", options.max_columns)
    if found.infeasible:
        return _no_placement(problem, greedy, "it is proven that no placement holds every task")
    candidates = [each for each in (problem.current, found.node_of, greedy) if each is not None]
    node_of = min(candidates, key=lambda each: _worth(problem, each))
    proven = found.proven and found.node_of is not None
    said = "proven optimum" if proven else "best found so far"
    return _bounded(problem, node_of, found.bound, said, proven=proven)


def _worth(problem: Problem, node_of: NDArray[np.int64]) -> tuple[int, int, int, int]:
    """Sort key of placements: overloaded nodes, tasks without a node, traffic between nodes, nodes."""
    used = np.zeros_like(problem.capacity)
    placed = node_of >= 0
    np.add.at(used, node_of[placed], problem.demand[placed])
    over = int((used > problem.capacity).any(axis=1).sum())
    return over, int((~placed).sum()), problem.traffic.inter_node(node_of), len(np.unique(node_of[placed]))


def _not_searched(problem: Problem, node_of: NDArray[np.int64], origin: str, most: int) -> Plan:
    """A plan that nothing was proved of, and a reason that says so."""
    said = f"more than {most} columns: not searched, {origin}"
    plan = plan_within_limit(problem, node_of, said)
    if plan.status is not Status.OK:
        return _no_placement(problem, node_of, f"{said}: no placement of every task was found")
    message = f"more than {most} columns, the plan is {origin}; raise max_columns, or ask for less"
    return attrs.evolve(plan, reasons=(Reason(code=NOT_SEARCHED, subject="tasks", message=message),))


def _bounded(problem: Problem, node_of: NDArray[np.int64], bound: int, said: str, *, proven: bool) -> Plan:
    plan = plan_within_limit(problem, node_of, said)
    if plan.status is not Status.OK:
        return _no_placement(problem, node_of, f"{said}: no placement of every task was found")
    value = bound / problem.traffic.scale
    reached = proven and plan.scores.inter_node <= value
    return attrs.evolve(plan, bound=Bound(figure="inter_node", value=value, proven=reached))


def _no_placement(problem: Problem, node_of: NDArray[np.int64], said: str) -> Plan:
    """An infeasible plan whose first reason is what all nodes together lack, else what a task that is left lacks."""
    plan = problem.plan(node_of, said)
    if any(each.code == "move-limit" for each in plan.reasons):
        return plan
    first, *others = (*_lacking(problem), *plan.reasons)
    first = attrs.evolve(first, message=f"{said}; {first.message}")
    return attrs.evolve(plan, status=Status.INFEASIBLE, reasons=(first, *others))


def _lacking(problem: Problem) -> tuple[Reason, ...]:
    """The resource of which all tasks need more than all nodes have, the worst relative to that; else slots; if any."""
    need, have = problem.demand.sum(axis=0), problem.capacity.sum(axis=0)
    short = int(np.divide(need, have, out=np.where(need > 0, np.inf, 0.0), where=have > 0).argmax())
    name, amount, whole = problem.resources[short], float(need[short]), float(have[short])
    if amount > whole:
        message = f"all tasks need {amount:g} {name}, all nodes have {whole:g}"
        return (Reason(code="capacity", subject="tasks", message=message, resource=name, need=amount, have=whole),)
    workers, slots = _fewest_workers(problem), int(problem.slots.sum())
    if workers > slots:
        message = f"all tasks need {workers} workers, all nodes have {slots} slots"
        return (Reason(code="slots", subject="tasks", message=message, resource="slots", need=workers, have=slots),)
    return ()


def _fewest_workers(problem: Problem) -> int:
    """Workers that all tasks need at least, whichever nodes they are on: as many as the sums of heaps fill."""
    heap = np.bincount(problem.topology, weights=problem.heap, minlength=len(problem.heap_limit))
    full = np.divide(heap, problem.heap_limit, out=np.zeros(len(heap)), where=problem.heap_limit > 0)
    return int(np.maximum(np.ceil(full), np.bincount(problem.topology, minlength=len(heap)) > 0).sum())
