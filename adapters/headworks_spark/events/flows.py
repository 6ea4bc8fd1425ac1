"""Exchanges between stages in few words: single flows where they differ, one evenly spread stream where not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.model import Flow, StreamSample
from headworks_spark.events.shuffle import shuffle_traffic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headworks_spark.events.history import Job

EXACT = 4096
"""Shuffles with no more pairs of tasks are told pair by pair, whatever they are like."""
FLOWS = 10_000
"""Flows that one shuffle may have, its largest; what is left of it is spread evenly. If larger, a plan for a wide query
takes longer, 12 s of CPU for 250,000 flows; if smaller, less of an uneven shuffle is told."""
EVEN = 0.1
"""A shuffle is even whose blocks are this share of its bytes away from their mean, all together, and no further than
chance takes them: the traffic between nodes of any placement is then told to half of this share."""
CHANCE = 0.5
"""The most that is put down to chance: two groups of tasks that send nothing to each other are 1 away."""


@attrs.frozen(kw_only=True, eq=False)
class Exchange:
    """The exchange from one component to another in a second: float64 (maps, reduces), bytes and rows.

    `seconds` is the time in which it was measured.
    """

    topology: str
    source: str
    target: str
    bytes: NDArray[np.float64]
    rows: NDArray[np.float64]
    seconds: float


def exchanges(topology: str, stages: Mapping[str, int], jobs: Sequence[Job], period: float) -> Iterator[Exchange]:
    """The mean of the batches whose shuffles are known, as often as there were batches.

    Args:
        topology: Id of the topology.
        stages: Stage ordinal of each of its components.
        period: Seconds for which they stand.
    """
    component = {ordinal: name for name, ordinal in stages.items()}
    sums: dict[tuple[str, str], tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    known = [job for job in jobs if job.shuffles]
    for job in known:
        for each in shuffle_traffic(job):
            if each.source in component and each.target in component:
                pair = component[each.source], component[each.target]
                size, rows = sums.get(pair, (0.0, 0.0))
                sums[pair] = size + each.bytes, rows + each.rows
    for (source, target), (size, rows) in sorted(sums.items()):
        # Batches whose shuffles are not known are taken to be like the others: sums are scaled up to all jobs.
        factor = len(jobs) / len(known) / period
        yield Exchange(
            topology=topology, source=source, target=target, bytes=size * factor, rows=rows * factor, seconds=period
        )


def flows(found: Exchange) -> Iterator[Flow]:
    """The flows of an exchange above what is spread evenly; see `stream`."""
    single = _single(found)
    size, rows = (each - _level(each, single) for each in (found.bytes, found.rows))
    sources, targets = (
        [f"{found.topology}/{name}/{index}" for index in range(width)]
        for name, width in zip((found.source, found.target), found.bytes.shape, strict=True)
    )
    for i, j in zip(*single.nonzero(), strict=True):
        yield Flow(
            source=sources[i], target=targets[j], tuples=max(float(rows[i, j]), 0.0), bytes=max(float(size[i, j]), 0.0)
        )


def stream(found: Exchange) -> StreamSample | None:
    """The part of an exchange that is spread evenly, None where its flows say all of it.

    Small shuffles, and those with few pairs that exchange anything, are told by their flows. An even one has no flows;
    of any other the largest are flows, and the others, which are alike, the stream.
    """
    single = _single(found)
    size, rows = (_level(each, single) * each.size for each in (found.bytes, found.rows))
    if not size:
        return None
    return StreamSample(topology=found.topology, source=found.source, target=found.target, tuples=rows, bytes=size)


def _single(found: Exchange) -> NDArray[np.bool_]:
    """The pairs that have a flow of their own, bool (maps, reduces)."""
    size = found.bytes
    some = size > 0
    if size.size <= EXACT or (np.count_nonzero(some) <= FLOWS and not _is_even(found)):
        return some
    if _is_even(found):
        return np.zeros_like(some)
    least = np.partition(size, size.size - FLOWS, axis=None)[size.size - FLOWS]
    return size > max(float(least), float(size.mean()))


def _level(amounts: NDArray[np.float64], single: NDArray[np.bool_]) -> float:
    """Mean amount of the pairs that have no flow of their own: what a pair has by the stream."""
    left = amounts.size - int(np.count_nonzero(single))
    return float(amounts.sum(where=~single)) / left if left else 0.0


def _is_even(found: Exchange) -> bool:
    """Check whether blocks differ from their mean no more than rows that a hash deals at random would."""
    mean, rows = float(found.bytes.mean()), float(found.rows.mean()) * found.seconds
    if not mean:
        return False
    apart = float(np.abs(found.bytes - mean).mean()) / mean
    # The mean absolute deviation of a Poisson variable of mean m is about sqrt(2 m / pi): sqrt(2 / (pi m)) of the mean.
    chance = math.sqrt(2 / (math.pi * rows)) if rows else 0.0
    return apart <= min(EVEN + chance, CHANCE)
