"""Headroom: a scheduler is shown a share of each node's CPU, and all of it where that places or bears more.

An engine's processes use CPU beside their tasks: threads that receive, compile code, collect garbage. As much of it as
was measured on a node, as a mean, is left out of the share as well. Where more workers run than there are nodes and
topologies, a plan needs fewer of them, and as much less is left out.

`limits.fill` is a wish. Where the share does not hold every task, the least one that does is looked for by halving.
Where networks or batches bound the load and not processors, the plan on all of the CPU is taken if it bears more load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.documents import canonical, fingerprint
from headworks.model import FILL_DEADLINES, Plan, Reason, Resources, Status
from headworks.model.plan import FULLER
from headworks.model.scaling import rescaled
from headworks.problem import Problem
from headworks.problem.plan.close import CloseStreams
from headworks.problem.plan.score import fullest_cpu, score

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from headworks.model import Node, Profile, Request

HALVINGS = 3
"""Halvings between the share that is asked for and all of the CPU: the share that is found is at most an eighth of what
lies between too large. One more costs another plan."""
LEAST = 0.1
"""Part of a node's CPU that tasks are planned on at least, whatever else was measured there."""
FURTHER = (FILL_DEADLINES - 2) / HALVINGS
"""Part of the deadline for each plan by halving."""


def with_headroom(request: Request, ask: Callable[[Request], Plan]) -> Plan:
    """The plan of a scheduler within `limits.fill` of each node's CPU, or as near to it as it gets.

    Args:
        request: What is asked.
        ask: Plans a request whose nodes have as much CPU as it says, and which wishes for no headroom.
    """
    fill = request.limits.fill
    if fill is None or fill >= 1 or not any(node.capacity.cpu for node in request.cluster.nodes):
        return ask(request)
    share = _first(request, fill)
    plan = _within(request, share, 1.0, ask)
    if _is_enough(request, plan) or any(each.code == "deadline" for each in plan.reasons):
        return plan
    whole = _within(request, 1.0, 1.0, ask)
    as_many = plan.status is not Status.HELD and plan.scores.unplaced <= whole.scores.unplaced
    if as_many and not _is_slow(request, plan):
        return _bearing_more(request, share, plan, whole)
    return _fuller(request, share, whole, ask) if whole.status is Status.OK else whole


def _first(request: Request, fill: float) -> float:
    """The share to begin with: nothing moves for what runs, and is but a little above `fill`."""
    problem = Problem.of(request)
    if not problem.n or (problem.current < 0).any():
        return fill
    least = min((node.capacity.cpu for node in request.cluster.nodes if node.capacity.cpu), default=1.0)
    runs = fullest_cpu(problem, problem.current) + beside_tasks(request) / least
    return max(fill, runs) if runs <= (1 + fill) / 2 else fill


def beside_tasks(request: Request) -> float:
    """CPU points that were measured on a node beyond those of all tasks, a mean over the nodes; 0 if unknown.

    A task that was seen, and whose CPU was not, counts as it declares.
    """
    nodes = [each.cpu for each in request.metrics.nodes if each.cpu]
    if not nodes:
        return 0.0
    declared = {f"{each.id}/{part.id}": part.demand.cpu for each in request.topologies for part in each.components}
    tasks = (declared[each.task.rpartition("/")[0]] if each.cpu is None else each.cpu for each in request.metrics.tasks)
    return max(sum(nodes) - sum(tasks), 0.0) / len(nodes)


def beside_planned(request: Request) -> float:
    """CPU points of `beside_tasks` for the workers of a plan: one a node, or one a topology if these are more.

    Each worker has its own threads, and a plan that keeps topologies together has fewer workers than run.
    """
    runs = len(set(request.assignment.values()))
    least = max(len(request.cluster.nodes), len(request.topologies))
    return beside_tasks(request) * min(1.0, least / runs if runs else 1.0)


def _within(request: Request, share: float, part: float, ask: Callable[[Request], Plan]) -> Plan:
    """The plan of a request whose nodes have a share of their CPU, scored on all of it.

    Args:
        part: Part of the deadline that it has.
    """
    # Less is left free for the engine as the share grows: headroom is a wish, and so is this.
    free = beside_planned(request) * (1 - share) / (1 - (request.limits.fill or 0.0))

    def part_of(cpu: float) -> float:
        return max(share - free / cpu, LEAST) if cpu else share

    nodes = tuple(_smaller(node, part_of(node.capacity.cpu)) for node in request.cluster.nodes)
    limits = attrs.evolve(request.limits, fill=None, deadline=request.limits.deadline * part)
    # A tuple takes more percent of a smaller node.
    profiles = tuple(_dearer(each, part_of(_typical(request, each))) for each in request.profiles)
    cluster = attrs.evolve(request.cluster, nodes=nodes)
    plan = ask(attrs.evolve(request, cluster=cluster, profiles=profiles, limits=limits))
    scores = score(Problem.of(rescaled(request, plan)), plan.assignment, plan.input_rate)
    provenance = attrs.evolve(plan.provenance, request=fingerprint(canonical(request)))
    # A bound on plans within the share that is asked for is none on fuller ones.
    bound = plan.bound if share == request.limits.fill else None
    return attrs.evolve(plan, scores=scores, provenance=provenance, bound=bound)


