"""When a topology stands still and when it is slow, from the absences of its tasks."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headgate_sim.timing import Timing

Span = tuple[float, float]
"""Begin and end, seconds."""


def stalls(absences: Iterable[Span], tasks: int) -> tuple[Span, ...]:
    """The times in which at least `tasks` absences overlap, in order."""
    events = sorted([*((off, 1) for off, on in absences if on > off), *((on, -1) for off, on in absences if on > off)])
    found, absent, begin = [], 0, 0.0
    for when, step in events:
        if step > 0 and absent + 1 == tasks:
            begin = when
        if step < 0 and absent == tasks and when > begin:
            found.append((begin, when))
        absent += step
    return merged(found)


def slow_spans(stalled: Sequence[Span], started: Iterable[float], timing: Timing) -> tuple[Span, ...]:
    """The times in which a topology recovers or connects: after each stall, and after the last start of each change."""
    after = [(end, end + timing.recovery) for _, end in stalled]
    return merged([*after, *((when, when + timing.pause) for when in started)])


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The union of spans, in order, none touching the next."""
    found: list[Span] = []
    waiting = list(spans)
    heapq.heapify(waiting)
    while waiting:
        begin, end = heapq.heappop(waiting)
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return tuple(found)


def seconds(spans: Iterable[Span]) -> float:
    """How long spans last that do not overlap."""
    return sum(end - begin for begin, end in spans)
