"""Choice of the objective, and the plan of what its search found."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.errors import how_to_install
from headworks.model import ENDED_EARLY, NOT_SEARCHED, Bound, Reason, Slot, Status
from headworks.problem import Problem
from headworks.toolbox.cancel import offer
from headworks.toolbox.move_limit import beside_running, plan_within_limit
from headworks_exact.by_topology import bound_by_topology
from headworks_exact.node_rules import NodeRules
from headworks_exact.placement import CLASSES, place
from headworks_exact.pricing import ROUNDING
from headworks_exact.solver import Budget
from headworks_exact.start import start
from headworks_exact.throughput import most_throughput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from headworks.hooks import Ask
    from headworks.model import Plan, Request
    from headworks_exact.options import Options
    from headworks_exact.placement import Placed

FOR_TRAFFIC, FOR_THROUGHPUT = ("dstorm-plus", "dstorm"), ("hetero-plus", "hetero")
"""Schedulers that are asked for their plans."""
ASKED = 0.3
"""Share of the deadline in which each of the other schedulers answers."""
NO_LOAD = "no plan is known whose load all nodes and their networks bear, and none is searched for"
FURTHER = 0.5
"""Part of the effort that a bound by topology has at least, whatever the search before it took."""
EXTRA = f"optimal needs OR-Tools: {how_to_install('exact')}"


def search(request: Request, options: Options, ask: Ask | None = None) -> Plan:
    """Answer a request with the best plan that the budget allows.

    Args:
        request: The request.
        options: Options of `optimal`.
        ask: Other schedulers' plans for the request, from which the search starts.
    """
    if find_spec("ortools") is None:
        return _without_solver(request)
    budget = Budget.of(request.limits.deadline, options)
    by_profiles = options.objective == "throughput" or (options.objective == "auto" and bool(request.profiles))
    names = (FOR_THROUGHPUT if by_profiles else FOR_TRAFFIC) if options.ask and options.measured else ()
    asked = {name: ask(name, ASKED * request.limits.deadline) for name in names} if ask is not None else {}
    others = {name: plan for name, plan in asked.items() if plan is not None}
    if (Problem.of(request).current < 0).any():  # else what runs is held, which may be better than where others start
        _offer(others, by_profiles=by_profiles)
    if by_profiles:
        plan = most_throughput(request, options, budget, others)
    else:
        plan = least_traffic(Problem.of(request, measured=options.measured), options, budget, others)
    proven = plan.bound is not None and plan.bound.proven
    return attrs.evolve(plan, reasons=(*plan.reasons, _cut_short())) if budget.cut and not proven else plan


def _offer(others: Mapping[str, Plan], *, by_profiles: bool) -> None:
    """Offer the best plan from which the search starts: a machine that is busy may leave no time to make another."""
    whole = [plan for plan in others.values() if plan.status is Status.OK]
    if whole and by_profiles:
        offer(max(whole, key=lambda plan: plan.scores.throughput or 0.0))
    elif whole:
        offer(min(whole, key=lambda plan: _order(plan, load=False)))


def _cut_short() -> Reason:
    message = "the clock ended the search of optimal before its work was done: another run may find another plan"
    return Reason(code=ENDED_EARLY, subject="optimal", message=message)


def _without_solver(request: Request) -> Plan:
    problem = Problem.of(request)
    plan = problem.plan(problem.current)
    reason = Reason(code="extra", subject="ortools", message=EXTRA, resource="package", need=1.0, have=0.0)
    return attrs.evolve(plan, status=Status.INFEASIBLE, reasons=(reason,))


def least_traffic(problem: Problem, options: Options, budget: Budget, others: Mapping[str, Plan]) -> Plan:
    """The plan with the least traffic between nodes; what runs stays if it is as good.

    Where nodes state what their networks bear, or the cost of transfers is known, a plan that bears more load comes
    before one with less traffic, unless the objective is traffic alone. The search knows neither: its bound holds
    where the plan bears all of the load.

    Args:
        problem: The request as arrays.
        options: Options of `optimal`.
        budget: Work and time that are left.
        others: Plans of other schedulers, by name: none of them is better than the one that is returned.
    """
    sound = _is_sound(problem)
    known = [problem.node_of(plan.assignment) for plan in others.values() if plan.status is Status.OK]
    greedy = known[0] if known else start(problem)
    if not known and (problem.current < 0).any() and _holds(problem, greedy):
        offer(plan_within_limit(problem, greedy, "a packing, made before the search"))
    rules = NodeRules.of(problem)
    starts = [
        each
        for each in (*known, *[problem.current] * sound, greedy)
        if _holds(problem, each) and rules.kept_by(problem, each)
    ]
    found = place(problem, starts, options, budget)
    if found.infeasible and sound:
        return _no_placement(problem, greedy, others, "it is proven that no placement holds every task")
    bound = _bound(problem, starts, found, options, budget) if sound else None
    load = options.objective != "traffic" and problem.is_load_bounded
    candidates = [each for each in (problem.current, found.node_of, greedy, *(known * load)) if each is not None]
    node_of = min(map(problem.repair, candidates), key=lambda each: _worth(problem, each, load=load))
    said = _said(problem, node_of, bound, searched=found.searched)
    own = plan_within_limit(problem, node_of, said)
    if own.status is not Status.OK:
        own = _no_placement(problem, node_of, others, f"{said}: no placement of every task was found")
    best = min([own, *others.values()], key=lambda plan: _order(plan, load=load))
    if best is not own:
        name = next(name for name, plan in others.items() if plan is best)
        best = attrs.evolve(best, explanation=f"the plan of {name}, nothing better was found: {best.explanation}")
    if best.status is not Status.OK:
        return best
    if load and _fullest(best) > 1:  # of the load that nodes bear, a bound on traffic proves nothing
        return _not_searched(best, "load", NO_LOAD)
    return _bounded(problem, best, bound, searched=found.searched)


def _bound(
    problem: Problem, starts: Sequence[NDArray[np.int64]], found: Placed, options: Options, budget: Budget
) -> int | None:
    """Units between nodes below which no plan goes, None if there is nothing to say."""
    best = [*starts, *[each for each in [found.node_of] if each is not None]]
    known = min((problem.traffic.inter_node(each) for each in best), default=0)
    if found.searched and (not best or found.bound >= known):
        return found.bound
    budget.grant(max(budget.work, FURTHER * options.effort * problem.request.limits.deadline))
    by_topology = bound_by_topology(problem, best, known, budget) if best else None
    return max((each for each in [by_topology, *[found.bound] * found.searched] if each is not None), default=None)


def _said(problem: Problem, node_of: NDArray[np.int64], bound: int | None, *, searched: bool) -> str:
    """What is known of a placement."""
    if problem.slowdown is not None and problem.slowdown.exceeded(node_of):
        return "best found so far, not proven: the limit on batches is kept, but not searched"
    near = 2 * ROUNDING * problem.traffic.total
    if bound is not None and (node_of >= 0).all() and problem.traffic.inter_node(node_of) <= bound + near:
        return "proven optimum"
    if not searched:
        return f"more than {CLASSES} different tasks: not searched"
    if problem.constraints.soft or problem.constraints.workers:
        return "best found so far, not proven: constraints within workers, and soft ones, are kept, but not searched"
    return "best found so far"


def _bounded(problem: Problem, plan: Plan, bound: int | None, *, searched: bool) -> Plan:
    """A plan with its bound, and a reason where no search was made and it is not proven."""
    if bound is not None:
        value = bound / problem.traffic.scale
        proven = plan.scores.inter_node <= value + 2 * ROUNDING * plan.scores.traffic
        plan = attrs.evolve(plan, bound=Bound(figure="inter_node", value=value, proven=proven))
    if searched or (plan.bound is not None and plan.bound.proven):
        return plan
    return _not_searched(plan, "tasks", f"more than {CLASSES} different tasks, and no search for better; ask for less")


def _not_searched(plan: Plan, subject: str, message: str) -> Plan:
    reason = Reason(code=NOT_SEARCHED, subject=subject, message=message)
    return attrs.evolve(plan, reasons=(*plan.reasons, reason))


def _holds(problem: Problem, node_of: NDArray[np.int64]) -> bool:
    """Check whether a placement has every task, and overloads no node."""
    return _worth(problem, node_of)[:2] == (0, 0)


def _fullest(plan: Plan) -> float:
    """Share of the fullest node's CPU or network that a plan uses."""
    return max(plan.scores.fullest_link, plan.scores.fullest_node)


