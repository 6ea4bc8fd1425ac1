"""Figures of the paper on nonstop task management that runs on a real cluster measure."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from headworks.model import FrozenMap
from headworks_lab.evidence.model import Claim
from headworks_lab.measure.interval import interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headworks.plugins.host import PluginHost
    from headworks_lab.evidence.model import Interval
    from headworks_lab.storm.redeployment.run import Online, Redeployment
    from headworks_lab.storm.redeployment.saturated import Saturated

    Runs = Callable[[], Sequence[Redeployment]]

T = TypeVar("T")
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
SATURATED = (
    (
        "throughput-otd-computation",
        "Figure 12 a",
        "throughput above Storm's",
        0.14,
        "computation",
        "rise",
        "throughput",
    ),
    ("usage-storm-computation", "Figure 12 b", "average CPU usage under Storm", 0.51, "computation", "before", "usage"),
    ("usage-otd-computation", "Figure 12 b", "average CPU usage", 0.77, "computation", "after", "usage"),
    ("share-otd-computation", "Figure 12 c", "tuples between nodes", 0.2, "computation", "after", "inter_node"),
    ("throughput-otd", "Figure 13 a", "throughput above Storm's", 0.19, "communication", "rise", "throughput"),
    ("delay-otd", "Figure 13 b", "processing delay below Storm's", 0.14, "communication", "fall", "latency"),
)
"""Id, source, statement, what is printed, the case, how windows compare, and the figure; after 200 s of OTD."""
APART = FrozenMap(
    {
        "communication": "two nodes that are apart, 1 Mbit/s each, with two workers each; half the tasks; a spout, "
        "which has no seat, sends what the topology bears; the interval is of windows of one run",
        "computation": "two nodes that are apart, one with half of the other's processor, where keys of the paper's "
        "word count differ in their cost; half the tasks; the interval is of windows of one run",
    }
)
SHARES = (
    ("share-live-before", "bytes between nodes under Storm", 0.5, "shares", 0),
    ("share-live-after", "bytes between nodes after OTD", 0.06, "shares", -1),
    ("share-live-tuples", "tuples between nodes after OTD", 0.06, "tuples", -1),
)
"""Id, statement, what is printed, the unit as an attribute of a run of OTD, and the look."""
DEALT = "two nodes of one machine and half the tasks; a spout, which has no seat, in each Worker, and no ackers"
COMPARED: FrozenMap[str, Callable[[float, float], float]] = FrozenMap(
    {
        "rise": lambda before, after: after / before - 1,
        "fall": lambda before, after: 1 - after / before,
        "before": lambda before, _: before,
        "after": lambda _, after: after,
    }
)
"""Figure of a pair of windows, before OTD and after."""


def measured_claims() -> tuple[Claim, ...]:
    """The figures: those of OTD where something is the bottleneck by a run for each case, all others by one more."""
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
        _claim(name, source, f"part of the {what}", printed, functools.partial(share, unit, look), DEALT)
        for name, what, printed, unit, look in SHARES
    ]
    found += [
        _claim(
            name,
            source,
            f"{words}, {case}-intensive" + ("" if how == "before" else ", after 200 s of OTD"),
            printed,
            functools.partial(compared, case, how, figure),
            APART[case],
        )
        for name, source, words, printed, case, how, figure in SATURATED
    ]
    return tuple(found)


def _claim(
    name: str, source: str, statement: str, printed: float, verify: Callable[[], float | Interval], note: str = NOTE
) -> Claim:
    return Claim(id=name, source=source, statement=statement, printed=printed, verify=verify, measured=True, note=note)


def degraded(way: tuple[str, int], level: float, measure: Runs | None = None) -> float:
    """Part of the time of a run in which at least so much of the usual throughput was missing.

    Args:
        way: Way and number of tasks of the run.
        level: Part of the usual throughput.
        measure: Makes all runs; the real ones by default, once.
    """
    return _run(way, measure).degradation.share(level)


def faster(way: tuple[str, int], other: tuple[str, int], measure: Runs | None = None) -> float:
    """Relative distance of the throughput of one run from that of another, each beside what was usual before it.

    Args:
        way: Way and number of tasks of the run.
        other: The same of the other.
        measure: Makes all runs; the real ones by default, once.
    """
    return _run(way, measure).degradation.throughput / _run(other, measure).degradation.throughput - 1


def share(unit: str, look: int, measure: Callable[[], Online] | None = None) -> float:
    """Part of the bytes or tuples that went between nodes in a look.

    Args:
        unit: `shares` or `tuples`, as `headworks_lab.storm.redeployment.run.Online` has them.
        look: 0 for the one before any adjustment of OTD, -1 for the last one.
        measure: Makes the run; the real one by default, once.
    """
    found: Sequence[float] = getattr((measure or adjusted)(), unit)
    return found[look]


def compared(case: str, how: str, figure: str, measure: Callable[[str], Saturated] | None = None) -> Interval:
    """A figure of OTD beside that of Storm's deployment, of pairs of windows.

    Args:
        case: One of `headworks_lab.storm.redeployment.saturated.BOTTLENECKS`.
        how: One of `COMPARED`.
        figure: Its name.
        measure: Makes the run of a case; the real ones by default, each once.
    """
    return interval([COMPARED[how](*pair) for pair in (measure or saturated_case)(case).pairs(figure)])


def _run(way: tuple[str, int], measure: Runs | None) -> Redeployment:
    return next(each for each in (measure or measured)() if (each.way, each.tasks) == way)


@functools.cache
def measured() -> Sequence[Redeployment]:
    """Make all runs in which tasks are redeployed at random, with their messages on stderr; once."""
    # Nimbus's client and numpy cost 0.5 s, which naming the figures does not need.
    from headworks_lab.storm.redeployment.run import run

    return _alone(lambda host, folder, say: run(host, folder, say, AT_ONCE))


@functools.cache
def adjusted() -> Online:
    """Let OTD adjust Storm's deployment, with its messages on stderr; once."""
    # Nimbus's client and numpy cost 0.5 s, which naming the figures does not need.
    from headworks_lab.storm.redeployment.run import adjust

    return _alone(adjust)


@functools.cache
def saturated_case(case: str) -> Saturated:
    """Make the run of a case on nodes that are apart, with its messages on stderr; once.

    Args:
        case: See `compared`.
    """
    # Nimbus's client and numpy cost 0.5 s, which naming the figures does not need.
    from headworks_lab.storm.redeployment.saturated import BOTTLENECKS, saturated

    return _alone(lambda host, folder, say: saturated(BOTTLENECKS[case](), host, folder, say))


def _alone(measure: Callable[[PluginHost, Path, Callable[[str], None]], T]) -> T:
    # The host and its plugins cost 0.2 s, which naming the figures does not need.
    from headworks.cli.installed import plugins
    from headworks.cli.output import Progress

    with tempfile.TemporaryDirectory(prefix="headworks-live-", ignore_cleanup_errors=True) as folder:
        return measure(plugins(), Path(folder), Progress())
