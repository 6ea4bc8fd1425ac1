"""The part of a plan that is for tasks with seats, while all workers run: where they live, and how many work."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol

from headworks.errors import EngineError
from headworks.model import FrozenMap, Receipt, Slot, Step
from headworks_storm.nimbus.snapshot import component_of
from headworks_storm.seats.counts import left_out, scale_steps
from headworks_storm.seats.view import SeatWish, seats_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from headworks_storm.nimbus.seating import Seating
    from headworks_storm.nimbus.snapshot import Scheduled, Snapshot
    from headworks_storm.seats.counts import CountChange
    from headworks_storm.seats.seat import SeatMove, SeatState

SEATS = "seats"
"""Level of enforcement in receipts: tasks move to seats that they have in other workers, and no worker restarts."""


class Seats(Protocol):
    """The seats of topologies whose tasks move while workers run."""

    def state(self, topology: str) -> SeatState:
        """Seats in which the tasks of a topology live, and how many of them work.

        Args:
            topology: Id of the topology.

        Raises:
            EngineError: It is not known.
        """

    def move(self, wishes: Mapping[str, Sequence[SeatWish]]) -> Mapping[str, Sequence[SeatMove | EngineError]]:
        """Move tasks, and say what became of each.

        Args:
            wishes: Tasks, and the seat that each is to live in, by the id of their topology.
        """

    def scale(self, topology: str, component: str, count: int) -> int:
        """Have so many tasks of a component work, the first ones; returns how many did.

        Args:
            topology: Id of the topology.
            component: Storm's own name of the component.
            count: Tasks that are to work.

        Raises:
            EngineError: They cannot.
        """


def seat_tasks(snapshot: Snapshot, tasks: Iterable[str]) -> frozenset[str]:
    """Those of some tasks that are of topologies with seats.

    Args:
        tasks: Task ids.
    """
    seated = {each.topology.id for each in snapshot.scheduled if each.seating}
    return frozenset(task for task in tasks if task.partition("/")[0] in seated)


def carry_out(
    seats: Seats | None,
    snapshot: Snapshot,
    placed: Snapshot,
    asked: Mapping[str, Slot],
    order: Sequence[str] = (),
    changes: Sequence[CountChange] = (),
) -> Receipt:
    """Move tasks that have seats to where they are asked, and change how many work; a step each, with milliseconds.

    A slot in which the topology has no worker stands for its node. Nothing is begun if some task has no seat where it
    is asked. Tasks first work no more, then move, and then others begin to work, where they are to.

    Args:
        seats: The seats of the cluster; without them no topology is shown with tasks, and none moves.
        snapshot: The round of Nimbus, with seats.
        placed: The same round with tasks in place of their seats (`StormTarget.seated`).
        asked: Slot by task id, of any topologies.
        order: Task ids in the order in which they are to move; others come after them.
        changes: Numbers of working tasks that change (`headworks_storm.seats.counts.count_changes`).

    Returns:
        A receipt without steps if nothing is asked of tasks with seats.
    """
    wishes, missing = _all_wishes(snapshot, placed, asked, order)
    if missing:
        return Receipt(done=False, level=SEATS, steps=tuple(missing))
    fewer = [each for each in changes if each.after < each.before]
    more = [each for each in changes if each.after > each.before]
    steps: list[Step] = []
    undo: dict[str, Slot] = {}
    if seats is not None:
        steps += scale_steps(seats.scale, fewer)
        if wishes and all(step.done for step in steps):
            done = seats.move(wishes)
            for topology, own in wishes.items():
                steps += map(_step, [wish.task for wish in own], done[topology])
                undo |= {wish.task: wish.before for wish in own}
        if all(step.done for step in steps):
            steps += scale_steps(seats.scale, more)
    return Receipt(
        done=all(step.done for step in steps),
        level=SEATS,
        steps=(*steps, *left_out(changes)),
        undo=FrozenMap(undo),
        undo_parallelism=FrozenMap({each.name: each.before for each in (*fewer, *more)}),
    )


def _all_wishes(
    snapshot: Snapshot, placed: Snapshot, asked: Mapping[str, Slot], order: Sequence[str]
) -> tuple[dict[str, list[SeatWish]], list[Step]]:
    """Seats to move to, by the id of their topology, and a step for each task that has none where it is asked."""
    rank = {task: number for number, task in enumerate(order)}
    wishes: dict[str, list[SeatWish]] = {}
    missing: list[Step] = []
    for before, after in zip(snapshot.scheduled, placed.scheduled, strict=True):
        if before.seating is not None:
            moving = sorted(_moving(before, after, asked), key=lambda task: (rank.get(task, len(rank)), task))
            own, none = _wishes(before, before.seating, after, asked, moving)
            wishes |= {before.topology.id: own} if own else {}
            missing += none
    return wishes, missing


def _moving(before: Scheduled, after: Scheduled, asked: Mapping[str, Slot]) -> Collection[str]:
    """Tasks with seats that live elsewhere than asked; of a topology of which it is not known where they live, none."""
    if before is after or before.seating is None:
        return ()
    seated = before.seating.tasks
    return [
        task
        for task, slot in {**after.assignment, **after.idle}.items()
        if component_of(task) in seated and asked.get(task, slot) != slot
    ]


def _wishes(
    before: Scheduled, seating: Seating, after: Scheduled, asked: Mapping[str, Slot], moving: Sequence[str]
) -> tuple[list[SeatWish], list[Step]]:
    """Seats to move to, and a step for each task that has none where it is asked."""
    lives = {**after.assignment, **after.idle}
    holds = Counter(slot for task, slot in after.assignment.items() if task not in moving)
    wishes: list[SeatWish] = []
    none: list[Step] = []
    for task in moving:
        component, index = component_of(task), int(task.rpartition("/")[2])
        seats = {slot: seat for seat, slot in seats_of(before, component, index).items()}
        slot = _slot(seats, asked[task], holds)
        if slot is None:
            message = f"{task} has no seat at {asked[task]}: it has some at {', '.join(map(str, sorted(seats)))}"
            none.append(Step(action="seat", subject=task, done=False, message=message))
        elif slot != lives[task]:
            own = seating.ids[component]
            wishes.append(SeatWish(task=task, component=own, index=index, seat=seats[slot], before=lives[task]))
            holds[slot] += 1
    return wishes, none


def _slot(seats: Collection[Slot], asked: Slot, holds: Mapping[Slot, int]) -> Slot | None:
    """The slot that is asked for if there is a seat in it, else that on its node whose worker has fewest tasks."""
    if asked in seats:
        return asked
    return min((slot for slot in seats if slot.node == asked.node), key=lambda slot: (holds[slot], slot), default=None)


def _step(task: str, done: SeatMove | EngineError) -> Step:
    if isinstance(done, EngineError):
        return Step(action="seat", subject=task, done=False, message=str(done))
    pause = "not measured" if done.pause is None else f"{done.pause:.1f} ms"
    message = f"{done.source} -> {done.target} by seats, pause {pause}, settled in {1000 * done.seconds:.0f} ms"
    return Step(action="seat", subject=task, message=message, stopped=None if done.pause is None else done.pause / 1000)
