"""Figures of D-Storm's evaluation that runs on real clusters measure."""

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
    from headgate_storm.experiments.consolidation.run import Latency, Packed

    Measure = Callable[[], Sequence[Packed]]

SAVED = (("linear", 63.9), ("star", 80.1), ("diamond", 57.7))
"""Shape, and percent of the traffic between nodes that is printed to be saved against Storm's default scheduler."""
COST = (("linear", 40.2), ("star", 36.4), ("diamond", 33.3), ("url-converter", 30.8), ("twitter-sentiment", 28.57))
"""Topology, and percent of the cost that is printed to be left when the input falls to a quarter."""
LATENCY = (("url-converter", 72.7), ("twitter-sentiment", 78.0))
"""Application, and its latency in percent of that by Storm's default scheduler, as printed."""
NOTE = (
    "half of the paper's nodes and of its load, on one machine; shares of tuples; the interval is of windows of one "
    "placement, not of placements"
)
COSTS = (
    "half of the paper's nodes and of its load, the costs of the applications' operators are ours; CPU is measured and "
    "multiplied to be what is declared"
)
TIMES = (
    "three nodes that are apart, 5 Mbit/s each; the paper does not print the costs of the operators, these are ours; "
    "the placement is from what is declared"
)


def measured_claims() -> tuple[Claim, ...]:
    """The figures: those of the micro-benchmark by one run, those of latency by another."""
    groups = (
        (
            SAVED,
            "saved",
            "section 5.5.2",
            "% of inter-node traffic saved against Storm's default scheduler",
            saved,
            NOTE,
        ),
        (
            COST,
            "cost",
            "section 5.5.3, Fig. 5.8",
            "% of its cost at Ps 10000 that remains at Ps 2500",
            cost_left,
            COSTS,
        ),
        (
            LATENCY,
            "latency",
            "section 5.5.2, Fig. 5.7",
            "latency in % of that by Storm's default scheduler",
            latency,
            TIMES,
        ),
    )
    return tuple(
        Claim(
            id=f"{figure}-live-{name}",
            source=source,
            statement=f"{statement}, {name}",
            printed=printed,
            verify=functools.partial(verify, name),
            measured=True,
            note=note,
        )
        for rows, figure, source, statement, verify, note in groups
        for name, printed in rows
    )


def saved(shape: str, measure: Measure | None = None) -> Interval:
    """Percent of the share of tuples between nodes that D-Storm saves against Storm, of pairs of windows.

    Args:
        shape: Of the topology, at the low rate, which is the default of the paper's sweep.
        measure: Makes all runs; the real ones by default, once.
    """
    own, theirs = (_packed(shape, name, measure, falls=True) for name in ("storm", "dstorm"))
    return interval([100 * (1 - less / more) for less, more in zip(theirs.shares, own.shares, strict=True)])


def cost_left(shape: str, measure: Measure | None = None) -> float:
    """Percent of the cost of the nodes that D-Storm uses that is left when the input falls to a quarter.

    Args:
        shape: Of the topology, or the name of an application.
        measure: Makes all runs; the real ones by default, once.
    """
    high, low = (_packed(shape, "dstorm", measure, falls=falls) for falls in (False, True))
    return 100 * low.cost / high.cost


def latency(application: str, measure: Callable[[], Sequence[Latency]] | None = None) -> Interval:
    """Latency by D-Storm in percent of that by Storm, of each repetition.

    Args:
        application: One of `LATENCY`.
        measure: Makes all runs; the real ones by default, once.
    """
    found = next(each for each in (measure or latencies)() if each.application == application)
    return interval([100 * theirs / own for theirs, own in zip(found.dstorm, found.storm, strict=True)])


def _packed(shape: str, scheduler: str, measure: Measure | None, *, falls: bool) -> Packed:
    found = (measure or packed)()
    return next(each for each in found if (each.shape, each.scheduler, each.falls) == (shape, scheduler, falls))


@functools.cache
def packed() -> Sequence[Packed]:
    """Run the micro-benchmark, with its messages on stderr; once."""
    # Nimbus's client and numpy cost 0.5 s, which naming the figures does not need.
    from headgate.cli.host import plugins
    from headgate.cli.output import Progress
    from headgate_storm.experiments.consolidation.run import micro_benchmark

    with tempfile.TemporaryDirectory(prefix="headgate-live-", ignore_cleanup_errors=True) as folder:
        return micro_benchmark(plugins(), Path(folder), Progress())


@functools.cache
def latencies() -> Sequence[Latency]:
    """Measure both applications, with messages on stderr; once."""
    # Nimbus's client and numpy cost 0.5 s, which naming the figures does not need.
    from headgate.cli.output import Progress
    from headgate_storm.experiments.consolidation.run import latencies as run

    return run(Progress())
