"""Patterns: combinations of counts by class that a node can hold, built class by class: the best, or all above a floor.

A pattern is worth the traffic that stays within its node, above the prices of its tasks. Of a pattern that is built in
part, the tables of `headworks_exact.elimination` bound what it can be worth in the end: below the floor of its group it
is left out, with all that it would become.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.problem.arrays.workers import Workers
from headworks_exact.elimination import Completion, Frontiers
from headworks_exact.pattern_constraints import PatternConstraints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.problem import Problem
    from headworks_exact.classes import Classes
    from headworks_exact.pattern_model import PatternModel
    from headworks_exact.solver import Budget

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

BUILT = 4e-7
"""Deterministic seconds that one more class of a pattern costs."""
COUNTED = 3e-5
"""Deterministic seconds that the workers of a pattern cost to count."""
ANY = 2**62
"""Patterns, at most, where there is no limit."""
FILLED = 3e-8
"""Deterministic seconds that an entry of a table costs."""


@attrs.frozen(eq=False, kw_only=True)
class Patterns:
    """p patterns, by group of nodes.

    Attributes:
        every: int16 (p, k), counts by class, in the order of the model.
        group: int64 (p,), group of nodes that each is for, ascending.
        worth: float64 (p,), traffic that stays within a node that holds it, as a share of all traffic.
    """

    every: NDArray[np.int16]
    group: Ints
    worth: Floats

    def only(self, rows: Ints) -> Patterns:
        """Some of them, by ascending index."""
        return attrs.evolve(self, every=self.every[rows], group=self.group[rows], worth=self.worth[rows])

    def cost(self, price: Floats) -> Floats:
        """Price of each pattern, float64 (p,).

        Args:
            price: Price of so many tasks of each class on a node, shape (k, n).
        """
        found: Floats = price[np.arange(len(price)), self.every].sum(axis=1)
        return found


@attrs.define(kw_only=True)
class _Rows:
    """Patterns in the making: counts of the first classes, what they take and are worth, and the bound of each."""

    every: NDArray[np.int16]
    group: Ints
    left: Floats
    slots: Ints
    opened: NDArray[np.bool_]
    value: Floats
    bound: Floats

    def only(self, kept: NDArray[np.bool_] | Ints) -> _Rows:
        return _Rows(**{each.name: getattr(self, each.name)[kept] for each in attrs.fields(_Rows)})


def joined(parts: Sequence[Patterns], classes: int) -> Patterns:
    """All patterns of some parts; none of no part."""
    every = [np.zeros((0, classes), dtype=np.int16), *(each.every for each in parts)]
    group = [np.zeros(0, dtype=np.int64), *(each.group for each in parts)]
    worth = [np.zeros(0), *(each.worth for each in parts)]
    return Patterns(every=np.concatenate(every), group=np.concatenate(group), worth=np.concatenate(worth))


class PatternBuilder:
    """Builds patterns of one problem for any prices.

    Attributes:
        complete: Whether all that was left out for its workers is known to need more than there are slots.
        constraints: Hard constraints on what a node holds.
    """

    def __init__(self, problem: Problem, classes: Classes, model: PatternModel, budget: Budget) -> None:
        self.model, self.budget, self.complete = model, budget, True
        self._frontiers = Frontiers.of_model(model)
        self._resources = np.flatnonzero(model.demand.any(axis=0)).tolist() or [0]
        self._workers, self.constraints = (
            _WorkerCount(problem, classes, model, budget),
            PatternConstraints(problem, classes, model),
        )
        self._states = [_strides(model.count[list(each)]) for each in self._frontiers.of]

    def tables(self, price: Floats, weight: float, *, fine: bool = True) -> dict[bytes, list[Completion]]:
        """Bounds for some prices, by the pull of a group.

        Args:
            price: Price of so many tasks of each class on a node, shape (k, n).
            weight: Weight of traffic.
            fine: Whether resources are counted in small steps.
        """
        found = {}
        for pull in np.unique(self.model.pull, axis=0):
            found[pull.tobytes()] = [
                Completion.of(self.model, self._frontiers, weight * pull, price, weight, resource, fine=fine)
                for resource in self._resources
            ]
        self.budget.take(sum(t.size for each in found.values() for one in each for t in one.open) * FILLED)
        return found

    def highest(self, tables: dict[bytes, list[Completion]], weight: float) -> Floats:
        """Upper bound on what a pattern of each group is worth above its prices, float64 (G,)."""
        every = np.arange(len(self.model.nodes))
        return np.concatenate([self._start(every[group : group + 1], tables, weight).bound for group in every])

    def everything(self, most: int) -> Patterns | None:
        """Every pattern that a node of its group can hold; None if there are more than `most`, or no time for them."""
        price, nothing = np.zeros((len(self.model.order), self.model.widest)), np.full(len(self.model.nodes), -np.inf)
        return self.build(price, 0.0, nothing, {}, most=most, beam=False)

    def build(
        self,
        price: Floats,
        weight: float,
        floor: Floats,
        tables: dict[bytes, list[Completion]],
        *,
        most: int,
        beam: bool,
    ) -> Patterns | None:
        """Build the patterns that are worth at least the floor of their group above their prices.

        Args:
            price: Price of so many tasks of each class on a node, shape (k, n).
            weight: Weight of traffic.
            floor: Least worth above the prices, by group, shape (G,).
            tables: Of the prices; without any nothing is known of what the next classes add.
            most: With a beam, patterns that are kept of each group, else of all groups.
            beam: Whether those of highest bound are kept where there are more, and not None returned.
        """
        parts = []
        for group in self._kinds():
            rows = self._start(group, tables, weight)
            kind = tables.get(self.model.pull[group[0]].tobytes(), ())
            for j in range(len(self.model.order)):
                extended = self._extend(rows, j, kind, price, weight, floor, ANY if beam else most)
                if extended is None:
                    return None
                rows = extended
                if self._frontiers.last[j]:
                    fits, proven = self._workers.fit(rows.every, rows.group, int(self.model.topology[j]), rows.slots)
                    self.complete &= proven
                    rows = rows.only(fits & self.constraints.keep(rows.every, rows.group, int(self.model.topology[j])))
                if beam:
                    rows = rows.only(_best(rows.group, rows.bound, most))
                elif self.budget.spent:
                    return None
            parts.append(rows)
        every = np.concatenate([each.every for each in parts])
        group = np.concatenate([each.group for each in parts])
        order = np.argsort(group, kind="stable")
        every, group = every[order], group[order]
        return Patterns(every=every, group=group, worth=self.model.worth(every, group))

    def _kinds(self) -> list[Ints]:
        """Groups of nodes whose bounds are in the same tables."""
        _, kind = np.unique(self.model.pull, axis=0, return_inverse=True)
        kind = kind.reshape(-1)
        return [np.flatnonzero(kind == each) for each in range(int(kind.max(initial=-1)) + 1)]

    def _start(self, group: Ints, tables: dict[bytes, list[Completion]], weight: float) -> _Rows:
        p = len(group)
        rows = _Rows(
            every=np.zeros((p, 0), dtype=np.int16),
            group=group,
            left=self.model.room[group],
            slots=self._workers.slots[group],
            opened=np.zeros(p, dtype=bool),
            value=weight * self.model.base[group],
            bound=np.zeros(p),
        )
        rows.bound = rows.value + self._completion(rows, 0, tables.get(self.model.pull[group[0]].tobytes(), ()))
        return rows

    def _extend(
        self,
        rows: _Rows,
        j: int,
        tables: Sequence[Completion],
        price: Floats,
        weight: float,
        floor: Floats,
        most: int,
    ) -> _Rows | None:
        """The rows with each number of tasks of class j for which there is room, above the floor; None if too many."""
        model = self.model
        if j and self._frontiers.last[j - 1]:
            rows.opened[:] = False
        gain = weight * (model.pull[rows.group, j] + rows.every @ model.between[:j, j])
        parts, at, total = [], np.arange(len(rows.every)), 0
        for number in range(int(model.count[j]) + 1):
            if number:
                left = rows.left[at] - number * model.demand[j]
                # a class that needs nothing fits beside what overloads a node no more than others do
                at = at[(left >= 0).all(axis=1) & (rows.opened[at] | (rows.slots[at] > 0))]
                at = at[self.constraints.allowed[rows.group[at], j]]
            self.budget.take(len(at) * BUILT)
            new = self._with(rows, at, j, number, gain, weight)
            new.value -= price[j, number]
            new.bound = new.value + self._completion(new, j + 1, tables)
            parts.append(new.only(new.bound >= floor[new.group]))
            total += len(parts[-1].every)
            if total > most:
                return None
        return _Rows(
            **{each.name: np.concatenate([getattr(one, each.name) for one in parts]) for each in attrs.fields(_Rows)}
        )

    def _with(self, rows: _Rows, at: Ints, j: int, number: int, gain: Floats, weight: float) -> _Rows:
        """Some rows with a number of tasks of class j."""
        model = self.model
        opens = ~rows.opened[at] if number else np.zeros(len(at), dtype=bool)
        counts = np.full((len(at), 1), number, dtype=np.int16)
        return _Rows(
            every=np.hstack([rows.every[at], counts]),
            group=rows.group[at],
            left=rows.left[at] - number * model.demand[j],
            slots=rows.slots[at] - opens,
            opened=rows.opened[at] | opens,
            value=rows.value[at] + number * gain[at] + weight * model.between[j, j] * (number * (number - 1) / 2),
            bound=np.zeros(len(at)),
        )

    def _completion(self, rows: _Rows, j: int, tables: Sequence[Completion]) -> Floats:
        """Upper bound on what the classes from j on add to each row."""
        found = np.full(len(rows.every), np.inf)
        if not tables:
            return found
        depth = self._frontiers.depth
        begins = j == len(self.model.order) or j == 0 or bool(self._frontiers.last[j - 1])
        frontier = list(self._frontiers.of[j])
        state = rows.every[:, frontier].astype(np.int64) @ self._states[j]
        slots = np.minimum(rows.slots, depth - 1)
        for resource, table in zip(self._resources, tables, strict=True):
            bucket = table.bucket(np.maximum(rows.left[:, resource], 0.0))
            closed = table.closed[j][bucket, slots]
            here = closed if begins else np.where(rows.opened, table.open[j][state, bucket, slots], closed)
            found = np.minimum(found, here)
        return found


class _WorkerCount:
    """Workers that the tasks of each topology need, where that may be more than one a node.

    Attributes:
        slots: int64 (G,), slots for topologies: all, and more than there are where tasks stay, which are counted last.
    """

    def __init__(self, problem: Problem, classes: Classes, model: PatternModel, budget: Budget) -> None:
        self._problem, self._model, self._budget = problem, model, budget
        self._tasks = [classes.tasks[number] for number in model.order.tolist()]
        self._counter = Workers(problem)
        first = model.first.tolist()
        self._stays = {group: np.flatnonzero(problem.fixed == node).tolist() for group, node in enumerate(first)}
        some = np.array([bool(each) for each in self._stays.values()], dtype=bool)
        self.slots: Ints = np.where(some, len(problem.topology_ids), model.slots)
        self._exact = not self._counter.plain or bool(some.any())
        self._known: dict[tuple[object, ...], tuple[int, bool]] = {}

    def fit(self, every: NDArray[np.int16], group: Ints, topology: int, slots: Ints) -> tuple[NDArray[np.bool_], bool]:
        """Check which patterns need no more workers than there are slots, whose topologies up to this one are built.

        `slots` is changed: workers beyond the first of the topology are taken off.

        Args:
            every: Counts so far, shape (p, j).
            group: Group of each.
            topology: The topology whose last class came.
            slots: Slots that are left, with one worker for each topology.

        Returns:
            Which patterns fit, and whether that is proven of all others.
        """
        if not self._exact:
            return np.ones(len(every), dtype=bool), True
        proven = np.ones(len(every), dtype=bool)
        fits = np.ones(len(every), dtype=bool)
        for each in np.unique(group).tolist():
            here = np.flatnonzero(group == each)
            if self._stays[each]:
                need, known = self._needed(every[here], each, None)
                fits[here] = need <= self._model.slots[each]
                # with no task but those that stay there is nothing to refuse
                fits[here[~every[here].any(axis=1)]] = True
            else:
                need, known = self._needed(every[here], each, topology)
                slots[here] -= np.maximum(need - 1, 0)
                fits[here] = slots[here] >= 0
            proven[here] = known
        return fits, bool(proven[~fits].all())

    def _needed(self, every: NDArray[np.int16], group: int, topology: int | None) -> tuple[Ints, NDArray[np.bool_]]:
        """Workers of one topology, or of all and the tasks that stay, for each pattern; and whether that is proven.

        Only how many tasks of each heap a topology has is looked at. Asked to end, it says none.
        """
        mine = [at for at in range(every.shape[1]) if topology is None or self._model.topology[at] == topology]
        kinds = [(int(self._model.topology[at]), float(self._problem.heap[self._tasks[at][0]])) for at in mine]
        alike = sorted(set(kinds))
        kind_of = np.array([[each == kind for kind in alike] for each in kinds], dtype=np.int64)
        counts = every[:, mine] @ kind_of.reshape(len(mine), len(alike))
        wide = counts.max(axis=0, initial=0) + 1  # one number for each row: much faster to sort than the rows
        _, first, of = np.unique(counts @ _strides(wide - 1), return_index=True, return_inverse=True)
        rows = counts[first]
        tasks = [
            [t for at, each in zip(mine, kinds, strict=True) if each == kind for t in self._tasks[at]] for kind in alike
        ]
        stays = self._stays[group] if topology is None else []
        number, proven = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=bool)
        for at, row in enumerate(rows):
            key = (group if topology is None else -1, (topology, tuple(alike)), row.tobytes())
            if key not in self._known:
                if self._budget.spent:
                    break
                self._budget.take(COUNTED)
                found = (each[:count] for each, count in zip(tasks, row.tolist(), strict=True))
                self._known[key] = self._counter.needed(chain(stays, *found))
            number[at], proven[at] = self._known[key]
        return number[of.reshape(-1)], proven[of.reshape(-1)]


def _strides(sizes: Ints) -> Ints:
    """Strides of a table of all states of a frontier, row-major."""
    wide = np.append(sizes[1:] + 1, 1)
    found: Ints = np.cumprod(wide[::-1])[::-1] if len(sizes) else np.zeros(0, dtype=np.int64)
    return found.astype(np.int64)


def _best(group: Ints, bound: Floats, most: int) -> Ints:
    """The rows of highest bound of each group."""
    order = np.lexsort((-bound, group))
    begin = np.searchsorted(group[order], group[order])
    return order[np.arange(len(order)) - begin < most]
