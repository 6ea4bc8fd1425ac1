"""Local search over instance counts: best responses of two components in turn, from counts that are shaken."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.toolbox.best_response import Rest, best_of_one, most_alone
from headworks.toolbox.cancel import on_cancel
from headworks.toolbox.instance_counts import InstanceCounts
from headworks_hetero.plus.best_response import GAIN, best_of_two
from headworks_hetero.plus.exchange import exchange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

REACH, FAR = 4, 16
"""Tasks that a component may gain or lose in one response, at first and for the best counts: more of them leave more
local optima, at a cost that grows with the square."""
FAR_AT = 40
"""Shakes after which the best counts are tried within FAR: the local optima near by are cheaper to leave."""
SHAKES = 400
"""Times that the best counts are shaken; more of them leave more local optima, as far as the budget goes."""
ANEW = 0.3
"""Part of the shakes that begin again with one task of each component: it finds other machines for components of few
tasks, and leaves fewer shakes that change a part of what is good."""
OVERHEAD = 40_000
"""Cost of a response beside the cells of its table, in cells; a larger one ends the search earlier."""
SMALL = 20
"""Pairs of components are tried where so many responses can be paid for, one component at a time elsewhere."""
STEP = 0.01
"""First growth of the rate that is tried after a success; it doubles, and after a failure it is a quarter."""


def search(instances: InstanceCounts, starts: Sequence[Counts], seed: int, budget: int, most: int) -> Counts:
    """Counts of the highest rate that was found from some starts, never a lower one than theirs.

    Args:
        instances: The choice of instance counts.
        starts: Tasks by component and machine, int64 (K, m): each keeps every limit but that of the CPU.
        seed: Seed of the shaking.
        budget: Cells of the tables of all responses together.
        most: Tasks that all components may have.
    """
    course = LocalSearch(instances=instances, most=most, left=budget)
    on_cancel(course.stop)
    dice = np.random.default_rng(abs(seed))
    best = max((course.descend(each, REACH) for each in starts), key=course.rate)
    groups = course.groups(best, REACH)
    if len(groups[0]) == 1 < len(best):
        return exchange(instances, best, most)
    if len(groups) == 1:
        return course.descend(best, FAR)  # the one group has its best response, nothing is left to shake
    for number in range(SHAKES):
        if number == FAR_AT:
            best = course.descend(best, FAR)
        if course.over or math.isinf(course.rate(best)):
            break
        tried = course.descend(course.shake(best, dice), REACH)
        if course.rate(tried) > course.rate(best) * (1 + GAIN):
            best = tried
    return best


@attrs.define(kw_only=True)
class Course:
    """What a search may still cost.

    Attributes:
        most: Tasks that all components may have.
        left: Cells of tables.
        stopped: Whether it is to end with what it has.
    """

    most: int
    left: int
    stopped: bool = False

    def stop(self) -> None:
        """End the search, from another thread."""
        self.stopped = True

    @property
    def over(self) -> bool:
        """True if the budget is spent, or somebody ended the search."""
        return self.stopped or self.left <= 0


@attrs.define(kw_only=True)
class LocalSearch(Course):
    """Best responses.

    Attributes:
        instances: The choice of instance counts.
    """

    instances: InstanceCounts

    def rate(self, counts: Counts) -> float:
        """The highest factor of the stated rates that counts sustain."""
        return self.instances.profiled.max_factor(counts, np.maximum(self.instances.free, 0.0))

    def descend(self, counts: Counts, reach: int) -> Counts:
        """Take the best response of one pair after another, until none has one.

        Args:
            counts: Tasks by component and machine, int64 (K, m).
            reach: Tasks that a component may gain or lose in one response.
        """
        groups, idle = self.groups(counts, reach), 0
        while groups and idle < len(groups) and not self.over:
            group = groups.pop(0)
            groups.append(group)
            better = self._respond(counts, group, reach)
            idle = idle + 1 if better is None else 0
            counts = counts if better is None else better
        return counts

    def groups(self, counts: Counts, reach: int) -> list[tuple[int, ...]]:
        """Components that respond together: all pairs, or one alone where pairs cost too much.

        Args:
            counts: Tasks by component and machine, int64 (K, m).
            reach: Tasks that a component may gain or lose in one response.
        """
        costs = {pair: self._cost(counts, pair, reach) for pair in combinations(range(len(counts)), 2)}
        if costs and max(costs.values()) * SMALL <= self.left:
            return list(costs)
        return [(part,) for part in range(len(counts))]

    def shake(self, counts: Counts, dice: np.random.Generator) -> Counts:
        """Draw the tasks of up to three components anew, or one task of each, where memory, slots and MET allow.

        Args:
            counts: Tasks by component and machine, int64 (K, m).
            dice: Source of randomness.
        """
        anew = dice.random() < ANEW
        size = len(counts) if anew else min(int(dice.integers(1, 4)), len(counts))
        drawn = dice.choice(len(counts), size=size, replace=False).tolist()
        shaken, floor = counts.copy(), self.instances.floor
        shaken[drawn] = floor[drawn]
        for part in drawn:
            most = self._most(shaken, part)
            row = _one_task(most, dice) if anew else _tasks(counts[part] - floor[part], most, dice)
            shaken[part] = floor[part] + row
            total, instances = int(shaken[part].sum()), self.instances
            if not instances.least[part] <= total <= instances.most[part]:
                return counts
            if shaken.sum() > max(self.most, int(counts.sum())):
                return counts
        return shaken

    def _most(self, counts: Counts, part: int) -> Counts:
        """Tasks that may come to each machine before the first tuple, beside those that stay, int64 (m,)."""
        instances = self.instances
        rest, met = Rest.of(instances, counts, (part,)), instances.profiled.met[part]
        left = rest.left - instances.floor[part] * met
        by_cpu = np.floor(np.divide(left, met, out=np.full_like(met, 1e6), where=met > 0))
        most: Counts = np.clip(np.minimum(most_alone(instances, rest, part), by_cpu), 0, 1e6).astype(np.int64)
        return most

    def _respond(self, counts: Counts, group: tuple[int, ...], reach: int) -> Counts | None:
        """The best counts that a group reaches at higher and higher rates, None if not even the first is sustained."""
        best, rate, step = None, self.rate(counts), GAIN
        while not self.over and math.isfinite(rate):
            found = self._at(counts, group, reach, rate * (1 + step) if rate > 0 else self._least())
            if found is not None and self.rate(found) > rate * (1 + GAIN / 2):
                counts = best = found
                rate, step = self.rate(found), min(2 * step, 1.0) if step > GAIN else STEP
            elif step > GAIN:
                step = max(step / 4, GAIN)
            else:
                break
        return best

    def _at(self, counts: Counts, group: tuple[int, ...], reach: int, rate: float) -> Counts | None:
        self.left -= self._cost(counts, group, reach)
        if len(group) == 1:
            (part,) = group
            return best_of_one(self.instances, counts, part, self._numbers(counts, group, part, reach), rate)
        # The table is as wide as the first component has tasks.
        a, b = sorted(group, key=lambda part: int(counts[part].sum()))
        numbers = (self._numbers(counts, group, a, reach), self._numbers(counts, group, b, reach))
        both = max(self.most - int(counts.sum()), 0) + int(counts[list(group)].sum())
        return best_of_two(self.instances, counts, (a, b), numbers, rate, both)

    def _numbers(self, counts: Counts, group: Iterable[int], part: int, reach: int) -> Counts:
        """Numbers of tasks that a component may have: near those that it has, within all that may be made."""
        now, least, most = int(counts[part].sum()), int(self.instances.least[part]), int(self.instances.most[part])
        others = sum(int(counts[each].sum()) - 1 for each in group if each != part)
        high = min(now + reach, max(now, now + others + self.most - int(counts.sum())))
        high = max(min(high, most), least)
        return np.arange(min(max(least, now - reach), high), high + 1)

    def _cost(self, counts: Counts, group: tuple[int, ...], reach: int) -> int:
        window, machines = 2 * reach + 1, counts.shape[1]
        if len(group) == 1:
            return OVERHEAD // 4 + int(machines) * window
        tasks, width = min((int(counts[part].sum()), int(counts[part].max())) for part in group)
        return OVERHEAD + int(machines) * (width + 2) * (window**2 * (tasks + reach) + 1_000)

    def _least(self) -> float:
        """A factor of the stated rates that hardly costs anything, in place of none."""
        model = self.instances.profiled
        work = float(np.where(model.covers, model.e * model.gain[:, None], np.inf).min(axis=1).sum())
        return 1e-6 * float(np.maximum(self.instances.free, 0.0).sum()) / work if work > 0 else 1.0


def _one_task(most: Counts, dice: np.random.Generator) -> Counts:
    """One task, on any machine that takes it; none if none does."""
    row = np.zeros_like(most)
    if (most > 0).any():
        row[int(dice.choice(np.flatnonzero(most > 0)))] = 1
    return row


def _tasks(now: Counts, most: Counts, dice: np.random.Generator) -> Counts:
    """Numbers of tasks that are new on each machine, or near those that it has."""
    new = dice.random() < 0.5
    drawn = dice.integers(0, dice.integers(2, 6), len(most)) if new else now + dice.integers(-1, 2, len(most))
    return np.clip(drawn, 0, most)
