"""Numbers of tasks and their nodes with the network in the model: steps of one or two changes, and shakes.

More tasks use the CPU of more nodes, and send more between them. Where numbers are chosen first, by CPU alone, no
placement of so many tasks may save what fewer of them would.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import Status
from headworks.problem.arrays.profiles import OVER
from headworks.toolbox.cancel import on_cancel
from headworks_hetero.plus.best_response import GAIN
from headworks_hetero.plus.changes import applied, pairs, single
from headworks_hetero.plus.network import Network
from headworks_hetero.plus.search import REACH, Course, LocalSearch
from headworks_hetero.plus.start import first_tasks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from headworks.model import Plan
    from headworks.toolbox.instance_counts import InstanceCounts
    from headworks_hetero.options import PlusOptions

    Counts = NDArray[np.int64]
    Floats = NDArray[np.float64]

SHAKES, KICKS = 60, 6
"""Times that the best counts are shaken, and changes of each: more of them leave more local optima, as far as the
budget goes; with many changes, a shake is the start of another search."""
CELLS = 200_000
"""Cells of all counts that are compared together; where there are more, changes are drawn."""
COST = 12
"""Cells of the budget for a cell here, by the time that they take."""
SHARP = 12.0
"""Exponent of the norm of uses. With a smaller one, resources that are not full count too much. With a larger one,
one of two that are full counts alone, and no single change relieves both."""
EACH, PART = 8, 20
"""Nodes up to which each number of them is a start, of more nodes powers of two; part of the budget for each."""
PLACING = 4
"""Part of the budget in which the numbers of tasks by CPU alone are placed."""


@attrs.define(kw_only=True, eq=False)
class JointSearch(Course):
    """A search of numbers and nodes.

    Attributes:
        network: The model.
        dice: Source of randomness.
        given: Whether each component keeps its number of tasks.
    """

    network: Network
    dice: np.random.Generator
    given: bool = False

    def best(self, starts: Iterable[Counts]) -> Counts:
        """The counts of the highest rate that were found from some starts, never a lower one than theirs."""
        on_cancel(self.stop)
        best = max((self.climb(each) for each in starts), key=self.rate)
        for _ in range(SHAKES):
            if self.over or math.isinf(self.rate(best)):
                break
            best = max(best, self.climb(self._shaken(best)), key=self.rate)
        return best

    def rate(self, counts: Counts) -> float:
        """The highest factor of the stated rates that counts sustain."""
        return float(self.network.rate(counts[None])[0])

    def climb(self, counts: Counts) -> Counts:
        """Take the change, or else the two together, after which resources are least full, until none is left."""
        best, now = counts, float(self._fullness(counts[None])[0])
        while not self.over:
            least, counts = min(self._steps(counts, now), key=lambda each: each[0], default=(now, counts))
            if not least < now * (1 - GAIN):
                break
            best, now = max(best, counts, key=self.rate), least
        return best

    def fewest(self, counts: Counts, rate: float) -> Counts:
        """Counts without tasks that a rate does not need, as far as leaving out one after another finds them.

        Args:
            counts: They sustain the rate.
            rate: Factor of the stated rates.
        """
        while not self.stopped:
            changes = self._single(counts)
            tried = self._fitting(applied(counts, changes[changes[:, 2] == counts.shape[1]]))
            rates = self.network.rate(tried)
            if rates.max(initial=0.0) < rate:
                break
            counts = tried[int(rates.argmax())]
        return counts

    def _steps(self, counts: Counts, now: float) -> Iterator[tuple[float, Counts]]:
        """The best single change, and the best two together where none is better than now."""
        changes = self._single(counts)
        for tried in ((changes,), pairs(changes, self.dice, CELLS // counts.size)):
            found = self._fitting(applied(counts, *tried))
            if not len(found):
                continue
            fullness = self._fullness(found)
            at = int(fullness.argmin())
            yield float(fullness[at]), found[at]
            if fullness[at] < now * (1 - GAIN):
                break

    def _single(self, counts: Counts) -> Counts:
        most = max(CELLS // counts.size, 1)
        return single(self.network.instances, counts, self.dice, most, given=self.given)

    def _fitting(self, tried: Counts) -> Counts:
        return tried[self.network.fits(tried, self.most)]

    def _fullness(self, counts: Counts) -> Floats:
        """Norm of the uses of all resources, which is that of the fullest one or little more, float64 (B,)."""
        self.left -= COST * counts.size
        use = self.network.use(counts)
        most = use.max(axis=1, initial=0.0)
        share = np.divide(
            use, most[:, None], out=np.ones_like(use), where=np.isfinite(most[:, None]) & (most[:, None] > 0)
        )
        found: Floats = most * (share**SHARP).sum(axis=1) ** (1 / SHARP)
        return found

    def _shaken(self, counts: Counts) -> Counts:
        """Counts after some changes at random."""
        for _ in range(int(self.dice.integers(2, KICKS + 1))):
            changes = self._single(counts)
            tried = self._fitting(applied(counts, self.dice.permutation(changes)[:KICKS]))
            counts = tried[0] if len(tried) else counts
        return counts


def on_the_fastest(instances: InstanceCounts, budget: int, most: int) -> Iterator[Counts]:
    """Counts by CPU alone on one node, two nodes and so on, the fastest first: the fewer, the less goes between them.

    Args:
        instances: The choice of instance counts.
        budget: Cells of tables of all searches together.
        most: Tasks that all components may have.
    """
    model, m = instances.profiled, len(instances.free)
    work = np.where(model.covers, model.e * model.gain[:, None], np.inf).sum(axis=0)
    order = np.argsort(-np.maximum(instances.free, 0.0) / np.maximum(work, np.finfo(float).tiny), kind="stable")
    for number in range(1, m) if m <= EACH else (2**power for power in range((m - 1).bit_length())):
        open_ = np.isin(np.arange(m), order[:number]) | instances.floor.any(axis=0)
        closed = attrs.evolve(instances, profiled=attrs.evolve(model, covers=model.covers & open_))
        first = first_tasks(closed)
        if first is not None:
            yield LocalSearch(instances=closed, most=most, left=budget // PART).descend(first, REACH)


def with_network(network: Network, counts: Counts, known: Plan, options: PlusOptions) -> Plan:
    """The plan that gets most work done with the network in the model, at the rate that the core's model has for it.

    Args:
        network: The model.
        counts: Numbers of tasks by CPU alone. They are placed anew first, and no plan gets less done than those.
        known: The plan of these counts as they are.
        options: Budgets.
    """
    instances, dice = network.instances, np.random.default_rng(abs(network.instances.request.seed))
    most = max(options.max_tasks, int(counts.sum()))
    placing = JointSearch(network=network, most=most, left=options.budget // PLACING, dice=dice, given=True)
    found = placed = placing.best([counts])
    if options.counts == "chosen":
        course = attrs.evolve(placing, left=options.budget, given=False)
        found = course.best([placed, *on_the_fastest(instances, options.budget, most)])
        least = max(course.rate(found) * (1 - options.within), course.rate(placed))
        found = course.fewest(found, least * (1 - OVER))
    said = f"{int(found.sum())} tasks, with the network; by CPU alone {known.explanation}"
    plans = [known, instances.plan(found, placing.rate(found), said)]
    if instances.request.limits.max_moves is not None:
        stays = instances.stay(0.0, "with the network nothing is better within the move limit")
        plans += [] if stays is None else [stays]
    best = max(plans, key=lambda each: (each.status is Status.OK, each.scores.throughput or 0.0))
    return _borne(instances, best)


def _borne(instances: InstanceCounts, plan: Plan) -> Plan:
    """The plan at the rate that its nodes bear with their networks, if that is less."""
    model, reached = instances.profiled, plan.scores.throughput
    if reached is None or plan.input_rate is None or not model.gain.sum() > 0:
        return plan
    return attrs.evolve(plan, input_rate=min(plan.input_rate, reached / float(model.gain.sum()) * model.input_rate))
