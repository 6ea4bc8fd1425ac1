"""Rounds of batches before topologies whose nodes come and go: first come, first served, nothing while starved.

The queueing half of use case 1 of the priority thesis (003, section 4.1): producers send a round of batches every gap,
a topology works a round off in a time that depends on how many nodes it has, and rounds that arrive while it has none
wait.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@attrs.frozen(kw_only=True)
class Allocation:
    """From `begin` on (seconds) a topology has so many nodes."""

    begin: float
    nodes: int


@attrs.frozen(kw_only=True)
class Round:
    """A round of batches: when it arrived, when it was begun and done; seconds."""

    arrived: float
    begun: float
    done: float

    @property
    def latency(self) -> float:
        """Seconds from arrival to the end."""
        return self.done - self.arrived

    @property
    def waited(self) -> bool:
        """Whether it found the topology busy or starved."""
        return self.begun > self.arrived


def work_off(
    arrivals: Sequence[float], allocations: Sequence[Allocation], service: Callable[[int, bool], float]
) -> tuple[Round, ...]:
    """Simulate one topology, event by event.

    Args:
        arrivals: When rounds arrive, ascending.
        allocations: Nodes over time, ascending by `begin`; none before the first.
        service: Seconds that a round takes, given the number of nodes (over 0) and whether it had to wait.

    Returns:
        The rounds in order of arrival. A round that was begun is finished with the nodes it began with.
        Rounds for which no node ever came are left out.
    """
    events = [(when, 1, number) for number, when in enumerate(arrivals)]
    events += [(each.begin, 0, each.nodes) for each in allocations]
    heapq.heapify(events)
    waiting: deque[float] = deque()
    found: list[Round] = []
    nodes, busy = 0, False
    while events:
        now, kind, value = heapq.heappop(events)
        if kind == 0:
            nodes = value
        elif kind == 1:
            waiting.append(now)
        else:
            busy = False
        if waiting and nodes and not busy:
            arrived = waiting.popleft()
            end = now + service(nodes, arrived < now)
            found.append(Round(arrived=arrived, begun=now, done=end))
            heapq.heappush(events, (end, 2, 0))
            busy = True
    return tuple(found)
