"""Equal tasks keep their places: which of them takes which of the places that a decision has for all of them.

For tasks that are equal, an assignment of tasks to places with most tasks where they run is a count: of those in a
place, as many stay as are planned there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import Reason, Slot
from headworks.problem.arrays.alike import kinds
from headworks.problem.room.slots import assign_slots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headworks.problem.arrays.arrays import Arrays

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Level = tuple[Ints, Ints]
    """Where each of k tasks runs, and where it is planned, int64 (k,) each, -1 for nowhere."""


@attrs.frozen(eq=False, kw_only=True)
class Seating:
    """Slots for a decision in which equal tasks have changed places.

    Attributes:
        taken: int64 (n,), task whose place in the decision each task takes; most often its own.
        slots: Slot by task index.
        reasons: One for each node whose slots do not suffice.
    """

    taken: Ints
    slots: dict[int, Slot]
    reasons: list[Reason]


def seat(problem: Arrays, node_of: Ints, worker_of: Ints | None = None) -> Seating:
    """Give every placed task a slot of its node, or of that of an equal task, such that few running tasks move.

    No figure of the plan is another one than without the exchange, but for moves: where workers that go on running
    would be more than those of the decision as it is, tasks change places within these alone.

    Args:
        node_of: Node index of each task, int64 (n,), -1 for a task without one.
        worker_of: Worker of each task, as `assign_slots` takes it.
    """
    taken = places_on_nodes(problem, node_of)
    mine = None if worker_of is None else worker_of[taken]
    found = _in_slots(problem, taken, *assign_slots(problem, node_of[taken], mine), across=False)
    own = np.arange(problem.n)
    if (taken == own).all() or _one_worker_each(problem, worker_of):
        return found
    plain = _in_slots(problem, own, *assign_slots(problem, node_of, worker_of), across=True)
    same = _counts(plain) == _counts(found)
    return found if same and _stay(problem, found) >= _stay(problem, plain) else plain


def places_on_nodes(problem: Arrays, node_of: Ints) -> Ints:
    """Task whose node in a decision each task takes, so that most of them stay on the node on which they run.

    Args:
        node_of: Node index of each task, int64 (n,), -1 for a task without one.

    Returns:
        Index of that task, int64 (n,), an equal one or the task itself.
    """
    moves = (problem.current >= 0) & (node_of != problem.current)
    return _exchanged(problem, moves, [(problem.current, node_of)])


def _in_slots(problem: Arrays, taken: Ints, slots: dict[int, Slot], reasons: list[Reason], *, across: bool) -> Seating:
    """The slots, of which equal tasks take those in which they run; without `across` no task may gain a node by it."""
    running, ids = problem.request.assignment, problem.task_ids
    runs = np.flatnonzero((problem.current >= 0) & (problem.fixed < 0)).tolist()
    moves = np.zeros(problem.n, dtype=bool)
    for task in runs:
        now, then = running[ids[task]], slots.get(task)
        moves[task] = then != now and (across or (then is not None and then.node == now.node))
    if not moves.any():
        return Seating(taken=taken, slots=slots, reasons=reasons)
    numbers: dict[Slot, int] = {}
    before, after, on = (np.full(problem.n, -1, dtype=np.int64) for _ in range(3))
    for task in runs:
        before[task] = numbers.setdefault(running[ids[task]], len(numbers))
    for task, slot in slots.items():
        after[task], on[task] = numbers.setdefault(slot, len(numbers)), problem.node_index[slot.node]
    other = _exchanged(problem, moves, [(before, after), (problem.current, on)])
    pairs = ((task, slots.get(of)) for task, of in enumerate(other.tolist()))
    seats = {task: slot for task, slot in pairs if slot is not None}
    return Seating(taken=taken[other], slots=seats, reasons=reasons)


def _one_worker_each(problem: Arrays, worker_of: Ints | None) -> bool:
    """Check whether every topology has one worker on each of its nodes, now and in any plan."""
    if worker_of is not None or np.isfinite(problem.heap_limit).any() or problem.constraints.workers:
        return False
    running, ids = problem.request.assignment, problem.task_ids
    first: dict[tuple[int, int], int] = {}
    runs = np.flatnonzero(problem.current >= 0)
    places = zip(problem.topology[runs].tolist(), problem.current[runs].tolist(), strict=True)
    ports = (running[ids[task]].port for task in runs.tolist())
    return all(first.setdefault(place, port) == port for place, port in zip(places, ports, strict=True))


def _counts(seating: Seating) -> tuple[int, int, int]:
    return len(seating.slots), len(set(seating.slots.values())), len(seating.reasons)


def _stay(problem: Arrays, seating: Seating) -> int:
    """Number of tasks that stay in their slots."""
    running, ids = problem.request.assignment, problem.task_ids
    return sum(running.get(ids[task]) == slot for task, slot in seating.slots.items())


def _exchanged(problem: Arrays, moves: Flags, levels: Sequence[Level]) -> Ints:
    """Task whose place each task takes, of those of components that have free tasks that move; int64 (n,).

    Args:
        moves: Tasks that move, bool (n,).
        levels: Places of all tasks, the finest ones first.
    """
    found = np.arange(problem.n)
    free = problem.fixed < 0
    concerned = np.bincount(problem.component, moves & free, minlength=1) > 0
    tasks = np.flatnonzero(free & concerned[problem.component]) if problem.n else found
    if len(tasks):
        found[tasks] = tasks[_taken(kinds(problem, tasks), [(runs[tasks], seats[tasks]) for runs, seats in levels])]
    return found


def _taken(kind: Ints, levels: Sequence[Level]) -> Ints:
    """Task whose place each of k tasks takes, of those of its kind, int64 (k,)."""
    found = np.full(len(kind), -1, dtype=np.int64)
    given = np.zeros(len(kind), dtype=bool)
    for runs, seats in levels:
        tasks, of = _stayers(kind, runs, seats, np.flatnonzero(found < 0), np.flatnonzero(~given))
        found[tasks], given[of] = of, True
    own = np.flatnonzero((found < 0) & ~given)
    found[own], given[own] = own, True
    runs, seats = levels[-1]
    tasks, of = np.flatnonzero(found < 0), np.flatnonzero(~given)
    # of those that are left, the ones that run have a place first
    tasks, of = tasks[np.lexsort((runs[tasks] < 0, kind[tasks]))], of[np.lexsort((seats[of] < 0, kind[of]))]
    found[tasks] = of
    return found


def _stayers(kind: Ints, runs: Ints, seats: Ints, tasks: Ints, of: Ints) -> tuple[Ints, Ints]:
    """Tasks that stay where they run, and the tasks whose places there they take, those that stay anyway first.

    Args:
        tasks: Tasks that have no place yet.
        of: Tasks whose places nobody has yet.
    """
    width = max(int(runs.max(initial=0)), int(seats.max(initial=0))) + 1
    moves = runs != seats
    tasks, of = tasks[runs[tasks] >= 0], of[seats[of] >= 0]
    here, there = kind[tasks] * width + runs[tasks], kind[of] * width + seats[of]
    order, other = np.lexsort((moves[tasks], here)), np.lexsort((moves[of], there))
    tasks, here, of, there = tasks[order], here[order], of[other], there[other]
    rank = np.arange(len(tasks)) - np.searchsorted(here, here)
    at = np.searchsorted(there, here) + rank
    stay = np.flatnonzero(at < len(of))
    stay = stay[there[at[stay]] == here[stay]]
    return tasks[stay], of[at[stay]]
