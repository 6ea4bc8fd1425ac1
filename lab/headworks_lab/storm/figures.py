"""Figures of a window on a real cluster, in the simulator's names: from workers' reports, and from outside of them."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING

from headworks_lab.measure.figures import lapses, latencies, outside, traffic
from headworks_storm.workers.completion import service
from headworks_storm.workers.throughput import series

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headworks.model import Observation
    from headworks_lab.measure.figures import Witness
    from headworks_storm.workers.reports import Report


def delays(reports: Iterable[Report]) -> Counter[int]:
    """Number of tuples by their complete latency in ms.

    Args:
        reports: Of the window.
    """
    found: Counter[int] = Counter()
    for row in (row for report in reports for row in report.delays):
        found[row.milliseconds] += row.tuples
    return found


def acked(reports: Iterable[Report], spouts: frozenset[int], begin: float, end: float) -> tuple[float, ...]:
    """Tuples of spouts whose whole tree was processed, in each whole second.

    Args:
        reports: Of that time.
        spouts: Storm's numbers of the spouts' tasks.
        begin: Start of the first second, seconds since 1970.
        end: What follows is left out.
    """
    return series(reports, spouts, begin, end, attrgetter("acked"))


def figures(
    seen: Observation, reports: Sequence[Report], tasks: frozenset[int], before: Witness, after: Witness
) -> dict[str, float]:
    """All figures of a window.

    Args:
        seen: As it was measured.
        reports: Of the window.
        tasks: Storm's numbers of the spouts' tasks.
        before: At the start of the window.
        after: At its end.
    """
    found = {**service(seen), **latencies(delays(reports)), **traffic(seen), **outside(before, after)}
    rates = acked(reports, tasks, before.time, after.time)
    return {**found, **lapses(rates, found["offered"])}
