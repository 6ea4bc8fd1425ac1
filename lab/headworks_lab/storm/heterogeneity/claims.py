"""Figures of the heterogeneity papers that a run on a real cluster of unequal nodes measures."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headworks_lab.measure.interval import interval
from headworks_lab.storm.claims import live_claims

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headworks_lab.evidence.model import Claim, Interval
    from headworks_lab.storm.heterogeneity.run import Borne

    Measure = Callable[[], Sequence[Borne]]

GAINS = (("linear", "Figure 14", 0.44), ("diamond", "Figure 15", "0.07 to 0.44"), ("star", "Figure 16", "0.07 to 0.44"))
"""Shape, source, and by how much the papers' placement is printed to bear more than Storm's own."""
BELOW = (("linear", "Figure 14", 0.02), ("diamond", "Figure 15", 0.04), ("star", "Figure 16", 0.04))
"""Shape, source, and how far below the best placement it is printed to be; on the star, to be less than that."""
CPU = (("linear", "Figure 10", 8.0), ("diamond", "Figure 11", 8.0), ("star", "Figure 12", 8.0))
"""Shape, source, and percent of a machine than which the predicted CPU use is printed to be less off."""
NOTE = (
    "three nodes of one machine, whose processor time is in the ratio of the machine types' costs in Table 3; Storm "
    "sends shuffled tuples to all tasks alike, as it did; as many tasks as hetero asks for at 5 % of fixed cost"
)
BEST = f"{NOTE}; the best placement has the number of tasks that it wants"
USED = (
    "of whole nodes, by the operating system, at 40 and at 80 % of what the placement should bear; the processor time "
    "of a tuple is declared, and Storm's own work for it and for a worker comes on top"
)


def measured_claims() -> tuple[Claim, ...]:
    """The figures, all by one run."""
    groups = (
        (GAINS, "gain", "throughput above that by Storm's default scheduler", gain, NOTE),
        (BELOW, "below-best", "throughput below that of the best placement", below_best, BEST),
        (CPU, "cpu", "CPU use of a node off the predicted one at most, percent of the node", off, USED),
    )
    return live_claims(groups, less={"below-best-live-star", *(f"cpu-live-{shape}" for shape, _, _ in CPU)})


def gain(shape: str, measure: Measure | None = None) -> Interval:
    """By how much the papers' placement bears more than Storm's own, as a part of the latter, of each repetition.

    Args:
        shape: Of the topology.
        measure: Makes all runs; the real ones by default, once.
    """
    own, theirs = (_rates(shape, name, measure) for name in ("storm", "hetero"))
    return interval([more / less - 1 for more, less in zip(theirs, own, strict=True)])


def below_best(shape: str, measure: Measure | None = None) -> Interval:
    """Distance of the papers' placement below the best one, as a part of what that bears, of each repetition.

    Args:
        shape: Of the topology.
        measure: Makes all runs; the real ones by default, once.
    """
    theirs, best = (_rates(shape, name, measure) for name in ("hetero", "optimal"))
    return interval([1 - less / more for less, more in zip(theirs, best, strict=True)])


def off(shape: str, measure: Measure | None = None) -> float:
    """Largest distance of a node's CPU use from the predicted one, in percent of the node, where no node is full.

    Args:
        shape: Of the topology.
        measure: Makes all runs; the real ones by default, once.
    """
    return max(
        abs(used - predicted)
        for each in (measure or measured)()
        if each.shape == shape and not each.full
        for used, predicted in zip(each.used, each.predicted, strict=True)
    )


def _rates(shape: str, placement: str, measure: Measure | None) -> list[float]:
    found = (measure or measured)()
    return [each.rate for each in found if (each.shape, each.placement) == (shape, placement) and each.full]


@functools.cache
def measured() -> Sequence[Borne]:
    """Make all runs, with their messages on stderr; once."""
    # Nimbus's client and numpy cost 0.5 s, which naming the figures does not need.
    from headworks.cli.output import Progress
    from headworks_lab.storm.heterogeneity.run import run

    return run(Progress())
