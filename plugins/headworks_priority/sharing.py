"""The three schedulers as functions: a rule that shares the nodes, the allocator, reasons of those who go without."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from headworks.model import STARVED, Reason
from headworks.problem import Problem
from headworks.toolbox.holding import nodes_that_hold
from headworks_priority import shares
from headworks_priority.allocator import allocate
from headworks_priority.claimants import claimants

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headworks.model import Plan, Request
    from headworks_priority.allocator import Grant
    from headworks_priority.claimants import Claimant
    from headworks_priority.options import DpsOptions, SpsOptions, SpsV2Options

    SharingRule = Callable[[Sequence[Claimant], int], Sequence[int]]


def sps(request: Request, options: SpsOptions) -> Plan:
    """Table 2, then Table 3."""
    return _schedule(request, options, partial(shares.sps, options=options), options.below_minima)


def dps(request: Request, options: DpsOptions) -> Plan:
    """Table 4, then Table 3."""
    return _schedule(request, options, partial(shares.dps, options=options))


def sps_v2(request: Request, options: SpsV2Options) -> Plan:
    """Share by largest remainder above the minima, then Table 3.

    Args:
        request: The request.
        options: Sharing of the nodes above the minima.
    """
    return _schedule(request, options, partial(shares.sps_v2, options=options), options.below_minima)


def _schedule(request: Request, options: DpsOptions, rule: SharingRule, below_minima: str = "") -> Plan:
    """Share the nodes of a request.

    Args:
        request: The request.
        options: How to read the thesis.
        rule: Numbers of nodes from claims and the number of nodes that can hold a task of any topology.
        below_minima: `hold` or `by-priority` for a rule that knows minima, else empty.
    """
    problem = Problem.of(request)
    claims = claimants(problem, options.undeclared)
    room = problem.room()
    holds = [nodes_that_hold(problem, room, claim.topology) for claim in claims]
    nodes = int(np.any(holds, axis=0).sum())
    minima = sum(claim.minimum for claim in claims)
    if not nodes:
        return problem.plan(np.full(problem.n, -1), "no node has a slot and room for a task")
    if below_minima == "hold" and nodes < minima:
        return _held(problem, claims, nodes, minima)
    numbers = rule(claims, nodes)
    node_of, worker_of, grants = allocate(problem, claims, numbers, holds, options.selection)
    starving = not below_minima or nodes < minima
    lacking = [grant for grant in grants if (node_of[problem.topology == grant.claim.topology] < 0).any()]
    reasons = [_reason(grant, grants, nodes, starving=starving) for grant in lacking]
    said = ", ".join(f"{claim.id} {share} of {claim.desired}" for claim, share in zip(claims, numbers, strict=True))
    return problem.plan(node_of, f"{nodes} nodes shared: {said}" if said else "", reasons, worker_of=worker_of)


def _held(problem: Problem, claims: Sequence[Claimant], nodes: int, minima: int) -> Plan:
    """Nothing changes: what runs goes on, what does not waits."""
    message = f"the minima of {len(claims)} topologies are {minima} nodes together, the cluster has {nodes}"
    reasons = [
        Reason(
            code="minimum-nodes",
            subject=claim.id,
            message=f"{claim.id} waits: {message}; add nodes, or set below_minima=by-priority",
            resource="nodes",
            need=float(minima),
            have=float(nodes),
        )
        for claim in claims
        if (problem.current[problem.topology == claim.topology] < 0).any()
    ]
    return problem.plan(problem.current, f"{message}; nothing is changed", reasons)


def _reason(grant: Grant, grants: Sequence[Grant], nodes: int, *, starving: bool) -> Reason:
    """Reason of a topology with tasks that have no node: no room on its nodes, no node by priority, or by rounding."""
    claim, have = grant.claim, len(grant.nodes)
    if have:
        message = f"{claim.id} has {have} nodes of its own without room for all its tasks; raise its desired_nodes"
        return _short("share", claim, message, have + 1, have)
    if starving and any(other.nodes and other.claim.priority <= claim.priority for other in grants):
        message = f"{claim.id} gets none of {nodes} nodes: topologies at least as important take them"
        return _short(STARVED, claim, message, max(claim.desired, 1), 0)
    message = f"{claim.id} desires {claim.desired} nodes; its share of {nodes} nodes rounds to none"
    return _short("share", claim, message, max(claim.desired, 1), 0)


def _short(code: str, claim: Claimant, message: str, need: int, have: int) -> Reason:
    return Reason(code=code, subject=claim.id, message=message, resource="nodes", need=float(need), have=float(have))
