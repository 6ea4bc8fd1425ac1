"""Best response of one component: its counts while all others stay, and the fewest tasks that such responses find.

At a rate a task of N takes s = e * gain * rate / N + MET percent of a machine (Eq. 5 of the heterogeneity paper), of
which floor(left / s) fit beside what the other components need; beyond its threads none does.
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
    most: Counts = np.where(may, by_memory(rest.room, instances.need[part]), 0)
    return most


def by_memory(room: Percent, need: Percent) -> Counts:
    """Tasks for which each machine has memory and the like, int64 (m,).

    Args:
        room: What each machine has left of q resources, shape (m, q).
        need: What a task needs of them, shape (q,).
    """
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
    if not bear(instances, counts, (part,), rate):
        return None
    rest, floor = Rest.of(instances, counts, (part,)), instances.floor[part]
    left = rest.left - rate * rest.slope + ROUNDING
    size = sizes(instances, part, numbers, rate)
    left = left - floor * size
    fits = (left >= 0).all(axis=1)
    if not fits.any():
        return None
    most = most_alone(instances, rest, part)
    takes = np.minimum(times(left, size), most)
    fits &= takes.sum(axis=1) + floor.sum() >= numbers
    if not fits.any():
        return None
    row = int(fits.argmax())
    found = counts.copy()
    found[part] = floor + fill(takes[row], int(numbers[row] - floor.sum()), size[row])
    return found


def fewest_tasks(instances: InstanceCounts, counts: Counts, rate: float) -> Counts:
    """Counts with fewer tasks that sustain a rate, as far as components that respond one after another find them.

    Args:
        instances: The choice of instance counts.
        counts: Tasks by component and machine, int64 (K, m); they sustain the rate.
        rate: Factor of the stated rates.
    """
    waiting = np.argsort(-counts.sum(axis=1), kind="stable").tolist()
    while waiting:
        part = waiting.pop(0)
        least = max(int(instances.least[part]), int(instances.floor[part].sum()), 1)
        numbers = np.arange(least, int(counts[part].sum()))
        found = best_of_one(instances, counts, part, numbers, rate) if len(numbers) else None
        if found is not None and instances.profiled.max_factor(found, np.maximum(instances.free, 0.0)) >= rate:
            counts = found
            waiting = [each for each in range(len(counts)) if each != part]  # what it left may help the others
    return counts


def sizes(instances: InstanceCounts, part: int, numbers: Counts, rate: float) -> Percent:
    """Percent that one of N tasks needs on each machine, float64 (numbers, m) (Eq. 5); too much beyond its threads.

    Args:
        instances: The choice of instance counts.
        part: Index of the component.
        numbers: Numbers of its tasks.
        rate: Factor of the stated rates.
    """
    model = instances.profiled
    size: Percent = model.e[part] * (model.gain[part] * rate / numbers)[:, None] + model.met[part]
    return np.where(size <= model.limit[part] * (1 + OVER), size, TOO_MUCH) if model.threads_bind else size


def bear(instances: InstanceCounts, counts: Counts, parts: Sequence[int], rate: float) -> bool:
    """Check that no task of the other components is beyond its threads at a rate.

    Args:
        instances: The choice of instance counts.
        counts: Tasks by component and machine, int64 (K, m).
        parts: Indices of the components.
        rate: Factor of the stated rates.
    """
    others = counts.copy()
    others[list(parts)] = 0
    return instances.profiled.most_by_threads(others) >= rate


def times(left: Percent, size: Percent) -> Counts:
    """Times that a size goes into the percent left, NEVER where that is below 0.

    Args:
        left: Percent, of any shape.
        size: Percent, of one that broadcasts with it.
    """
    times = np.floor(np.divide(left, size, out=np.full(np.broadcast(left, size).shape, 1e9), where=size > 1e-7))
    return np.where(left >= 0, np.clip(times, 0, -NEVER), NEVER).astype(np.int64)


def fill(takes: Counts, wanted: int, size: Percent) -> Counts:
    """Tasks on each machine, those of least size first.

    Args:
        takes: Tasks that fit on each machine, int64 (m,).
        wanted: Number of tasks.
        size: Percent that one needs on each machine, float64 (m,).
    """
    order = np.lexsort((np.arange(len(size)), np.round(size, 6)))
    before = np.cumsum(takes[order]) - takes[order]
    placed = np.zeros_like(takes)
    placed[order] = np.clip(wanted - before, 0, takes[order])
    return placed
