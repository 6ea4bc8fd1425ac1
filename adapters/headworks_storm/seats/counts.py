"""Numbers of tasks that a plan chooses, carried out where tasks have seats: how many of them work, while all run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError
from headworks.model import Step
from headworks_storm.seats.seat import no_seats, scale_refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from headworks.model import Component
    from headworks_storm.nimbus.snapshot import Scheduled, Snapshot

    Scale = Callable[[str, str, int], int]
    """Has so many tasks of a topology's component work, and returns how many did; `EngineError` if they cannot."""


@attrs.frozen(kw_only=True)
class CountChange:
    """A component of which a plan wants another number of tasks than work.

    Attributes:
        name: `topology/component`.
        topology: Id of the topology.
        component: Storm's own name of the component.
        before: Tasks that work.
        after: Tasks that are to work: `before` where that cannot be changed.
        why: What of the plan's number is left out and why, "" if nothing is.
    """

    name: str
    topology: str
    component: str
    before: int
    after: int
    why: str = ""


def count_changes(snapshot: Snapshot, placed: Snapshot, parallelism: Mapping[str, int]) -> tuple[CountChange, ...]:
    """Changes of the numbers of working tasks that a plan asks for, of topologies with seats.

    Args:
        snapshot: A round of Nimbus, with seats.
        placed: The same round with tasks in place of their seats, where that is known (`StormTarget.seated`).
        parallelism: Numbers of tasks by `topology/component`; components that are not named keep theirs.
    """
    found = []
    for before, after in zip(snapshot.scheduled, placed.scheduled, strict=True):
        for part in after.topology.components if before.seating is not None else ():
            wanted = parallelism.get(f"{after.topology.id}/{part.id}", part.parallelism)
            if wanted != part.parallelism:
                found.append(_change(after, part, wanted, known=before is not after))
    return tuple(found)


def _change(scheduled: Scheduled, part: Component, wanted: int, *, known: bool) -> CountChange:
    seating = scheduled.seating
    assert seating is not None
    own, before = seating.ids.get(part.id, part.id), part.parallelism
    after = before
    if not known:
        why = f"it is not known how many tasks of {own} work"
    elif part.id not in seating.tasks:
        why = no_seats(own, scheduled.name, seating.ids.values())
    else:
        most, elastic = seating.tasks[part.id], part.id in seating.elastic
        after = min(max(wanted, 1), most) if elastic else before
        why = scale_refusal(own, most, wanted, elastic=elastic)
    return CountChange(
        name=f"{scheduled.topology.id}/{part.id}",
        topology=scheduled.topology.id,
        component=own,
        before=before,
        after=after,
        why=why,
    )


def scale_steps(scale: Scale, changes: Iterable[CountChange]) -> Iterator[Step]:
    """Make changes one by one, a step each; after one that fails no other is begun."""
    for each in changes:
        step = _scaled(scale, each)
        yield step
        if not step.done:
            return


def _scaled(scale: Scale, change: CountChange) -> Step:
    began = time.monotonic()
    try:
        before = scale(change.topology, change.component, change.after)
    except EngineError as error:
        return Step(action="scale", subject=change.name, done=False, message=str(error))
    message = f"{before} -> {change.after} tasks work, in {1000 * (time.monotonic() - began):.0f} ms"
    return Step(action="scale", subject=change.name, message=f"{message}; {change.why}" if change.why else message)


def left_out(changes: Iterable[CountChange]) -> Iterator[Step]:
    """A step for each number of tasks that stays as it is, and why: that is no failure.

    Args:
        changes: Changes that a plan asks for.
    """
    for each in changes:
        if each.after == each.before:
            message = f"{each.before} tasks go on working: {each.why}"
            yield Step(action="scale", subject=each.name, message=message)
