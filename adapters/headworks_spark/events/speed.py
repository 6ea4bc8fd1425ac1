"""Speed of nodes, by how long tasks of one component took there for the CPU that they used.

CPU seconds of a task do not grow on a node that is throttled or that others work on; the seconds that it takes do.
A processor that is slower by itself takes more CPU seconds, and is not found by this.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from headworks_spark.events.event import TaskEnd

Floats = NDArray[np.float64]

BATCHES = 10
"""Batches that are judged together: if larger, a node that slows down is found later; if smaller, chance finds some."""
LEAST = 3
"""Batches of these in which a node has to have been compared with another one."""
SECONDS = 0.1
"""Seconds of a component's tasks on a node in a batch, at least: Spark tells times of tasks in whole milliseconds."""
NOISE = 0.1
"""Part by which a node may be slower than the fastest and count as fast."""
SLOWEST = 0.01
"""The least speed that a request can state."""
ROUNDS = 20
"""Rounds of weighting errors anew: with fewer, a batch that stands out counts for more."""
CLOSE = 0.01
"""Error from which on errors count by their size alone: if smaller, rounds settle more slowly."""


def node_speeds(batches: Sequence[Sequence[Sequence[TaskEnd]]], alive: Collection[str]) -> dict[str, float]:
    """CPU seconds that a core of each node gets done in a second, over those of the fastest; 0.01 to 1.

    Each is the median over the components of the last `BATCHES` batches. A node whose tasks were moved away keeps what
    earlier ones told of it. Nodes that ran nothing which others ran too are left out.

    Args:
        batches: Tasks of each component of each batch, oldest batch first.
        alive: Nodes that count.
    """
    found: dict[str, float] = {}
    for end in range(len(batches), 0, -BATCHES):
        window = [list(_compared(batch, alive)) for batch in batches[max(end - BATCHES, 0) : end]]
        # Mostly all nodes are in the last window, and those before it need not be looked at.
        if any(not row.keys() <= found.keys() for rows in window for row in rows):
            found = _joined(found, _logarithms(window))
    fastest = max(found.values(), default=0.0)
    return {node: _rounded(math.exp(speed - fastest)) for node, speed in sorted(found.items())}


def _joined(found: dict[str, float], earlier: dict[str, float]) -> dict[str, float]:
    """Both; nodes that are in both tell by how much one of them has to be shifted."""
    common = found.keys() & earlier.keys()
    if not common:
        return found or earlier
    shift = median(found[node] - earlier[node] for node in common)
    return {**{node: speed + shift for node, speed in earlier.items()}, **found}


def _rounded(speed: float) -> float:
    return 1.0 if speed >= 1 - NOISE else max(round(speed, 2), SLOWEST)


def _logarithms(window: Sequence[Sequence[Mapping[str, float]]]) -> dict[str, float]:
    """Logarithm of each node's speed, up to a constant, of nodes that were compared in `LEAST` batches."""
    group = _largest_group([row for rows in window for row in rows])
    nodes = sorted({node for row in group for node in row})
    if not group:
        return {}
    speed = _effects(np.array([[row.get(node, math.nan) for node in nodes] for row in group]))
    seen = Counter(node for rows in window for node in {node for row in rows for node in row})
    return {node: each for node, each in zip(nodes, speed.tolist(), strict=True) if seen[node] >= LEAST}


def _effects(rates: Floats) -> Floats:
    """Effects of columns in a table that is the sum of one number a row and one a column, but for outliers.

    A component, a row, may wait for other things than a core, but does so on every node. The sum of absolute errors is
    least, as by medians: iteratively reweighted least squares (Schlossmacher 1973).

    Args:
        rates: float64 (k, m), nan where there is none; rows tie all columns to each other.
    """
    there = ~np.isnan(rates)
    rates, weight = np.where(there, rates, 0.0), there.astype(np.float64)
    effects = np.zeros(rates.shape[1])
    for _ in range(ROUNDS):
        share = weight / weight.sum(axis=1, keepdims=True)
        centred = rates - (share * rates).sum(axis=1, keepdims=True)
        normal = np.diag(weight.sum(axis=0)) - weight.T @ share
        # A constant may be added to all effects: the ones make their sum 0.
        effects = np.linalg.solve(normal + 1.0, (weight * centred).sum(axis=0))
        errors = rates - effects
        errors -= (share * errors).sum(axis=1, keepdims=True)
        weight = there / np.maximum(np.abs(errors), CLOSE)
    return effects


def _largest_group(rows: Sequence[Mapping[str, float]]) -> list[Mapping[str, float]]:
    """The rows of most nodes that are tied to each other, row by row: two groups cannot be compared."""
    groups: list[set[str]] = []
    for row in rows:
        tied = [each for each in groups if not each.isdisjoint(row)]
        groups = [each for each in groups if each.isdisjoint(row)] + [set(row).union(*tied)]
    largest = max(groups, key=lambda each: (len(each), sorted(each)), default=set())
    return [row for row in rows if row.keys() <= largest]


def _compared(batch: Sequence[Sequence[TaskEnd]], alive: Collection[str]) -> Iterator[Mapping[str, float]]:
    """Logarithms of CPU seconds a second by node, of each component that two nodes ran."""
    for tasks in batch:
        cpu: dict[str, float] = defaultdict(float)
        wall: dict[str, float] = defaultdict(float)
        for end in tasks:
            cpu[end.host] += end.cpu
            wall[end.host] += end.run - end.waited
        counts = [node for node in cpu if node in alive and cpu[node] > 0 and wall[node] >= SECONDS]
        if len(counts) > 1:
            yield {node: math.log(cpu[node] / wall[node]) for node in counts}
