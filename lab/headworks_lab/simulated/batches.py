"""A queue of batches before a topology whose nodes come and go: first come, first served, nothing while starved.

The queueing half of use case 1 of the priority thesis (003, section 4.1): producers send a round of batches every gap,
a topology works a round off in a time that depends on how many nodes it has, and rounds that arrive while it has none
wait.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@attrs.frozen(kw_only=True)
class Allocation:
    """Number of nodes that a topology has from `begin` (seconds) on."""

    begin: float
    nodes: int


@attrs.frozen(kw_only=True)
class BatchRound:
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
        """True if it found the topology busy or starved."""
        return self.begun > self.arrived


def work_off(
    arrivals: Sequence[float], allocations: Sequence[Allocation], service: Callable[[int, bool], float]
) -> tuple[BatchRound, ...]:
    """Simulate the queue of one topology, event by event.

    Args:
        arrivals: When rounds arrive, ascending.
        allocations: Nodes over time, ascending by `begin`; none before the first.
        service: Seconds that a round takes, given the number of nodes (over 0) and whether it had to wait.

    Returns:
        The rounds in order of arrival. A round that was begun is finished with the nodes it began with.
        Rounds for which no node ever came are left out.
    """
    waiting: deque[float] = deque()
    found: list[BatchRound] = []
    nodes, end, never = 0, math.inf, math.inf
    steps, comers = iter([*((each.begin, each.nodes) for each in allocations), (never, 0)]), iter([*arrivals, never])
    step, comer = next(steps), next(comers)
    # Three kinds of events, one a turn: the nodes change, a round arrives, the round in work is done, of
    # those at one moment in this order.
    while (now := min(step[0], comer, end)) < never:
        if step[0] == now:
            nodes, step = step[1], next(steps)
        elif comer == now:
            waiting.append(now)
            comer = next(comers)
        else:
            end = never
        if waiting and nodes and end == never:
            arrived = waiting.popleft()
            end = now + service(nodes, arrived < now)
            found.append(BatchRound(arrived=arrived, begun=now, done=end))
    return tuple(found)
