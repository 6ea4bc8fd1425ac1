"""Figures of the priority thesis that `headworks demo priority` measures: latencies under `sps` beside `dps`."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from headworks_lab.evidence.model import Claim
from headworks_lab.priority.feeds.feeds import FIRST, SCALE, FeedWorkload
from headworks_lab.priority.workload import Workload

if TYPE_CHECKING:
    from headworks_lab.priority.feeds.run import FeedDemoResult
    from headworks_lab.priority.run import PriorityDemoResult

PAIR = ("sps", "dps")
"""The schedulers that the thesis compares."""
TE = (
    ("te-service-0.1", "section 4.1.7.2, Figure 13", 0.1, 0.21),
    ("te-service-0.2", "section 4.1.7.1, Figure 10", 0.2, 0.38),
    ("te-service-0.3", "section 4.1.7.2, Figure 13", 0.3, 0.39),
)
"""Id, source, service time (Shigh, seconds), and by how much TE of SPS is printed to be above that of DPS."""
TT = (
    ("tt-service-0.1", "Figure 14", 0.1, 0.219918 / 0.183072 - 1),
    ("tt-service-0.2", "Figure 14", 0.2, 0.33307 / 0.280137 - 1),
    ("tt-service-0.3", "Figure 14", 0.3, 0.473854 / 0.38406 - 1),
)
"""The same of TT of the event topologies, by the latencies that are printed."""
STARVED = (
    ("starved-service-0.1", "Figure 15", 0.1, 22.30882 / 0.105835),
    ("starved-service-0.2", "Figure 15", 0.2, 30.05407 / 0.21962),
    ("starved-service-0.3", "Figure 15", 0.3, 36.10407 / 0.293701),
)
"""TT of the archival topologies under DPS, as a multiple of that under SPS, by the latencies that are printed."""
FEED = (
    ("feed-rate-40", "Figure 35", 40.0, 21.77677 / 17.23875 - 1),
    ("feed-rate-53", "Figure 35", 160 / 3, 46.79928 / 39.26057 - 1),
    ("feed-rate-80", "Figure 35", 80.0, 137.9003 / 134.5635 - 1),
)
"""Id, source, tuples a second while many come, and by how much TT of TP1 under SPS is printed above that under DPS."""
NOTE = (
    "a quarter of the thesis's size: a topology of events has one node under sps and two under dps, where the thesis "
    "has 6 and 8; a reading takes time and not a processor, and the first event comes before nodes have changed hands"
)
KEPT = (
    "on Storm a topology that is to starve keeps its workers, and shares nodes with those that do not: it goes on, and "
    "its tuples do not wait until the trigger ends"
)
OF_FEEDS = (
    "a quarter of the nodes, each with one core for two, at an eighth of the rate; 800 tuples in minutes, where the "
    "thesis has 80,000 in half an hour or more: the pause of a change weighs more; it prints no lengths of its periods"
)


def measured_claims() -> tuple[Claim, ...]:
    """The thesis's ratios of latencies, which a run of both schedulers measures: one run for each service time."""
    events = (
        (TE, "TE under SPS above TE under DPS", _above("complex_events"), NOTE),
        (TT, "TT of event topologies under SPS above that under DPS", _above("high"), NOTE),
        (STARVED, "TT of archival topologies under DPS, times that under SPS", _starved, KEPT),
    )
    found = [
        _claim(row, f"{statement}, a reading taking {row[2]:g} s", functools.partial(verify, row[2]), note)
        for rows, statement, verify, note in events
        for row in rows
    ]
    found += [
        _claim(
            row,
            f"TT of TP1 under SPS above that under DPS, use case 2, at most {row[2]:.4g} tuples a second",
            functools.partial(feed_ratio, row[2]),
            OF_FEEDS,
        )
        for row in FEED
    ]
    return tuple(found)


def _claim(row: tuple[str, str, float, float], statement: str, verify: Callable[[], float], note: str) -> Claim:
    name, source, _, printed = row
    return Claim(id=name, source=source, statement=statement, printed=printed, verify=verify, measured=True, note=note)


def _above(part: str) -> Callable[[float], float]:
    return lambda service: latency_ratio(part, service) - 1


def _starved(service: float) -> float:
    return 1 / latency_ratio("low", service)


Run = Callable[[Workload], "PriorityDemoResult"]
"""Runs use case 1 under both schedulers."""


def latency_ratio(part: str, service: float, run: Run | None = None) -> float:
    """Mean latency under `sps`, as a multiple of that under `dps`.

    Args:
        part: Field of `Latencies`, of all events or tuples of a run.
        service: Seconds that a reading takes (Shigh).
        run: Runs the demo under both schedulers; the real one by default, once for each service time.

    Raises:
        EngineError: Something does not start, or what was sent was not done in time.
    """
    found = (run or run_demo)(Workload(service=service))
    mean = {each.scheduler: fmean(getattr(each.latencies, part)) for each in found.phases}
    return mean["sps"] / mean["dps"]


def feed_ratio(rate: float, run: Callable[[FeedWorkload], FeedDemoResult] | None = None) -> float:
    """Relative distance of TT of TP1 under `sps` from that under `dps`.

    Args:
        rate: Tuples a second while many come, as the thesis has them; an eighth of that is sent.
        run: Runs use case 2 under both schedulers; the real one by default.

    Raises:
        EngineError: See `latency_ratio`.
    """
    found = (run or run_feeds)(FeedWorkload(rate=rate / SCALE))
    mean = {each.scheduler: each.mean(FIRST) for each in found.phases}
    return mean["sps"] / mean["dps"] - 1


@functools.cache
def run_demo(workload: Workload) -> PriorityDemoResult:
    """Run use case 1 under both schedulers, with its messages on stderr; once for each workload.

    Args:
        workload: Parameters.
    """
    # Nimbus's client and Kafka's cost 0.5 s, which naming the figures does not need.
    from headworks.cli.installed import plugins
    from headworks.cli.output import Progress
    from headworks_lab.priority.run import run

    with tempfile.TemporaryDirectory(prefix="headworks-live-", ignore_cleanup_errors=True) as folder:
        return run(plugins(), PAIR, workload, Path(folder), Progress())


def run_feeds(workload: FeedWorkload) -> FeedDemoResult:
    """Run use case 2 under both schedulers, with its messages on stderr.

    Args:
        workload: Parameters.
    """
    # Nimbus's client and Kafka's cost 0.5 s, which naming the figures does not need.
    from headworks.cli.installed import plugins
    from headworks.cli.output import Progress
    from headworks_lab.priority.feeds.run import run

    with tempfile.TemporaryDirectory(prefix="headworks-live-", ignore_cleanup_errors=True) as folder:
        return run(plugins(), PAIR, workload, Path(folder), Progress())
