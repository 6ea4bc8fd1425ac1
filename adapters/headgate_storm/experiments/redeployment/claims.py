"""Figures of the paper on nonstop task management that runs on a real cluster measure."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.engines.experiments.interval import interval
from headgate.model.evidence import Claim

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headgate.model.evidence import Interval
    from headgate_storm.experiments.redeployment.run import Online, Redeployment
    from headgate_storm.experiments.redeployment.saturated import Saturated

    Found = tuple[Sequence[Redeployment], Online]

AT_ONCE = (1, 16)
"""Tasks of a redeployment of which the paper prints figures."""
RUN = 600.0
"""Seconds of a run in the paper."""
NOTE = (
    "two nodes of one machine and half the tasks; three redeployments, 60 s apart, where the paper has ten: parts of "
    "the time compare"
)
DEGRADED = (
    ("degraded-storm", "Figure 9 a", "Storm, its rebalance command", ("storm", 0), 0.6, 279.0),
    ("stopped-storm", "Figure 9 a", "Storm, its rebalance command", ("storm", 0), 1.0, 267.0),
    ("degraded-touched", "Figure 9 a", "Storm*, one task, restarts", ("touched", 1), 0.6, 155.0),
    ("degraded-1", "Figure 9 a", "one task, N-Storm and seats", ("seats", 1), 0.6, 20.0),
    ("degraded-16", "Figure 9 b", "16 tasks, N-Storm and seats", ("seats", 16), 0.6, 118.0),
    ("stopped-16", "Figure 9 c", "16 tasks, N-Storm+ and seats", ("seats", 16), 1.0, 53.0),
)
"""Id, source, what is redeployed and how, the run, the level, and seconds of 600 that are printed."""
FASTER = (
    ("throughput-touched", "Storm* above Storm", ("touched", 1), ("storm", 0), 0.41),
    ("throughput-over-touched", "one task by N-Storm and seats above Storm*", ("seats", 1), ("touched", 1), 0.25),
    ("throughput-over-storm", "one task by N-Storm and seats above Storm", ("seats", 1), ("storm", 0), 0.75),
)
"""Id, which throughput is how much above which, the two runs, and by how much it is printed to be (Figure 10 a)."""
APART = (
    "two nodes that are apart, 1 Mbit/s each, with two workers each; half the tasks; a spout, which has no seat, sends "
    "what the topology bears; the interval is of windows of one run"
)


def measured_claims() -> tuple[Claim, ...]:
    """The figures: those of throughput and delay under OTD by one run, all others by another."""
    found = [
        _claim(
            name,
            source,
            f"part of the time with {level:.0%} less throughput: {words}",
            printed / RUN,
            functools.partial(degraded, way, level),
        )
        for name, source, words, way, level, printed in DEGRADED
    ]
    found += [
        _claim(name, "Figure 10 a", f"throughput of {words}", printed, functools.partial(faster, way, other))
        for name, words, way, other, printed in FASTER
    ]
    source = "section 5.3.2, Figure 13 c"
    found += [
        _claim("share-live-before", source, "part of the bytes between nodes under Storm", 0.5, lambda: shares()[0]),
        _claim("share-live-after", source, "part of the bytes between nodes after OTD", 0.06, lambda: shares()[-1]),
    ]
    after = "after 200 s of OTD"
    found += [
        _claim("throughput-otd", "Figure 13 a", f"throughput above Storm's {after}", 0.19, more_throughput, APART),
        _claim("delay-otd", "Figure 13 b", f"processing delay below Storm's {after}", 0.14, less_delay, APART),
    ]
    return tuple(found)


def _claim(
    name: str, source: str, statement: str, printed: float, verify: Callable[[], float | Interval], note: str = NOTE
) -> Claim:
    return Claim(id=name, source=source, statement=statement, printed=printed, verify=verify, measured=True, note=note)


def degraded(way: tuple[str, int], level: float, measure: Callable[[], Found] | None = None) -> float:
    """Part of the time of a run in which at least so much of the usual throughput was missing.

    Args:
        way: Way and number of tasks of the run.
        level: Part of the usual throughput.
        measure: Makes all runs; the real ones by default, once.
    """
    return _run(way, measure).degradation.share(level)


def faster(way: tuple[str, int], other: tuple[str, int], measure: Callable[[], Found] | None = None) -> float:
    """Relative distance of the throughput of one run from that of another, each beside what was usual before it.

    Args:
        way: Way and number of tasks of the run.
        other: The same of the other.
        measure: Makes all runs; the real ones by default, once.
    """
    return _run(way, measure).degradation.throughput / _run(other, measure).degradation.throughput - 1


def shares(measure: Callable[[], Found] | None = None) -> Sequence[float]:
    """Parts of the bytes that went between nodes, before and after each adjustment of OTD.

    Args:
        measure: Makes all runs; the real ones by default, once.
    """
    return (measure or measured)()[1].shares


def more_throughput(measure: Callable[[], Saturated] | None = None) -> Interval:
    """Relative distance of the throughput after OTD from that of Storm's deployment, of pairs of windows.

    Args:
        measure: Makes the run; the real one by default, once.
    """
    before, after = (measure or saturated_network)().throughput
    return interval([more / less - 1 for less, more in zip(before, after, strict=True)])


def less_delay(measure: Callable[[], Saturated] | None = None) -> Interval:
    """Part by which the latency is lower after OTD than under Storm's deployment, of pairs of windows.

    Args:
        measure: Makes the run; the real one by default, once.
    """
    before, after = (measure or saturated_network)().latency
    return interval([1 - less / more for more, less in zip(before, after, strict=True)])


def _run(way: tuple[str, int], measure: Callable[[], Found] | None) -> Redeployment:
    runs, _ = (measure or measured)()
    return next(each for each in runs if (each.way, each.tasks) == way)


@functools.cache
def measured() -> Found:
    """Make all runs, with their messages on stderr; once."""
    # Nimbus's client and numpy cost 0.5 s, which naming the figures does not need.
    from headgate.cli.host import plugins
    from headgate.cli.output import Progress
    from headgate_storm.experiments.redeployment.run import run

    with tempfile.TemporaryDirectory(prefix="headgate-live-", ignore_cleanup_errors=True) as folder:
        return run(plugins(), Path(folder), Progress(), AT_ONCE)


@functools.cache
def saturated_network() -> Saturated:
    """Make the run on nodes that are apart, with its messages on stderr; once."""
    # Nimbus's client and numpy cost 0.5 s, which naming the figures does not need.
    from headgate.cli.host import plugins
    from headgate.cli.output import Progress
    from headgate_storm.experiments.redeployment.saturated import saturated

    with tempfile.TemporaryDirectory(prefix="headgate-live-", ignore_cleanup_errors=True) as folder:
        return saturated(plugins(), Path(folder), Progress())
