"""Round robin over slots: what Storm's EvenScheduler does, at the level of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headgate_baselines.start import counts, waiting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate.problem import Problem
    from headgate.problem.room import Room


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
    problem: Problem, room: Room, topology: int, *, allowed: NDArray[np.bool_], workers: int | None
) -> int:
    """Deal the waiting tasks of a topology over new slots of the allowed nodes, in order of index.

    The slots are the first that its workers not yet running would start on, or, where `workers` is None, one of
    every node on which it does not run. A node without room is passed over. Where no slot has room, the task goes
    to a node on which the topology runs, then to the first node in slot order.

    Args:
        problem: The request as arrays.
        room: Holds the tasks that stay; takes those that are dealt.
        topology: Index of the topology.
        allowed: Nodes that may take its tasks, bool (m,).
        workers: Worker processes that the topology asks for; None for one on each node.

    Returns:
        How many tasks did not go to the slot whose turn it was.
    """
    runs = counts(problem, room, topology) > 0
    fresh = np.where(allowed & ~runs, room.free_slots, 0)
    nodes = slot_order(fresh, int((fresh > 0).sum()))
    ring = nodes if workers is None else slot_order(fresh, workers - int(runs.sum()))
    rest = np.concatenate([np.flatnonzero(runs & allowed), nodes])
    return _deal(room, waiting(problem, room, topology), ring, rest)


def _deal(room: Room, tasks: NDArray[np.int64], ring: NDArray[np.int64], rest: NDArray[np.int64]) -> int:
    turn = passed = 0
    for task in tasks.tolist():
        fits = room.fits(task)
        open_slots = np.flatnonzero(fits[ring])
        if len(open_slots):
            # the first slot with room at or after the one whose turn it is, round the ring
            at = int(open_slots[np.searchsorted(open_slots, turn) % len(open_slots)])
            passed += at != turn
            turn = (at + 1) % len(ring)
            room.place(task, int(ring[at]))
        else:
            passed += 1
            others = rest[fits[rest]]
            if len(others):
                room.place(task, int(others[0]))
    return passed
