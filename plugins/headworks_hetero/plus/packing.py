"""Tasks of a chosen size for each component, packed largest first; sizes are drawn until the rate no longer grows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from headworks.problem.arrays.profiles import FULL, OVER
from headworks.toolbox.best_response import TOO_MUCH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.toolbox.instance_counts import InstanceCounts

SIZES = (2.0, 3.0, 4.0, 6.0, 8.0, 11.0, 15.0, 20.0, 28.0, 40.0, 60.0, 90.0)
"""Percent of the fastest machine that a task works, fixed cost apart, to begin with."""
STEPS = 12
"""Bisections of the rate; more of them come closer to the highest one of a choice of sizes, and take longer."""


def pack(instances: InstanceCounts, factor: float, sizes: NDArray[np.float64], most: int) -> NDArray[np.int64] | None:
    """Place every component in tasks of about its size, on the machines where they need least; None if one is left.

    Args:
        instances: The question.
        factor: What the stated rates are multiplied by.
        sizes: Percent of the fastest machine, shape (K,).
        most: Tasks that all components may have.
    """
    model = instances.profiled
    # percent that all of a component needs on each machine at that rate, MET apart (Eq. 5)
    work = factor * model.e * model.gain[:, None]
    least = np.clip(model.limit - model.met, 1e-9, sizes[:, None])
    wanted = np.where(model.covers, np.ceil(work / least), np.inf)
    wanted = np.clip(wanted.min(axis=1), instances.least, instances.most)
    if not wanted.sum() <= most:
        return None
    size = work / wanted[:, None] + model.met
    size = np.where(size <= model.limit * (1 + OVER), size, TOO_MUCH)
    counts, room, slots = instances.floor.copy(), instances.room.copy(), instances.slots.copy()
    present = instances.present.copy()
    left = np.maximum(instances.free, 0.0) * (1 + 1e-12) - (counts * size).sum(axis=0)
    for row in np.argsort(-size.min(axis=1), kind="stable").tolist():
        count, need, topology = int(wanted[row] - counts[row].sum()), instances.need[row], instances.topology[row]
        fits = np.floor(np.divide(left, size[row], out=np.full_like(left, count), where=size[row] > 0))
        for column in np.flatnonzero(need > 0).tolist():
            fits = np.minimum(fits, np.floor(room[:, column] / need[column]))
        fits = np.where(model.covers[row] & (present[topology] | (slots > 0)), np.clip(fits, 0, count), 0)
        order = np.argsort(size[row], kind="stable")
        before = np.cumsum(fits[order]) - fits[order]
        placed = np.zeros(len(left), dtype=np.int64)
        placed[order] = np.clip(count - before, 0, fits[order]).astype(np.int64)
        if placed.sum() < count:
            return None
        counts[row] += placed
        left -= placed * size[row]
        room -= placed[:, None] * need
        slots -= (placed > 0) & ~present[topology]
        present[topology] |= placed > 0
    return counts


def packed(instances: InstanceCounts, low: float, seed: int, trials: int, most: int) -> NDArray[np.int64] | None:
    """The counts of the highest rate above `low` (a factor of the stated rates) that were found, None if none were.

    Args:
        instances: Components, machines, profiles, and room for tasks.
        low: Factor of the stated rates to be passed.
        seed: Seed of the sizes that are drawn.
        trials: Number of sizes drawn.
        most: Tasks that all components may have.
    """
    dice = np.random.default_rng(abs(seed))
    known, low = low, low / 2  # from below, so that the draw begins with sizes that pack well
    best, sizes, parts = None, np.full(len(instances.parts), FULL), len(instances.parts)
    for number in range(len(SIZES) + trials):
        if number < len(SIZES):
            tried = np.full(parts, SIZES[number])
        else:
            tried = np.clip(sizes * np.exp(dice.normal(0.0, 0.4, parts) * (dice.random(parts) < 0.6)), 0.5, FULL)
        counts = pack(instances, low * 1.0005, tried, most)
        if counts is None:
            continue
        sizes, step = tried, 1.0
        for _ in range(STEPS):
            reached = instances.profiled.max_factor(counts, np.maximum(instances.free, 0.0))
            best, low = (counts, reached) if reached > low else (best, low)
            if math.isinf(low):
                return best
            if not reached > 0:  # the tasks fill a machine at rest: there is no rate to raise
                break
            more = pack(instances, low * (1 + step), tried, most)
            step, counts = (step, more) if more is not None else (step / 2, counts)
    return best if low > known else None
