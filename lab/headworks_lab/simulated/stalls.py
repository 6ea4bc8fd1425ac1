"""Stalls of a topology, in which it completes nothing, and the slow spans after them, from absences of its tasks."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headworks_sim.fluid.timing import Timing

Interval = tuple[float, float]
"""Begin and end, seconds."""


def stalls(absences: Iterable[Interval], tasks: int) -> tuple[Interval, ...]:
    """The intervals in which enough absences overlap that the topology stands, in order.

    Args:
        absences: Begin and end of each absence of a task, seconds.
        tasks: Number of absent tasks with which the topology stands.
    """
    # An end sorts before a begin of the same moment: absences that only touch do not overlap.
    events = sorted([*((off, 1) for off, on in absences if on > off), *((on, -1) for off, on in absences if on > off)])
    found, absent, begin = [], 0, 0.0
    for when, step in events:
        if step > 0 and absent + 1 == tasks:
            begin = when
        if step < 0 and absent == tasks and when > begin:
            found.append((begin, when))
        absent += step
    return merged(found)


def slow_spans(stalled: Sequence[Interval], started: Iterable[float], timing: Timing) -> tuple[Interval, ...]:
    """The intervals in which a topology recovers or connects: after each stall, and after the last start of a change.

    Args:
        stalled: Its stalls.
        started: Moments at which the last moved task of a change has started, seconds.
        timing: `recovery` and `pause`, the lengths of both.
    """
    after = [(end, end + timing.recovery) for _, end in stalled]
    # A seat is connected before a task comes to it.
    starts = () if timing.style == "seats" else started
    return merged([*after, *((when, when + timing.pause) for when in starts)])


def merged(spans: Iterable[Interval]) -> tuple[Interval, ...]:
    """The union of intervals, in order, none touching the next."""
    found: list[Interval] = []
    waiting = list(spans)
    heapq.heapify(waiting)
    while waiting:
        begin, end = heapq.heappop(waiting)
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return tuple(found)


def seconds(spans: Iterable[Interval]) -> float:
    """Total length of intervals that do not overlap."""
    return sum(end - begin for begin, end in spans)