def _typical(request: Request, profile: Profile) -> float:
    """CPU points of the smallest node that a profile is of, 0 without one."""
    own = (each for each in request.cluster.nodes if profile.machine_type in ("", each.machine_type))
    return min((each.capacity.cpu for each in own), default=0.0)


def _dearer(profile: Profile, part: float) -> Profile:
    return attrs.evolve(profile, e=profile.e / part, met=profile.met / part)


def _smaller(node: Node, share: float) -> Node:
    return attrs.evolve(node, capacity=Resources({**node.capacity, "cpu": node.capacity.cpu * share}))


def _is_enough(request: Request, plan: Plan) -> bool:
    """Check whether a plan within the share places every task, bears the load, and keeps batches short."""
    return plan.status is Status.OK and _done(request, plan) >= 1 and not _is_slow(request, plan)


def _is_slow(request: Request, plan: Plan) -> bool:
    """Check whether batches take longer than they may on all of the CPU.

    A share of it may have no room for what the engine itself would do, and then there is no limit within the share.
    """
    problem = Problem.of(rescaled(request, plan))
    limit = problem.slowdown
    return limit is not None and limit.exceeded(problem.node_of(plan.assignment))


def _done(request: Request, plan: Plan) -> float:
    """Part of the load that a plan bears, at most 1."""
    problem = Problem.of(rescaled(request, plan))
    close = CloseStreams.of(problem)
    if close is not None:
        return 1.0 - close.judge(problem.node_of(plan.assignment))[0]
    return 1.0 if plan.scores.factor is None else min(1.0, plan.scores.factor)


def _bearing_more(request: Request, share: float, plan: Plan, whole: Plan) -> Plan:
    """The plan within the share, or the one on all of the CPU if that bears more load."""
    less, more = _borne(request, plan, share), _borne(request, whole, share)
    if more <= less:
        return plan
    name = whole.provenance.scheduler
    message = (
        f"{name} plans for more than {share:.0%} of each node's CPU (limits.fill): more than processors bounds the "
        f"load, of which this plan bears {more:.0%}, and the one within that share {less:.0%}"
    )
    return _said(whole, Reason(code=FULLER, subject=name, message=message, resource="bandwidth", need=1.0, have=less))


def _said(plan: Plan, reason: Reason) -> Plan:
    return attrs.evolve(plan, reasons=(*plan.reasons, reason))


def _borne(request: Request, plan: Plan, share: float) -> float:
    """Factor of the load that a plan bears with headroom, at most 1."""
    problem = Problem.of(rescaled(request, plan))
    node_of = problem.node_of(plan.assignment)
    cpu = fullest_cpu(problem, node_of, plan.input_rate)
    return min(share / cpu if cpu else 1.0, _done(request, plan), _in_time(problem, node_of))


def _in_time(problem: Problem, node_of: NDArray[np.int64]) -> float:
    """Least part of its rows that a batch has done when the next begins, at most 1."""
    taken = (each.beside(node_of).seconds(node_of) / each.interval for each in problem.batches)
    return 1.0 / max(1.0, *taken, 0.0)


def _fuller(request: Request, share: float, whole: Plan, ask: Callable[[Request], Plan]) -> Plan:
    """Of `whole` and plans by halving the one that bears most with headroom, and a reason that says how full it is."""
    low, high, best = share, 1.0, whole
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        plan = _within(request, middle, FURTHER, ask)
        if plan.status is Status.OK and not _is_slow(request, plan):
            best, high = max(plan, best, key=lambda each: _borne(request, each, share)), middle
        else:
            low = middle
    name, problem = best.provenance.scheduler, Problem.of(rescaled(request, best))
    fullest = fullest_cpu(problem, problem.node_of(best.assignment), best.input_rate)
    short = "" if problem.slowdown is None else " with batches as short as limits.slowdown asks for"
    message = (
        f"{name} finds no place for every task{short} within {share:.0%} of each node's CPU (limits.fill), and fills "
        f"one to {fullest:.0%}; add a node for more headroom"
    )
    return _said(best, Reason(code=FULLER, subject=name, message=message, resource="cpu", need=fullest, have=share))
