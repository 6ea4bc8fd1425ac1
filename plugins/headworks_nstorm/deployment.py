"""Online task deployment: a round places what runs nowhere, or else decides on one migration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import Status
from headworks.problem import Problem
from headworks_nstorm.algorithms import communication_optimization, load_balancing
from headworks_nstorm.cases import Case, loads, running_workers
from headworks_nstorm.gains import Gains
from headworks_nstorm.migration import Feasibility, Migration, pinned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from headworks.model import Plan, Request
    from headworks.problem.room.room import Room
    from headworks_nstorm.options import Options
    from headworks_nstorm.workers import Workers


def deploy(request: Request, options: Options) -> Plan:
    """Plan a round.

    OTD starts from Storm's deployment (section 5.3): executors that run nowhere are dealt round robin, and nothing
    migrates in such a round.

    Args:
        request: The request.
        options: Thresholds, and which executors move.
    """
    problem = Problem.of(request, measured=options.measured)
    if (problem.current < 0).any():
        node_of, numbers = deal(problem, workers=options.workers == "slots")
        said = f"{int((problem.current < 0).sum())} executors dealt round robin"
        return problem.plan(node_of, said, worker_of=numbers)
    workers = running_workers(problem, options)
    decision = decide(problem, workers, options)
    case, migration = decision.case, decision.migration
    if migration is None:
        return problem.plan(problem.current, f"{case}: no executor moves")
    task, node = problem.task_ids[migration.executor], problem.node_ids[migration.target]
    if not decision.room:
        said = f"{case}: {task} would go to {node}, which has no room for it, no executor moves"
        return problem.plan(problem.current, said)
    workers = workers.moved(migration.executor, migration.worker)
    worker_of = workers.of if options.workers == "slots" else None
    gain = migration.gain / problem.traffic.scale
    said = f"{case}: {task} to {node}, {gain:.6g} {problem.traffic.unit} less between nodes"
    plan = problem.plan(workers.node_of, said, worker_of=worker_of)
    if plan.status is Status.OK:
        return plan
    return problem.plan(problem.current, f"{case}: {task} has no worker on {node}, no executor moves")


def deal(problem: Problem, *, workers: bool = False) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Storm's deployment: what runs stays, the others go round robin over the nodes, past those without room.

    Topologies share the free slots: each is dealt over so many nodes, those with most free slots first, and beyond
    them only where they have no room.

    Args:
        problem: The problem.
        workers: Deal over the workers of a topology that starts, and these over the nodes, at least one on each. What
            is dealt to a topology that runs joins the workers that it has.

    Returns:
        Node of each executor, and its worker by number, -1 where that is not decided; both int64 (n,).
    """
    room, number = problem.room(problem.current), np.full(problem.n, -1, dtype=np.int64)
    asked = [each.workers for each in sorted(problem.request.topologies, key=lambda each: each.id)]
    waiting = sorted(set(problem.topology[room.node_of < 0].tolist()))
    share = max(1, int(room.free_slots.clip(0).sum()) // max(len(waiting), 1))
    for topology in waiting:
        mine = problem.topology == topology
        tasks = np.flatnonzero(mine & (room.node_of < 0))
        ring = np.sort(np.lexsort((np.arange(problem.m), -room.free_slots))[:share])
        if workers and not (problem.current[mine] >= 0).any():
            number[tasks] = _deal(room, tasks, np.resize(ring, max(len(ring), asked[topology])))
        else:
            _deal(room, tasks, ring)
    return room.node_of, number


def _deal(room: Room, tasks: NDArray[np.int64], ring: NDArray[np.int64]) -> list[int]:
    """Place tasks round a ring of nodes, of which one may be there several times: the place of each, -1 beyond it."""
    turn, last, places = 0, -1, []
    for task in tasks.tolist():
        places.append(-1)
        fits = room.fits(task)
        at, others = np.flatnonzero(fits[ring]), np.flatnonzero(fits)
        if len(at):
            places[-1] = int(at[np.searchsorted(at, turn) % len(at)])
            last, turn = int(ring[places[-1]]), places[-1] + 1
        elif len(others):
            last = int(others[np.searchsorted(others, last + 1) % len(others)])
            turn = int((ring <= last).sum())  # the first place in the ring, once round it, behind that node
        else:
            continue
        room.place(task, last)
    return places


@attrs.frozen(kw_only=True)
class RoundDecision:
    """Decision of one round: the case of section 4.2, the migration, None for none, and if there is room for it."""

    case: Case
    migration: Migration | None = None
    room: bool = True


def decide(problem: Problem, workers: Workers, options: Options, *, tabu: int = -1) -> RoundDecision:
    """Decide on the migration of a round (Fig. 6).

    Args:
        problem: The problem.
        workers: The Workers; all executors run.
        options: Thresholds, and which executors move.
        tabu: An executor that does not move in this round, -1 for none.
    """
    found = loads(problem, workers, options)
    movable = np.flatnonzero(~pinned(problem, options))
    movable = movable[movable != tabu]
    gains, fit = Gains(problem, workers.node_of), Feasibility(problem, workers, found, options)
    migration = None
    if found.case == "balance":
        migration = load_balancing(movable, found, workers, gains, fit)
    elif found.case == "optimise":
        threshold = options.threshold * problem.traffic.total
        migration = communication_optimization(movable, gains, fit, threshold)
    room = migration is None or fit.has_room(migration.executor, migration.target)
    return RoundDecision(case=found.case, migration=migration, room=room)


def rounds(
    problem: Problem, options: Options, count: int, *, tabu: bool = False
) -> Iterator[tuple[RoundDecision, NDArray[np.int64]]]:
    """Decide and migrate from where executors run, until nothing moves: each decision, and node_of after it.

    Args:
        problem: The problem; every executor runs.
        options: Thresholds, and which executors move.
        count: Rounds at most.
        tabu: Whether what moved in one round stays in the next: not in the paper, and a request alone cannot know.
    """
    workers, last = running_workers(problem, options), -1
    for _ in range(count):
        decision = decide(problem, workers, options, tabu=last if tabu else -1)
        if decision.migration is not None:
            last = decision.migration.executor
            workers = workers.moved(last, decision.migration.worker)
        yield decision, workers.node_of
        if decision.migration is None:
            return
