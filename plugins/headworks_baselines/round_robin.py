"""Round robin over slots: what Storm's EvenScheduler does, at the level of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks_baselines.start import counts, waiting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks.problem.room.room import Room


def slot_order(free_slots: NDArray[np.int64], slots: int) -> NDArray[np.int64]:
    """Node of each of the first `slots` free slots: one of every node in turn, nodes with most free slots first.

    Ties go to the lower node index. Fewer are returned where fewer are free.

    Args:
        free_slots: Free slots of each node, int64 (m,).
        slots: Number of slots wanted.
    """
    nodes = np.lexsort((np.arange(len(free_slots)), -free_slots))
    left = free_slots[nodes]
    rounds: list[NDArray[np.int64]] = []
    while slots > 0 and (left > 0).any():
        rounds.append(nodes[left > 0][:slots])
        slots -= len(rounds[-1])
        left = left - 1
    return np.concatenate([*rounds, np.zeros(0, dtype=np.int64)])


def deal_topology(
    problem: Problem,
    room: Room,
    topology: int,
    *,
    allowed: NDArray[np.bool_],
    workers: int | None,
    worker_of: NDArray[np.int64],
) -> int:
    """Deal the waiting tasks of a topology over new slots of the allowed nodes, in order of index.

    The slots are the first that its workers not yet running would start on, or, where `workers` is None, one of every
    node on which it does not run. Several slots of one node are as many workers there. A node without room is passed
    over. Where no slot has room, the task goes to a node on which the topology runs, then to the first node in slot
    order.

    Args:
        problem: The request as arrays.
        room: Holds the tasks that stay; takes those that are dealt.
        topology: Index of the topology.
        allowed: Nodes that may take its tasks, bool (m,).
        workers: Worker processes that the topology asks for; None for one on each node.
        worker_of: Takes the number of the worker of each task that is dealt to one, int64 (n,).

    Returns:
        How many tasks did not go to the slot whose turn it was.
    """
    runs = counts(problem, room, topology) > 0
    fresh = np.where(allowed & ~runs, room.free_slots, 0)
    nodes = slot_order(fresh, int((fresh > 0).sum()))
    rest = np.concatenate([np.flatnonzero(runs & allowed), nodes])
    tasks = waiting(problem, room, topology)
    if workers is None:
        return _deal(room, tasks, nodes, rest)[0]
    more = workers - _running_workers(problem, room, topology)
    passed, worker_of[tasks] = _deal(room, tasks, slot_order(np.where(allowed, room.free_slots, 0), more), rest)
    return passed


def not_started(problem: Problem, room: Room) -> set[int]:
    """Indices of the topologies of which nothing is placed."""
    return set(problem.topology.tolist()) - set(problem.topology[room.node_of >= 0].tolist())


def workers_left(
    problem: Problem, room: Room, topology: int, asked: int | None, *, allowed: NDArray[np.bool_], later: int
) -> int | None:
    """Workers that a topology gets: those that it asks for, or fewer so that each that comes later finds a slot.

    Args:
        problem: The request as arrays.
        room: Holds the tasks that stay and those that were dealt.
        topology: Index of the topology.
        asked: Workers that it asks for; None for one on each node.
        allowed: Nodes that may take its tasks, bool (m,).
        later: Number of topologies that are dealt after it and of which nothing runs.
    """
    if asked is None:
        return None
    free = int(room.free_slots[allowed].sum()) - later
    return min(asked, _running_workers(problem, room, topology) + max(free, 1))


def _running_workers(problem: Problem, room: Room, topology: int) -> int:
    """Number of slots that hold tasks of a topology that stay."""
    stays = np.flatnonzero((problem.topology == topology) & (room.node_of >= 0)).tolist()
    return len({problem.request.assignment[problem.task_ids[task]] for task in stays})


def _deal(
    room: Room, tasks: NDArray[np.int64], ring: NDArray[np.int64], rest: NDArray[np.int64]
) -> tuple[int, list[int]]:
    """Deal tasks over the slots of a ring: how many were passed on, and the slot of each, -1 for one of the rest."""
    turn = passed = 0
    slots = []
    for task in tasks.tolist():
        slots.append(-1)
        fits = room.fits(task)
        open_slots = np.flatnonzero(fits[ring])
        if len(open_slots):
            # the first slot with room at or after the one whose turn it is, round the ring
            at = int(open_slots[np.searchsorted(open_slots, turn) % len(open_slots)])
            passed += at != turn
            turn = (at + 1) % len(ring)
            room.place(task, int(ring[at]))
            slots[-1] = at
        else:
            passed += 1
            others = rest[fits[rest]]
            if len(others):
                room.place(task, int(others[0]))
    return passed, slots
