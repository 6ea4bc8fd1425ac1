"""Figures of a window on a real Spark cluster, in the simulator's names: from batches, and from outside of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import attrs

from headworks_lab.measure.figures import lapses, latencies, outside, traffic
from headworks_spark.events.event import QueryProgress

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headworks.model import Observation
    from headworks_lab.measure.figures import Witness


@attrs.frozen(kw_only=True)
class Batches:
    """Consecutive micro-batches of one query.

    Attributes:
        offered: Tuples/s that its spouts are to emit.
        rows: Tuples that they emit in a batch.
        done: As the query reported them, the first of them begun before the window, oldest first.
    """

    offered: float
    rows: float
    done: Sequence[QueryProgress]

    @property
    def throughput(self) -> float:
        """Tuples/s completed, from the begin of the first batch to that of the last; 0 of fewer than two."""
        seconds = self.done[-1].begin - self.done[0].begin if self.done else 0.0
        return self.rows * (len(self.done) - 1) / seconds if seconds > 0 else 0.0

    def rate(self, time: float) -> float:
        """Tuples/s at which the batch that runs at a time is completed; 0 where none is known.

        Args:
            time: Seconds since the epoch.
        """
        for one, two in pairwise(self.done):
            if one.begin <= time < two.begin:
                return self.rows / (two.begin - one.begin)
        last = self.done[-1] if self.done else None
        return self.rows / last.seconds if last is not None and 0 <= time - last.begin < last.seconds else 0.0


def delays(batches: Iterable[Batches]) -> Counter[int]:
    """Number of tuples by the ms that their batch took, planning and commit included.

    Args:
        batches: Of each query.
    """
    found: Counter[int] = Counter()
    for each in batches:
        for batch in each.done:
            found[round(batch.seconds * 1000)] += round(each.rows)
    return found


def figures(seen: Observation, batches: Sequence[Batches], before: Witness, after: Witness) -> dict[str, float]:
    """All figures of a window.

    Args:
        seen: As it was measured.
        batches: Of each query.
        before: At the start of the window.
        after: At its end.
    """
    took = delays(batches)
    offered = sum(each.offered for each in batches)
    until = min((each.done[-1].begin + each.done[-1].seconds for each in batches if each.done), default=after.time)
    # Of the batch that runs at the end nothing is known yet.
    seconds = [before.time + each for each in range(int(min(until, after.time) - before.time))]
    rates = [sum(each.rate(second) for each in batches) for second in seconds]
    return {
        "offered": offered,
        "throughput": sum(each.throughput for each in batches),
        "latency": sum(ms * count for ms, count in took.items()) / max(took.total(), 1),
        **latencies(took),
        **traffic(seen),
        **outside(before, after),
        **lapses(rates, offered),
    }
