"""Plans of schedulers that minimise traffic, where `limits.max_moves` may leave some of their moves undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks.model import Status
from headworks.problem.plan.places import places_on_nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.model import Plan
    from headworks.problem import Problem
    from headworks.problem.room.room import Room

LOOKS = 200
"""Times that the gains of all moves are computed anew: one look costs O(flows + blocks * nodes)."""


def plan_within_limit(problem: Problem, node_of: NDArray[np.int64], explanation: str = "") -> Plan:
    """Make a plan of a placement; where a move limit cuts it short, the best moves come first.

    With a limit it is the best of three: the moves by index, as far as they go; the moves that save most traffic, up
    to where they have saved most; and none of a running task. A task that cannot be placed counts first, then a node
    that is overloaded, then traffic between nodes, then nodes in use: in these it is never worse than what runs.

    Args:
        node_of: Node index of each task, shape (n,), -1 where nothing fits.
    """
    plan = problem.plan(node_of, explanation)
    runs = problem.current >= 0
    if problem.request.limits.max_moves is None or not runs.any():
        return plan
    node_of = node_of[places_on_nodes(problem, node_of)]
    said = f"{explanation}; " if explanation else ""
    plans = [beside_running(problem, node_of, f"{said}running tasks stay")]
    if (problem.node_of(plan.assignment) != node_of)[runs].any():
        best = best_moves(problem, node_of)
        number, all_of_them = (int((each != problem.current)[runs].sum()) for each in (best, node_of))
        plans.append(problem.plan(best, f"{said}the {number} best moves of {all_of_them}"))
    return min((*plans, plan), key=lambda each: _worth(problem, each))


def beside_running(problem: Problem, node_of: NDArray[np.int64], explanation: str = "") -> Plan:
    """Make a plan in which what runs stays; new tasks go to the nodes of a placement, or to the first with room.

    Args:
        node_of: Node index of each task, shape (n,), -1 where nothing fits.
    """
    return problem.plan(_with_new(problem, problem.current, node_of), explanation)


def best_moves(problem: Problem, node_of: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first moves of running tasks towards a placement, greedily: off overloaded nodes, then by traffic saved.

    The path goes on through moves that save nothing, as two together may, and is cut where it was best.

    Returns:
        Node index of each task: at most `limits.max_moves` of those that run are elsewhere.
    """
    limit = problem.request.limits.max_moves or 0
    at, room = problem.current.copy(), problem.room(problem.current)
    waits = (at >= 0) & (problem.fixed < 0) & (node_of >= 0) & (node_of != at)
    best, least = at.copy(), _standing(problem, at)
    stride = -(-limit // LOOKS)
    while limit > 0 and waits.any():
        moved = _step(problem, room, node_of, np.flatnonzero(waits), min(stride, limit))
        if not moved:
            break
        at[moved], waits[moved], limit = node_of[moved], False, limit - len(moved)
        standing = _standing(problem, at)
        if standing < least:
            best, least = at.copy(), standing
    return _with_new(problem, best, node_of)


def _step(problem: Problem, room: Room, node_of: NDArray[np.int64], waiting: NDArray[np.int64], most: int) -> list[int]:
    """Move the first tasks, at most so many, that have room, those off overloaded nodes and of highest gain first."""
    calm = (room.free[room.node_of[waiting]] >= 0).all(axis=1)
    order = np.lexsort((waiting, -_gains(problem, room.node_of, node_of, waiting), calm))
    moved: list[int] = []
    for task in waiting[order].tolist():
        source, target = int(room.node_of[task]), int(node_of[task])
        room.remove(task)
        fits = room.fits_on(task, target)
        room.place(task, target if fits else source)
        if fits:
            moved.append(task)
            if len(moved) == most:
                break
    return moved


def _gains(
    problem: Problem, at: NDArray[np.int64], node_of: NDArray[np.int64], waiting: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Traffic that each waiting task has with its target's node, less that with its own, in units, int64 (w,)."""
    gain = np.zeros(problem.n, dtype=np.int64)
    source, target = at[waiting], node_of[waiting]
    for a0, a1, b0, b1, rate in zip(
        *(getattr(problem.traffic.blocks, name).tolist() for name in ("source_start", "source_stop")),
        *(getattr(problem.traffic.blocks, name).tolist() for name in ("target_start", "target_stop", "rate")),
        strict=True,
    ):
        for (first, last), (other, end) in (((a0, a1), (b0, b1)), ((b0, b1), (a0, a1))):
            here = at[other:end]
            count = np.bincount(here[here >= 0], minlength=problem.m)
            mine = (waiting >= first) & (waiting < last)
            # No task sends to itself: one on both sides of the block was counted on its own node.
            itself = (waiting >= other) & (waiting < end)
            gain[waiting[mine]] += rate * (count[target] - count[source] + itself)[mine]
    pairs = problem.traffic.symmetric
    peer = at[pairs.indices]
    by_pair = (peer == node_of[pairs.sources]).astype(np.int64) - (peer == at[pairs.sources])
    np.add.at(gain, pairs.sources, np.where(peer >= 0, by_pair, 0) * pairs.rate)
    return gain[waiting]


def _with_new(problem: Problem, at: NDArray[np.int64], node_of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Running tasks as they are, new ones on the nodes of a placement, or else on the first with room."""
    room = problem.room(at)
    for task in np.flatnonzero((problem.current < 0) & (problem.fixed < 0)).tolist():
        fits = room.fits(task)
        if fits.any():
            wanted = int(node_of[task])
            room.place(task, wanted if wanted >= 0 and fits[wanted] else int(fits.argmax()))
    return room.node_of


def _standing(problem: Problem, node_of: NDArray[np.int64]) -> tuple[int, int, int]:
    """Sort key of placements, the best is least: overloaded nodes, traffic between nodes in units, nodes in use."""
    over = int((problem.used(node_of) > problem.capacity).any(axis=1).sum())
    return over, problem.traffic.inter_node(node_of), len(np.unique(node_of[node_of >= 0]))


def _worth(problem: Problem, plan: Plan) -> tuple[bool, int, tuple[int, int, int]]:
    """Sort key of plans, the best is least."""
    node_of = problem.node_of(plan.assignment)
    return plan.status is not Status.OK, int((node_of < 0).sum()), _standing(problem, node_of)
