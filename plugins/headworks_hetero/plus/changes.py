"""Changes of counts: a task or all of a component's on a node go to another node, come, or go; alone or two at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.toolbox.instance_counts import InstanceCounts

    Counts = NDArray[np.int64]
    Changes = NDArray[np.int64]


def single(instances: InstanceCounts, counts: Counts, dice: np.random.Generator, most: int, *, given: bool) -> Changes:
    """Single changes, int64 (E, 4): component, node that is left, node that is come to, tasks; node m is nowhere.

    Args:
        instances: The choice of instance counts.
        counts: Tasks by component and node, int64 (K, m).
        dice: Draws changes where there are more than `most`.
        most: Changes that are looked at.
        given: Whether each component keeps its number of tasks.
    """
    parts, m = counts.shape
    spots = m if given else m + 1
    shape = (parts, spots, spots)
    size = parts * spots**2
    cells = np.arange(size) if size <= most else dice.integers(0, size, most)
    part, here, there = np.unravel_index(cells, shape)
    loose = np.pad(counts - instances.floor, ((0, 0), (0, 1)), constant_values=1)
    takes = np.pad(instances.profiled.covers, ((0, 0), (0, 1)), constant_values=True)
    can = (here != there) & (loose[part, here] > 0) & takes[part, there]
    ones = np.stack([part, here, there, np.ones_like(part)], axis=1)[can]
    groups = ones[(ones[:, 1] < m) & (ones[:, 2] < m) & (loose[ones[:, 0], ones[:, 1]] > 1)]
    groups[:, 3] = loose[groups[:, 0], groups[:, 1]]
    return np.concatenate([ones, groups]).astype(np.int64)


def pairs(changes: Changes, dice: np.random.Generator, most: int) -> tuple[Changes, Changes]:
    """Two changes at once: all pairs, or so many that are drawn.

    Args:
        changes: Single ones.
        dice: Draws.
        most: Pairs that are looked at.
    """
    size = len(changes)
    if size * (size - 1) // 2 <= most:
        first, second = np.triu_indices(size, 1)
    else:
        first, second = dice.integers(0, size, (2, most))
    return changes[first], changes[second]


def applied(counts: Counts, *changes: Changes) -> Counts:
    """Counts after a change of each of some lists, int64 (B, K, m); what leaves a node twice may be below 0.

    Args:
        counts: Tasks by component and node.
        changes: Of the same length B.
    """
    every = np.arange(len(changes[0]))
    found = np.repeat(np.pad(counts, ((0, 0), (0, 1)))[None], len(every), axis=0)
    for change in changes:
        part, here, there, by = change.T
        found[every, part, here] -= by
        found[every, part, there] += by
    return found[:, :, :-1]