def _order(plan: Plan, *, load: bool) -> tuple[bool, int, float, float, int]:
    """Sort key of plans, the best is least.

    Args:
        load: Whether what nodes bear counts before traffic.
    """
    scores = plan.scores
    over = max(_fullest(plan), 1.0) if load else 1.0
    return plan.status is not Status.OK, scores.unplaced, over, scores.inter_node, scores.nodes_used


def _worth(problem: Problem, node_of: NDArray[np.int64], *, load: bool = False) -> tuple[int, int, float, int, int]:
    """Sort key of placements: overloaded nodes, tasks without one, what nodes bear, traffic between nodes, nodes."""
    used = np.zeros_like(problem.capacity)
    placed = node_of >= 0
    np.add.at(used, node_of[placed], problem.demand[placed])
    over = int((used > problem.capacity).any(axis=1).sum())
    full = float(problem.load(node_of).max(initial=1.0)) if load else 1.0
    return over, int((~placed).sum()), full, problem.traffic.inter_node(node_of), len(np.unique(node_of[placed]))


def _is_sound(problem: Problem) -> bool:
    """Check that a bound on placements bounds all plans: that what runs breaks no limit, and that all is looked at.

    A node or worker that is overloaded may stay so, and traffic is scored as it was measured.
    """
    request, heap = problem.request, defaultdict[tuple[Slot, int], float](float)
    for task in np.flatnonzero(problem.current >= 0).tolist():
        heap[request.assignment[problem.task_ids[task]], int(problem.topology[task])] += float(problem.heap[task])
    shared = len({slot for slot, _ in heap}) < len(heap)
    large = any(need > problem.heap_limit[topology] for (_, topology), need in heap.items())
    runs = np.where(problem.current >= 0, problem.current, -1)
    measured = problem.measured or not (request.metrics.tasks or request.metrics.flows or request.metrics.streams)
    return measured and not shared and not large and _worth(problem, runs)[0] == 0


