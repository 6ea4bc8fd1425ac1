"""Which of several queues holds the task of highest priority for a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headgate_dstorm.sizes import Sizes

FREE = 1e200
"""Bound of a task that takes nothing of the critical resource, for each unit of traffic: above all others."""

SLACK = 1.0 + 2.0**-16
"""More than rounding can add to a priority whose cost is at least `LEAST`."""

LEAST = 2.0**-32
"""Share of a node's capacity below which a demand counts as none in a bound."""


class Race:
    """Some queues, and the greatest numerator of Eq. 5.5 that waits in each: -1 where its tasks do not fit.

    Attributes:
        queues: Index of each queue in the race.
        at: Place of each queue in the race.
        top: float64, the numerators.
    """

    def __init__(self, sizes: Sizes, queues: list[int], widest: Sequence[float]) -> None:
        """Make a race on a cluster whose widest node has `widest` of each resource."""
        self.queues = queues
        self.at = {queue: place for place, queue in enumerate(queues)}
        self.top = np.zeros(len(queues))
        self._demand = sizes.demand[:, queues]
        self._rows: list[list[float]] = self._demand.T.tolist()
        least = np.maximum(np.array(widest) * LEAST, 2.0**-1000)[:, None]
        self._weight = np.full((len(least) + 1, len(queues)), FREE)
        np.divide(SLACK, self._demand, out=self._weight[:-1], where=self._demand >= least)

    def refit(self, free: Sequence[float]) -> None:
        """Take out the queues whose tasks need more than is free."""
        for row, amount in zip(self._demand, free, strict=True):
            self.top[row > amount] = -1.0

    def best(
        self, used: Sequence[float], capacity: Sequence[float], usage: float, critical: int
    ) -> tuple[list[int], float, bool]:
        """The places of highest priority, that priority, and whether it comes without cost.

        A place costs at least what it adds to the resource that is critical now. That gives a bound on each
        priority, and the few places that reach the leader's are looked at. Nobody leads where no numerator is
        positive.
        """
        bound = self.top * self._weight[critical]
        lead = int(bound.argmax())
        if not bound[lead] > 0:
            return [], 0.0, False
        best, places = self._priority(lead, used, capacity, usage), [lead]
        level = best / capacity[critical] if critical >= 0 else best
        for place in (bound >= min(level, FREE)).nonzero()[0].tolist():
            if place == lead:
                continue
            priority = self._priority(place, used, capacity, usage)
            if priority > best:
                best, places = priority, [place]
            elif priority == best:
                places.append(place)
        return places, best, best == float("inf")

    def _priority(self, place: int, used: Sequence[float], capacity: Sequence[float], usage: float) -> float:
        """Eq. 5.5."""
        after = 0.0
        for amount, need, whole in zip(used, self._rows[place], capacity, strict=True):
            if whole > 0 and (share := (amount + need) / whole) > after:
                after = share
        return self.top.item(place) / (after - usage) if after > usage else float("inf")

    def needs(self, place: int) -> list[float]:
        """What a task of a queue needs."""
        return self._rows[place]


def critical_usage(used: Sequence[float], capacity: Sequence[float]) -> tuple[float, int]:
    """Share of the critical resource in use, and which resource that is: -1 if the node has none."""
    usage, critical = 0.0, -1
    for resource, (amount, whole) in enumerate(zip(used, capacity, strict=True)):
        if whole > 0 and (critical < 0 or amount / whole > usage):
            usage, critical = amount / whole, resource
    return usage, critical
