"""Exact best response of two components: the counts of highest rate while all other components stay.

At a rate and numbers of tasks N1, N2 a machine takes r1 tasks of the one and at most floor((left - r1 * s1) / s2) of
the other, where s = e * gain * rate / N + MET (Eq. 5). A dynamic program over the machines finds the most tasks of the
second component beside each number of the first, for all pairs (N1, N2) of a window at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from headworks.toolbox.best_response import NEVER, ROUNDING, Rest, bear, by_memory, fill, most_alone, sizes, times

if TYPE_CHECKING:
    from headworks.toolbox.instance_counts import InstanceCounts

Counts = NDArray[np.int64]
Percent = NDArray[np.float64]

GAIN = 1e-4
"""Relative growth of the rate that is looked for; a smaller one takes more looks for what nobody measures."""


def best_of_two(
    instances: InstanceCounts,
    counts: Counts,
    pair: tuple[int, int],
    numbers: tuple[Counts, Counts],
    rate: float,
    most: int,
) -> Counts | None:
    """Counts in which two components have some numbers of tasks and a rate is sustained, None if there are none.

    Args:
        instances: The choice of instance counts.
        counts: Tasks by component and machine, int64 (K, m).
        pair: Indices of the components.
        numbers: Numbers of tasks that each may have, ascending.
        rate: Factor of the stated rates.
        most: Tasks that both may have.
    """
    rest, (a, b) = Rest.of(instances, counts, pair), pair
    left = rest.left - rate * rest.slope + ROUNDING
    if (left < 0).any() or not bear(instances, counts, pair, rate):
        return None
    floor_a, floor_b = instances.floor[a], instances.floor[b]
    size_a, size_b = (sizes(instances, part, each, rate) for part, each in zip(pair, numbers, strict=True))
    want_a, want_b = numbers[0] - floor_a.sum(), numbers[1] - floor_b.sum()
    left = left - (floor_a * size_a)[:, None] - (floor_b * size_b)[None]
    can = (left >= 0).all(axis=2) & (numbers[0][:, None] + numbers[1] <= most) & (want_a >= 0)[:, None] & (want_b >= 0)
    rows, columns = can.any(axis=1), can.any(axis=0)
    if not can.any():
        return None
    left, can = left[rows][:, columns], can[rows][:, columns]
    size_a, size_b, want_a, want_b = size_a[rows], size_b[columns], want_a[rows], want_b[columns]
    # tasks that cost nothing are cut to those that are wanted: any number of them must not outweigh NEVER in a sum
    here = np.minimum(_beside(instances, rest, pair, left, size_a, size_b, int(want_a.max())), want_b.max())
    table = _tables(here, int(want_a.max()))[-1]
    reached = np.take_along_axis(table, np.broadcast_to(want_a[:, None, None], (*can.shape, 1)), axis=2)[:, :, 0]
    can &= reached >= want_b
    if not can.any():
        return None
    total = np.where(can, want_a[:, None] + want_b, -NEVER)
    i, j = np.unravel_index(int(total.argmin()), total.shape)
    found = counts.copy()
    mine = here[:, :, i : i + 1, j : j + 1]
    placed = _trace(mine, int(want_a[i]))
    beside = mine[placed, np.arange(len(placed)), 0, 0]
    found[a] = floor_a + placed
    found[b] = floor_b + fill(beside, int(want_b[j]), size_b[j])
    return found


def _beside(
    instances: InstanceCounts,
    rest: Rest,
    pair: tuple[int, int],
    left: Percent,
    size_a: Percent,
    size_b: Percent,
    wanted: int,
) -> Counts:
    """Most tasks of the second component beside r of the first, int64 (r, m, A, B), NEVER where r do not fit."""
    a, b = pair
    alone = np.minimum(most_alone(instances, rest, a), wanted)
    by_cpu = times(left, size_a[:, None]).max(axis=(0, 1))
    width = int(np.minimum(alone, by_cpu).max(initial=0)) + 1
    number = np.arange(width)
    after = left.transpose(2, 0, 1)[None] - number[:, None, None, None] * size_a.T[None, :, :, None]
    found = times(after, size_b.T[None, :, None])
    bound = np.empty((width, len(rest.left)), dtype=np.int64)
    mine, other = instances.topology[a], instances.topology[b]
    may = instances.profiled.covers[b] & (rest.present[other] | (rest.slots > 0))
    both = may & ((mine == other) | rest.present[mine] | rest.present[other] | (rest.slots > 1))
    for r in number.tolist():
        fits = by_memory(rest.room - r * instances.need[a], instances.need[b])
        bound[r] = np.where(r > alone, NEVER, np.where(both if r else may, fits, 0))
    return np.minimum(found, bound[:, :, None, None])


def _tables(here: Counts, wanted: int) -> list[Counts]:
    """Most tasks of the second component beside k of the first on the first 0, 1, .. m machines, int64 (A, B, k)."""
    width, machines, rows, columns = here.shape
    best = np.full((rows, columns, wanted + 1), NEVER, dtype=np.int64)
    best[:, :, 0] = 0
    tables = [best]
    for machine in range(machines):
        more = best + here[0, machine][:, :, None]
        for r in range(1, min(width, wanted + 1)):
            np.maximum(more[:, :, r:], best[:, :, :-r] + here[r, machine][:, :, None], out=more[:, :, r:])
        best = np.maximum(more, NEVER)
        tables.append(best)
    return tables


def _trace(here: Counts, wanted: int) -> Counts:
    """Tasks of the first component on each machine, by which the best of `wanted` was reached."""
    width, machines = here.shape[:2]
    tables = _tables(here, wanted)
    placed = np.zeros(machines, dtype=np.int64)
    for machine in range(machines - 1, -1, -1):
        before = [tables[machine][0, 0, wanted - r] + here[r, machine, 0, 0] for r in range(min(width, wanted + 1))]
        placed[machine] = int(np.argmax(before))
        wanted -= int(placed[machine])
    return placed
