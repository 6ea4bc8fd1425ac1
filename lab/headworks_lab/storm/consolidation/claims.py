"""Figures of D-Storm's evaluation that runs on real clusters measure."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from headworks_lab.measure.interval import interval
from headworks_lab.storm.claims import live_claims

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headworks_lab.evidence.model import Claim, Interval
    from headworks_lab.storm.consolidation.run import Latency, Packed

    Measure = Callable[[], Sequence[Packed]]

TRAFFIC, PRICE, DELAY = "section 5.5.2", "section 5.5.3, Fig. 5.8", "section 5.5.2, Fig. 5.7"
SAVED = (("linear", TRAFFIC, 63.9), ("star", TRAFFIC, 80.1), ("diamond", TRAFFIC, 57.7))
"""Shape, source, and percent of the traffic between nodes that is printed to be saved against Storm's default."""
COST = (
    ("linear", PRICE, 40.2),
    ("star", PRICE, 36.4),
    ("diamond", PRICE, 33.3),
    ("url-converter", PRICE, 30.8),
    ("twitter-sentiment", PRICE, 28.57),
)
"""Topology, source, and percent of the cost that is printed to be left when the input falls to a quarter."""
LATENCY = (("url-converter", DELAY, 72.7), ("twitter-sentiment", DELAY, 78.0))
"""Application, source, and its latency in percent of that by Storm's default scheduler, as printed."""
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
    own = "Storm's default scheduler"
    return live_claims(
        (
            (SAVED, "saved", f"% of inter-node traffic saved against {own}", saved, NOTE),
            (COST, "cost", "% of its cost at Ps 10000 that remains at Ps 2500", cost_left, COSTS),
            (LATENCY, "latency", f"latency in % of that by {own}", latency, TIMES),
        )
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
    from headworks.cli.installed import plugins
    from headworks.cli.output import Progress
    from headworks_lab.storm.consolidation.run import micro_benchmark

    with tempfile.TemporaryDirectory(prefix="headworks-live-", ignore_cleanup_errors=True) as folder:
        return micro_benchmark(plugins(), Path(folder), Progress())


@functools.cache
def latencies() -> Sequence[Latency]:
    """Measure both applications, with messages on stderr; once."""
    # Nimbus's client and numpy cost 0.5 s, which naming the figures does not need.
    from headworks.cli.output import Progress
    from headworks_lab.storm.consolidation.run import latencies as run

    return run(Progress())
