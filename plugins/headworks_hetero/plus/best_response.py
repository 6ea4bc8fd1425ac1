"""Exact best response of one or two components: the counts of highest rate while all other components stay.

At a rate and numbers of tasks N1, N2 a machine takes r1 tasks of the one and at most floor((left - r1 * s1) / s2) of
the other, where s = e * gain * rate / N + MET (Eq. 5). A dynamic program over the machines finds the most tasks of the
second component beside each number of the first, for all pairs (N1, N2) of a window at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.problem.arrays.profiles import OVER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.toolbox.instance_counts import InstanceCounts

Counts = NDArray[np.int64]
Percent = NDArray[np.float64]

GAIN = 1e-4
"""Relative growth of the rate that is looked for; a smaller one takes more looks for what nobody measures."""
ROUNDING = 1e-9
"""Percent of a machine that is rounding, so that the same placement fits at rates in another unit."""
TOO_MUCH = 1e9
"""Percent in place of the size of a task that is beyond its threads: more than any machine has."""
NEVER = -(10**9)
"""Tasks in place of a number where none can be; sums of it over all machines stay in 64 bits."""


@attrs.frozen(eq=False, kw_only=True)
class Rest:
    """Capacity that the other components leave to one or two, by machine.

    Attributes:
        left: float64 (m,), percent before the first tuple.
        slope: float64 (m,), percent for each factor of the stated rates.
        room: float64 (m, q), memory and the like.
        slots: int64 (m,), slots for topologies that are new on the machine.
        present: bool (t, m), topologies that have a worker there.
    """

    left: Percent
    slope: Percent
    room: Percent
    slots: Counts
    present: NDArray[np.bool_]

    @classmethod
    def of(cls, instances: InstanceCounts, counts: Counts, parts: Sequence[int]) -> Rest:
        """Take the components' own tasks away, but for those that may not move.

        Args:
            instances: The choice of instance counts.
            counts: Tasks by component and machine, int64 (K, m).
            parts: Indices of the components.
        """
        model, others = instances.profiled, np.ones(len(counts), dtype=bool)
        others[list(parts)] = False
        share = model.gain / np.maximum(counts.sum(axis=1), 1) * others
        came = (counts - instances.floor) * others[:, None]
        present, slots = instances.present, instances.slots
        if (slots < len(present)).any():
            present, slots = present.copy(), slots.copy()
            for topology in np.unique(instances.topology):
                new = came[instances.topology == topology].any(axis=0) & ~present[topology]
                slots -= new
                present[topology] |= new
        return cls(
            left=np.maximum(instances.free, 0.0) - (counts * model.met * others[:, None]).sum(axis=0),
            slope=(counts * model.e * share[:, None]).sum(axis=0),
            room=instances.room - came.T @ instances.need if instances.need.any() else instances.room,
            slots=slots,
            present=present,
        )


def most_alone(instances: InstanceCounts, rest: Rest, part: int) -> Counts:
    """Tasks that may come to each machine by profile, slot and memory, int64 (m,).

    Args:
        instances: The choice of instance counts.
        rest: What the other components leave.
        part: Index of the component.
    """
    may = instances.profiled.covers[part] & (rest.present[instances.topology[part]] | (rest.slots > 0))
    most: Counts = np.where(may, _by_memory(rest.room, instances.need[part]), 0)
    return most


def _by_memory(room: Percent, need: Percent) -> Counts:
    asks = need > 0
    if not asks.any():
        return np.full(room.shape[0], -NEVER)
    fits = np.floor(room[:, asks] / need[asks] * (1 + 1e-12)).min(axis=1)
    most: Counts = np.clip(fits, 0, -NEVER).astype(np.int64)
    return most


def best_of_one(instances: InstanceCounts, counts: Counts, part: int, numbers: Counts, rate: float) -> Counts | None:
    """Counts in which one component has one of some numbers of tasks and a rate is sustained, None if there are none.

    Args:
        instances: The choice of instance counts.
        counts: Tasks by component and machine, int64 (K, m).
        part: Index of the component.
        numbers: Numbers of its tasks that may be, ascending.
        rate: Factor of the stated rates.
    """
    if not _bear(instances, counts, (part,), rate):
        return None
    rest, floor = Rest.of(instances, counts, (part,)), instances.floor[part]
    left = rest.left - rate * rest.slope + ROUNDING
    size = _sizes(instances, part, numbers, rate)
    left = left - floor * size
    fits = (left >= 0).all(axis=1)
    if not fits.any():
        return None
    most = most_alone(instances, rest, part)
    takes = np.minimum(_times(left, size), most)
    fits &= takes.sum(axis=1) + floor.sum() >= numbers
    if not fits.any():
        return None
    row = int(fits.argmax())
    found = counts.copy()
    found[part] = floor + _fill(takes[row], int(numbers[row] - floor.sum()), size[row])
    return found


def _sizes(instances: InstanceCounts, part: int, numbers: Counts, rate: float) -> Percent:
    """Percent that one of N tasks needs on each machine, float64 (numbers, m) (Eq. 5); too much beyond its threads."""
    model = instances.profiled
    size: Percent = model.e[part] * (model.gain[part] * rate / numbers)[:, None] + model.met[part]
    return np.where(size <= model.limit[part] * (1 + OVER), size, TOO_MUCH) if model.threads_bind else size


def _bear(instances: InstanceCounts, counts: Counts, parts: Sequence[int], rate: float) -> bool:
    """Check that no task of the other components is beyond its threads at a rate."""
    others = counts.copy()
    others[list(parts)] = 0
    return instances.profiled.most_by_threads(others) >= rate


def _times(left: Percent, size: Percent) -> Counts:
    """Times that a size goes into the percent left, NEVER where that is below 0."""
    times = np.floor(np.divide(left, size, out=np.full(np.broadcast(left, size).shape, 1e9), where=size > 1e-7))
    return np.where(left >= 0, np.clip(times, 0, -NEVER), NEVER).astype(np.int64)


def _fill(takes: Counts, wanted: int, size: Percent) -> Counts:
    """Tasks on each machine, those of least size first."""
    order = np.lexsort((np.arange(len(size)), np.round(size, 6)))
    before = np.cumsum(takes[order]) - takes[order]
    placed = np.zeros_like(takes)
    placed[order] = np.clip(wanted - before, 0, takes[order])
    return placed


def best_of_two(
    instances: InstanceCounts,
    counts: Counts,
    pair: tuple[int, int],
    numbers: tuple[Counts, Counts],
    rate: float,
    most: int,
) -> Counts | None:
    """The same for two components together, `most` being what both may have.

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
    if (left < 0).any() or not _bear(instances, counts, pair, rate):
        return None
    floor_a, floor_b = instances.floor[a], instances.floor[b]
    size_a, size_b = (_sizes(instances, part, each, rate) for part, each in zip(pair, numbers, strict=True))
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
    found[b] = floor_b + _fill(beside, int(want_b[j]), size_b[j])
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
    by_cpu = _times(left, size_a[:, None]).max(axis=(0, 1))
    width = int(np.minimum(alone, by_cpu).max(initial=0)) + 1
    number = np.arange(width)
    after = left.transpose(2, 0, 1)[None] - number[:, None, None, None] * size_a.T[None, :, :, None]
    found = _times(after, size_b.T[None, :, None])
    bound = np.empty((width, len(rest.left)), dtype=np.int64)
    mine, other = instances.topology[a], instances.topology[b]
    may = instances.profiled.covers[b] & (rest.present[other] | (rest.slots > 0))
    both = may & ((mine == other) | rest.present[mine] | rest.present[other] | (rest.slots > 1))
    for r in number.tolist():
        fits = _by_memory(rest.room - r * instances.need[a], instances.need[b])
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
