"""A first task of each component where fixed costs, memory and slots allow all of them: a search that goes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks.toolbox.best_response import ROUNDING, Rest, most_alone

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.toolbox.instance_counts import InstanceCounts

    Counts = NDArray[np.int64]

STEPS = 2_000
"""Tasks that may be placed and taken back; fewer of them give up where the last place is hard to find."""
FEW = 64
"""Machines among which equal ones are looked for; among more of them that takes longer than it saves."""


def first_tasks(instances: InstanceCounts) -> Counts | None:
    """One task of each component, which all fit together before the first tuple; None if none was found.

    Args:
        instances: The choice of instance counts.
    """
    for tight in (False, True):
        found = _first_tasks(instances, tight=tight)
        if found is not None:
            return found
    return None


def _first_tasks(instances: InstanceCounts, *, tight: bool) -> Counts | None:
    """The same, the machine that keeps most CPU first, or with `tight` the one that keeps least."""
    counts = instances.floor.copy()
    order = _hardest_first(instances)
    waiting: list[list[int]] = []
    placed: list[int] = []
    for _ in range(STEPS + 2 * len(order)):
        if len(placed) == len(order):
            return counts if (Rest.of(instances, counts, ()).left >= -ROUNDING).all() else None
        if len(waiting) == len(placed):
            waiting.append(_machines(instances, counts, order[len(placed)], tight=tight))
        if waiting[-1]:
            placed.append(waiting[-1].pop(0))
            counts[order[len(placed) - 1], placed[-1]] += 1
        elif placed:
            waiting.pop()
            counts[order[len(placed) - 1], placed[-1]] -= 1
            placed.pop()
        else:
            break
    return None


def _hardest_first(instances: InstanceCounts) -> list[int]:
    """Components without a task that stays: those that fewest machines take first, then those of largest MET."""
    missing = np.flatnonzero(~instances.floor.any(axis=1)).tolist()
    width = {part: len(_machines(instances, instances.floor, part, tight=False)) for part in missing}
    cost = np.where(instances.profiled.covers, instances.profiled.met, np.inf).min(axis=1, initial=np.inf).round(9)
    return sorted(missing, key=lambda part: (width[part], -cost[part], part))


def _machines(instances: InstanceCounts, counts: Counts, part: int, *, tight: bool) -> list[int]:
    """Machines that take a first task of a component, in order; of a few equal ones the first alone."""
    rest, model = Rest.of(instances, counts, (part,)), instances.profiled
    left = np.round(rest.left - model.met[part], 9)
    can = (left >= -ROUNDING) & (most_alone(instances, rest, part) > 0)
    if len(left) <= FEW:
        state = np.vstack([left, rest.left, model.e, model.met, model.covers, rest.room.T, rest.slots, rest.present])
        first = np.zeros_like(can)
        first[np.unique(state, axis=1, return_index=True)[1]] = True
        can &= first
    order = np.lexsort((np.arange(len(left)), left if tight else -left))
    found: list[int] = order[can[order]].tolist()
    return found
