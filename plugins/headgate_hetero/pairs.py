"""Two components exchange tasks at once: each pair of small steps is tried; what is found is shaken and tried again."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headgate.toolbox.instance_counts import InstanceCounts

if TYPE_CHECKING:
    from collections.abc import Iterator

Counts = NDArray[np.int64]

SHAKES = 40
"""Times that the best counts are shaken; more of them leave more local optima, as far as the budget goes."""
OVERHEAD = 1_200
"""Cost of a pair of components beside its placements, in placements; a larger one ends the search earlier."""
TINY = 1e-300
"""Percent, in place of none, so that a machine without load has no rate to be divided by."""


def shaken(instances: InstanceCounts, counts: Counts, seed: int, budget: int, most: int) -> Counts:
    """Counts of a rate at least as high, after `budget` placements at most.

    As they are where memory or slots may bind, or where the machines are so many that few pairs could be tried.

    Args:
        instances: The question.
        counts: Tasks by component and machine, shape (K, m).
        seed: Of the shaking.
        budget: Placements to try.
        most: Tasks that all components may have.
    """
    may_bind = instances.need.any() or (instances.slots < len(instances.present)).any()
    if may_bind or 5 * (2 * counts.shape[1] + 1) ** 4 > budget:
        return counts
    search = Pairs.of(instances, budget)
    dice = np.random.default_rng(abs(seed))
    best, rate = search.descend(counts)
    for _ in range(SHAKES):
        if search.left <= 0:
            break
        tried, reached = search.descend(search.shake(best, dice))
        if reached > rate * (1 + 1e-9) and tried.sum() <= most:
            best, rate = tried, reached
    return best


@attrs.define(kw_only=True)
class Pairs:
    """The exchanges, and how many placements may still be tried.

    Attributes:
        instances: The question.
        free: float64 (m,), percent of each machine.
        steps: int64 (s, m), what a component may gain and lose on each machine: two tasks come, go, or move.
        takes: bool (K, m), machines that may have tasks of each component.
        left: Placements.
    """

    instances: InstanceCounts
    free: NDArray[np.float64]
    steps: Counts
    takes: NDArray[np.bool_]
    left: int

    @classmethod
    def of(cls, instances: InstanceCounts, budget: int) -> Pairs:
        """Begin with all of the budget.

        Args:
            instances: Components, machines, profiles, and room for tasks.
            budget: Placements to try.
        """
        free = np.maximum(instances.free, 0.0)
        one = np.vstack([np.zeros_like(instances.floor[:1]), (eye := np.eye(len(free), dtype=np.int64)), -eye])
        return cls(
            instances=instances,
            free=free,
            steps=np.unique((one[:, None] + one).reshape(-1, len(free)), axis=0),
            takes=instances.profiled.covers & (instances.profiled.met <= free),
            left=budget,
        )

    def descend(self, counts: Counts) -> tuple[Counts, float]:
        """Take the best pair of steps of two components, as long as the highest rate grows; with that rate."""
        rate, grows = self.instances.profiled.max_factor(counts, self.free), True
        while grows and self.left > 0:
            grows = False
            for pair in self._pairs(len(counts)):
                better, reached = self.best(counts, pair)
                if reached > rate * (1 + 1e-9):
                    counts, rate, grows = better, reached, True
        return counts, rate

    def shake(self, counts: Counts, dice: np.random.Generator) -> Counts:
        """Draw the tasks of two components anew, or some steps from where they are.

        Args:
            counts: Tasks by component and machine, int64 (K, m).
            dice: Source of randomness.
        """
        shaken = counts.copy()
        for part in dice.choice(len(counts), size=min(2, len(counts)), replace=False).tolist():
            width = counts.shape[1]
            drawn = dice.integers(0, 5, width) if dice.random() < 0.5 else counts[part] + dice.integers(-2, 3, width)
            drawn = np.maximum(np.where(self.takes[part], drawn, 0), self.instances.floor[part])
            if drawn.any():
                shaken[part] = drawn
        return shaken

    def _pairs(self, parts: int) -> Iterator[tuple[int, ...]]:
        return combinations(range(parts), 2) if parts > 1 else iter([(0,)])

    def best(self, counts: Counts, pair: tuple[int, ...]) -> tuple[Counts, float]:
        """The counts after the best steps of one or two components, and their highest rate.

        Args:
            counts: Tasks by component and machine, int64 (K, m).
            pair: Indices of the components, one or two.
        """
        model, rest = self.instances.profiled, np.delete(np.arange(len(counts)), pair)
        # highest rate r with e * share * r + MET <= 100 % on every machine: r = min over machines of left / slope
        share = model.gain[rest] / counts[rest].sum(axis=1)
        slope = (model.e[rest] * share[:, None] * counts[rest]).sum(axis=0)
        left = self.free - (model.met[rest] * counts[rest]).sum(axis=0)
        rows = [self._rows(counts, part) for part in pair]
        for row, part in zip(rows, pair, strict=True):
            needs = model.e[part] * model.gain[part] * row / row.sum(axis=1)[:, None]
            slope, left = slope[..., None, :] + needs, left[..., None, :] - model.met[part] * row
        self.left -= left.size // left.shape[-1] + OVERHEAD
        with np.errstate(over="ignore"):
            rates = np.where((left < 0).any(axis=-1), 0.0, (left / np.maximum(slope, TINY)).min(axis=-1))
        chosen = np.unravel_index(int(rates.argmax()), rates.shape)
        better = counts.copy()
        for row, part, number in zip(rows, pair, chosen, strict=True):
            better[part] = row[number]
        return better, self.instances.profiled.max_factor(better, self.free)

    def _rows(self, counts: Counts, part: int) -> Counts:
        """The counts of a component after each step that it may take; it may take none."""
        rows = counts[part] + self.steps
        can = (rows >= self.instances.floor[part]).all(axis=1) & rows.any(axis=1)
        can &= ((rows <= counts[part]) | self.takes[part]).all(axis=1)
        found: Counts = rows[can]
        return found