def _no_placement(problem: Problem, node_of: NDArray[np.int64], others: Mapping[str, Plan], said: str) -> Plan:
    """The plan that leaves fewest tasks without a slot, which slots decide and not the placement alone.

    Its first reason is what all nodes together lack, else what a task that is left lacks.
    """
    plans = [problem.plan(node_of, said)]
    if (problem.current >= 0).any():
        plans.append(beside_running(problem, node_of, f"{said}; running tasks stay"))
    plans += [attrs.evolve(each, explanation=f"{said}; {name}: {each.explanation}") for name, each in others.items()]
    plan = min(plans, key=partial(_order, load=False))
    if plan.status is Status.OK or any(each.code == "move-limit" for each in plan.reasons):
        return plan
    first, *rest = (*_lacking(problem), *plan.reasons)
    first = attrs.evolve(first, message=f"{said}; {first.message}")
    return attrs.evolve(plan, status=Status.INFEASIBLE, reasons=(first, *rest))


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
    open_, count = ~problem.closed, len(problem.heap_limit)
    heap = np.bincount(problem.topology[open_], weights=problem.heap[open_], minlength=count)
    full = np.divide(heap, problem.heap_limit, out=np.zeros(len(heap)), where=problem.heap_limit > 0)
    return int(np.maximum(np.ceil(full), np.bincount(problem.topology[open_], minlength=count) > 0).sum())
