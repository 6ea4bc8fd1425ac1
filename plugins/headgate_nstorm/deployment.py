"""One round on a request: place what runs nowhere, else decide on one migration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headgate.model import Status
from headgate.problem import Problem
from headgate_nstorm.cases import loads
from headgate_nstorm.engine import Decision, Fit, Migration, best_of, pinned
from headgate_nstorm.gains import FreshGains

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate.model import Plan, Request
    from headgate_nstorm.options import Options


def deploy(request: Request, options: Options) -> Plan:
    """Plan a round.

    OTD starts from Storm's deployment (section 5.3): executors that run nowhere are dealt round robin, and nothing
    migrates in such a round.
    """
    problem = Problem.of(request, measured=options.measured)
    if (problem.current < 0).any():
        node_of = deal(problem)
        return problem.plan(node_of, f"{int((problem.current < 0).sum())} executors dealt round robin")
    decision = decide(problem, options)
    case, migration = decision.case, decision.migration
    if migration is None:
        return problem.plan(problem.current, f"{case}: no executor moves")
    node_of = problem.current.copy()
    node_of[migration.executor] = migration.target
    gain = migration.gain / problem.traffic.scale
    task, node = problem.task_ids[migration.executor], problem.node_ids[migration.target]
    plan = problem.plan(node_of, f"{case}: {task} to {node}, {gain:.6g} {problem.traffic.unit} less between nodes")
    if plan.status is Status.OK:
        return plan
    return problem.plan(problem.current, f"{case}: {task} has no worker on {node}, no executor moves")


def deal(problem: Problem) -> NDArray[np.int64]:
    """What runs stays; the others go round robin over the nodes, past those without room.

    Topologies share the free slots: each is dealt over so many nodes, those with most free slots first, and beyond
    them only where they have no room.
    """
    room = problem.room()
    for task in np.flatnonzero((problem.current >= 0) & (problem.fixed < 0)).tolist():
        room.place(task, int(problem.current[task]))
    waiting = sorted(set(problem.topology[room.node_of < 0].tolist()))
    share = max(1, int(room.free_slots.clip(0).sum()) // max(len(waiting), 1))
    for topology in waiting:
        order = np.lexsort((np.arange(problem.m), -room.free_slots))
        ring, last = np.sort(order[:share]), -1
        for task in np.flatnonzero((problem.topology == topology) & (room.node_of < 0)).tolist():
            fits = room.fits(task)
            nodes = ring[fits[ring]] if fits[ring].any() else np.flatnonzero(fits)
            if len(nodes):
                last = int(nodes[np.searchsorted(nodes, last + 1) % len(nodes)])
                room.place(task, last)
    return room.node_of


def decide(problem: Problem, options: Options) -> Decision:
    """A round without a table of gains: the same that `Engine.decide` finds. Every executor runs."""
    node_of = problem.current
    found = loads(problem, node_of, options)
    movable = np.flatnonzero(~pinned(problem, options))
    gains, fit = FreshGains(problem, node_of), Fit(problem, node_of, options)
    migration = None
    if found.case == "balance":
        worst = int(np.where(found.high, found.ratio, -1.0).argmax())
        executors = movable[node_of[movable] == worst]
        migration = best_of(gains.rows(executors), executors, worst, found.low, fit)
    elif found.case == "optimise" and len(movable):
        migration = _optimise(problem, movable, found.low, gains, fit, options)
    return Decision(case=found.case, migration=migration)


def _optimise(
    problem: Problem,
    movable: NDArray[np.int64],
    low: NDArray[np.bool_],
    gains: FreshGains,
    fit: Fit,
    options: Options,
) -> Migration | None:
    """Algorithm 2 among some executors, ascending."""
    value, target = gains.best(movable, low)
    threshold, known = options.threshold * problem.traffic.total, set()
    while value.max() > threshold:
        at = int(value.argmax())
        executor, source = int(movable[at]), int(problem.current[movable[at]])
        if at in known or fit.on(executor, int(target[at])):
            return Migration(executor=executor, source=source, target=int(target[at]), gain=int(value[at]))
        one = movable[at : at + 1]
        other = best_of(gains.rows(one), one, source, low, fit)
        known.add(at)
        value[at], target[at] = (other.gain, other.target) if other is not None else (-1, -1)
    return None
