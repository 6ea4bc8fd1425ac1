"""The watch on the workers of a cluster, by their reports: the `watch` of a `StormTarget`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from headworks.model import FrozenMap, Metrics
from headworks_storm.workers.collector import KEPT, SLOWEST, Collector
from headworks_storm.workers.measures import lives, metrics_of, seen, task_ids
from headworks_storm.workers.routes import routing

if TYPE_CHECKING:
    from collections.abc import Collection

    from headworks.model import Slot
    from headworks_storm.nimbus.snapshot import Snapshot
    from headworks_storm.workers.measures import Life
    from headworks_storm.workers.reports import Report
    from headworks_storm.workers.routes import Routing

FRESH = 25.0
"""Seconds after which a task that nobody reported is not taken to be alive: two reports at the slowest pace. With less,
a worker that reports every 10 s looks dead; with more, a dead one looks alive for longer."""
LOOK = 0.5
"""Seconds between two looks for the first reports."""


@attrs.define(eq=False)
class CollectorWatch:
    """The workers of a cluster as their reports to a collector show them; `latest` is what was measured last."""

    collector: Collector
    latest: Metrics = attrs.field(default=Metrics(), init=False)
    _begun: bool = attrs.field(default=False, init=False)

    def measure(self, snapshot: Snapshot, window: float) -> Metrics:
        """Measure executors for a window of time; returns after it.

        The first time it waits until all that run have reported, `FRESH` seconds at most: a process that has just
        started would else plan on what is declared, as if nothing had been measured.

        Args:
            snapshot: The round of Nimbus that names them.
            window: Seconds to watch.
        """
        if not self._begun:
            self._begun = True
            until = time.monotonic() + FRESH
            while snapshot.assignment.keys() - self.alive(snapshot).keys() and time.monotonic() < until:
                time.sleep(LOOK)
        self.latest = metrics_of(self.collector.window(window), snapshot, window)
        return self.latest

    def lives(self, snapshot: Snapshot) -> FrozenMap[Life, Slot]:
        """The worker processes that reported in the last `FRESH` seconds, each with its slot."""
        return lives(self.collector.recent(FRESH), snapshot)

    def reported(self, snapshot: Snapshot) -> frozenset[str]:
        """Task ids in the first and the last report that are kept of each process, up to twenty minutes after its end.

        Args:
            snapshot: The round of Nimbus that names them.
        """
        numbers = task_ids(snapshot)
        first: dict[Life, Report] = {}
        last: dict[Life, Report] = {}
        for each in self.collector.recent(KEPT * SLOWEST):
            first.setdefault(each.process, each)
            last[each.process] = each
        ends = (*first.values(), *last.values())  # those between would name the same tasks a hundred times
        rows = ((each.topology, row.task) for each in ends for row in each.tasks)
        return frozenset(numbers[row] for row in rows if row in numbers)

    def routing(self, snapshot: Snapshot) -> FrozenMap[Life, Routing]:
        """Destinations of the worker processes that reported in the last `FRESH` seconds, as `Routing` has them.

        Args:
            snapshot: The newest round of Nimbus.
        """
        return FrozenMap(routing(self.collector.recent(FRESH), snapshot))

    def alive(self, snapshot: Snapshot, *, past: Collection[Life] = ()) -> FrozenMap[str, Slot]:
        """Slots in which executors were reported in the last `FRESH` seconds, by task id.

        Args:
            snapshot: The round of Nimbus that names them.
            past: Processes that were to end, whose reports prove nothing.
        """
        reports = (each for each in self.collector.recent(FRESH) if each.process not in past)
        return seen(reports, snapshot)
