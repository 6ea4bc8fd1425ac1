"""Lower bound on the traffic between nodes by topology: nodes as knapsacks of parts of topologies, which have prices.

Topologies share nothing but nodes. So what a node can hold for its tasks' prices is a knapsack: of each topology one
part at most (`headworks_exact.parts`), within each resource by itself. Column generation (`headworks_exact.pricing`)
chooses the prices. It needs no classes of equal tasks, so that it holds for measured flows, and it knows constraints.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.problem import STEP
from headworks_exact.node_rules import NodeRules
from headworks_exact.parts import Parts, parts_of
from headworks_exact.pattern_model import PatternModel
from headworks_exact.patterns import Patterns, joined
from headworks_exact.pricing import generate
from headworks_exact.solver import Budget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks.problem import Problem

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

COMPONENTS = 1_500
"""Components, at most, of a problem that is bounded so: each is a row of the linear program."""
PARTS = 3_000_000
"""Parts of all topologies, at most, times groups of nodes."""
WAYS, FEWEST = 20_000, 300
"""Parts of one topology, at most; and as many as it may have in any case."""
ADDED = 64
"""Patterns of each group that enter in one round, at most."""
BUCKETS = 2_000
"""Steps in which a resource is counted, at most, unless all needs are whole steps."""
SHORT = 0.3
"""Load from which a resource is counted, as a share of all that nodes have; the one with the highest is in any case."""
DONE = 1e-9
"""Deterministic seconds that an entry of a table or a part costs."""


@attrs.frozen(eq=False)
class Chosen:
    """Parts on a node of a group: index in all parts, and row."""

    group: int
    taken: list[tuple[int, int]]


@attrs.frozen(eq=False)
class Items:
    """Parts of one topology that are worth more than all that take less: rows, steps that they take, and worth."""

    part: int
    rows: NDArray[np.int64]
    need: NDArray[np.int64]
    value: NDArray[np.float64]

    @classmethod
    def of(cls, part: int, rows: Ints, need: Ints, value: Floats) -> Items:
        """Keep those parts of some rows."""
        order = np.lexsort((-value, need))
        best = np.maximum.accumulate(value[order])
        kept = order[np.flatnonzero(np.diff(best, prepend=0.0) > 0)]
        return cls(part, rows[kept], need[kept], value[kept])

    def added(self, table: Floats) -> Floats:
        """The worth of a node by the steps in use, with one of these or none beside what there is, shape (s,)."""
        found = table.copy()
        for need, value in zip(self.need.tolist(), self.value.tolist(), strict=True):
            part = found[need:]
            np.maximum(part, table[: len(table) - need] + value, out=part)
        return found

    def taken(self, before: Floats, room: int) -> int:
        """Index of the one that is worth most in so much room beside what there is."""
        left = room - self.need
        worth = np.where(left >= 0, before[np.maximum(left, 0)] + self.value, -np.inf)
        return int(worth.argmax())


def bound_by_topology(problem: Problem, starts: Sequence[Ints], known: int, budget: Budget) -> int | None:
    """Traffic between nodes below which no placement of all tasks goes, in units; None if the problem is too large.

    Args:
        problem: The request as arrays.
        starts: Placements of all tasks that are known, node index of each task, shape (n,) each.
        known: Traffic of the best of them; a bound that high ends the search.
        budget: Work and time that are left.
    """
    total = problem.traffic.total
    if not known:
        return 0
    if len(problem.components) > COMPONENTS:
        return None
    knapsacks = Knapsacks.of(problem, budget)
    held = joined([knapsacks.patterns_in(problem, each) for each in starts], len(problem.components))
    enough = 1.0 - (known + knapsacks.beside) / total
    half = np.outer(np.diag(knapsacks.model.between) * knapsacks.model.all_tasks / 2, np.arange(knapsacks.model.widest))
    relaxed, _ = generate(knapsacks.model, knapsacks, held, enough, budget, added=ADDED, known=half, warm=True)
    if relaxed is None:
        return 0
    unit = math.gcd(*problem.traffic.blocks.rate.tolist(), *problem.traffic.sparse.rate.tolist()) or 1
    least = math.ceil(((1.0 - relaxed.value) * total - knapsacks.beside) / unit) * unit
    return max(0, min(known, least))


@attrs.frozen(eq=False, kw_only=True)
class Knapsacks:
    """A problem as a knapsack for each group of equal nodes: the oracle that prices parts of topologies.

    Attributes:
        model: Components as classes, and groups of nodes.
        groups: The nodes of each group.
        parts: Of topologies, or of clusters of their components.
        beside: Units that no part tells of: they count as if they crossed no node.
        needs: For each resource that is counted the steps that each part takes, at least, int64 (p,) of all parts.
        rooms: For each resource that is counted the steps that a node of each group has, int64 (G,).
        budget: Work and time that are left.
    """

    model: PatternModel
    groups: tuple[NDArray[np.int64], ...]
    parts: tuple[Parts, ...]
    beside: float
    needs: tuple[tuple[NDArray[np.int64], ...], ...]
    rooms: tuple[NDArray[np.int64], ...]
    budget: Budget

    @classmethod
    def of(cls, problem: Problem, budget: Budget) -> Knapsacks:
        """Read a problem.

        Args:
            problem: The request as arrays.
            budget: Work and time that are left.
        """
        rules = NodeRules.of(problem)
        groups = _groups(problem, rules)
        first = np.array([nodes[0] for nodes in groups], dtype=np.int64)
        most = max(min(WAYS, PARTS // (len(groups) * len(problem.topology_ids))), FEWEST)
        made = [parts_of(problem, at, first, rules, most) for at in range(len(problem.topology_ids))]
        parts = tuple(each for some, _ in made for each in some)
        counted = [_counted(problem, first, parts, resource) for resource in _short(problem)]
        return cls(
            model=_model(problem, groups),
            groups=groups,
            parts=parts,
            beside=problem.traffic.total - sum(units for _, units in made),
            needs=tuple(need for need, _ in counted),
            rooms=tuple(room for _, room in counted),
            budget=budget,
        )

    def patterns_in(self, problem: Problem, node_of: Ints) -> Patterns:
        """Pattern of each node in a placement, by group.

        Args:
            problem: The request as arrays.
            node_of: Node index of each task, shape (n,).
        """
        c = len(problem.components)
        every = np.bincount(node_of * c + problem.component, minlength=problem.m * c).reshape(problem.m, c)
        rows = every[np.concatenate(self.groups)]
        group = np.repeat(np.arange(len(self.groups)), [len(each) for each in self.groups])
        worth = sum((each.worth(rows[:, each.components]) for each in self.parts), np.zeros(len(rows)))
        return Patterns(every=rows.astype(np.int16), group=group, worth=worth)

    def __call__(self, price: Floats, weight: float) -> tuple[Floats, Patterns]:
        """Bound of each group, shape (G,), and patterns: the best of each, and some that share no topology.

        Args:
            price: Price of so many tasks of each component on a node, shape (c, n).
            weight: Weight of traffic.
        """
        values = [weight * each.local - each.cost(price) for each in self.parts]
        self.budget.take(sum(len(each) for each in values) * DONE)
        items = [self._items(values, group) for group in range(len(self.groups))]
        best = [self._fill(items[group], group, set()) for group in range(len(self.groups))]
        found, gone = [chosen for _, chosen in best], set[int]()
        for group in np.argsort([-value for value, _ in best], kind="stable").tolist():
            for _ in self.groups[group]:
                value, chosen = self._fill(items[group], group, gone) if gone else best[group]
                if value <= 0 or self.budget.spent:
                    break
                found.append(chosen)
                gone.update(part for part, _ in chosen.taken)
        return np.array([value for value, _ in best]), self._patterns(found)

    def _items(self, values: Sequence[Floats], group: int) -> list[list[Items]]:
        """For each resource that is counted, the parts that are worth something on a node of a group."""
        worth = [
            (at, rows)
            for at, (part, value) in enumerate(zip(self.parts, values, strict=True))
            if len(rows := np.flatnonzero(part.fits[:, group] & (value > 0)))
        ]
        return [[Items.of(at, rows, needs[at][rows], values[at][rows]) for at, rows in worth] for needs in self.needs]

    def _fill(self, items: Sequence[Sequence[Items]], group: int, gone: set[int]) -> tuple[float, Chosen]:
        """The most that parts on a node of a group are worth, within any one resource, and these parts.

        Args:
            items: For each resource the parts that are worth something.
            group: The group.
            gone: Indices of topologies that are left out.
        """
        least, chosen = np.inf, Chosen(group, [])
        for every, rooms in zip(items, self.rooms, strict=True):
            room, left = int(rooms[group]), [each for each in every if each.part not in gone]
            self.budget.take(sum(len(each.rows) for each in left) * (room + 1) * DONE)
            tables = [np.zeros(room + 1)]
            for each in left:
                tables.append(each.added(tables[-1]))
            if tables[-1][room] < least:
                least, chosen = float(tables[-1][room]), Chosen(group, _traced(left, tables, room))
        return least, chosen

    def _patterns(self, found: Sequence[Chosen]) -> Patterns:
        """Some nodes' parts as patterns, by group."""
        chosen = sorted(found, key=lambda each: each.group)
        every = np.zeros((len(chosen), len(self.model.order)), dtype=np.int16)
        worth = np.zeros(len(chosen))
        for at, each in enumerate(chosen):
            for number, row in each.taken:
                part = self.parts[number]
                every[at, part.components] = part.least[row]
                worth[at] += part.local[row]
        return Patterns(every=every, group=np.array([each.group for each in chosen], dtype=np.int64), worth=worth)


def _traced(items: Sequence[Items], tables: Sequence[Floats], room: int) -> list[tuple[int, int]]:
    """The parts by which the last table has its worth, from the last to the first."""
    found = []
    for each, before, after in zip(reversed(items), reversed(tables[:-1]), reversed(tables[1:]), strict=True):
        if after[room] > before[room]:
            at = each.taken(before, room)
            found.append((each.part, int(each.rows[at])))
            room -= int(each.need[at])
    return found


def _groups(problem: Problem, rules: NodeRules) -> tuple[Ints, ...]:
    """Nodes that are alike: in what they have, and for the constraints."""
    found: dict[object, list[int]] = {}
    for node in range(problem.m):
        key = problem.capacity[node].tobytes(), int(problem.slots[node]), rules.key(node)
        found.setdefault(key, []).append(node)
    return tuple(np.array(nodes, dtype=np.int64) for nodes in found.values())


def _short(problem: Problem) -> list[int]:
    """Resources that may be short, slots behind the others, of which those in use are not told without restarts."""
    need, have = problem.demand.sum(axis=0), problem.capacity.sum(axis=0)
    slots = len(problem.topology_ids) if problem.request.limits.restarts else 0
    need, have = np.append(need, slots), np.append(have, problem.slots.sum())
    load = np.divide(need, have, out=np.where(need > 0, np.inf, 0.0), where=have > 0)
    found: list[int] = np.flatnonzero((load > 0) & (load >= min(SHORT, float(load.max())))).tolist()
    return found or [0]


def _counted(problem: Problem, first: Ints, parts: Sequence[Parts], resource: int) -> tuple[tuple[Ints, ...], Ints]:
    """Steps that each part takes, at least, and steps that a node of each group has, at most.

    Where all needs are whole steps, but for their rounding to `STEP`, nothing is lost.
    """
    slots = resource == problem.demand.shape[1]
    room = (problem.slots if slots else problem.capacity[:, resource])[first].astype(np.float64)
    unit, widest = 1.0 if slots else _unit(problem.demand[:, resource]), float(room.max(initial=0.0))
    whole = bool(unit) and widest <= 2 * BUCKETS * unit
    step = unit if whole else widest / BUCKETS or 1.0
    steps = [each.takes[:, resource] / step for each in parts]
    needs = [np.floor(each) if slots else np.rint(each) if whole else np.floor(each * (1 - 1e-12)) for each in steps]
    rooms = np.floor((room + 2 * problem.n * STEP) / step * (1 + 1e-12))
    return tuple(each.astype(np.int64) for each in needs), rooms.astype(np.int64)


def _unit(needs: Floats) -> float:
    """Thousandths of which all needs are whole multiples, but for their rounding to `STEP`; 0 if there are none."""
    thousandths = np.rint(needs * 1000)
    if (np.abs(needs * 1000 - thousandths) > 1010 * STEP).any():
        return 0.0
    return float(np.gcd.reduce(thousandths.astype(np.int64))) / 1000


def _model(problem: Problem, groups: Sequence[Ints]) -> PatternModel:
    """Components as classes; of what tasks exchange and need only the size matters, for the price of one left out."""
    c, g = len(problem.components), len(groups)
    first = np.array([nodes[0] for nodes in groups], dtype=np.int64)
    size = np.bincount(problem.component, minlength=c)
    exchanged, demand = np.zeros(c), np.zeros((c, problem.demand.shape[1]))
    np.maximum.at(exchanged, problem.component, problem.traffic.of_tasks.sum(axis=0) / problem.traffic.total)
    np.maximum.at(demand, problem.component, problem.demand)
    return PatternModel(
        order=np.arange(c),
        topology=np.zeros(c, dtype=np.int64),
        count=size,
        all_tasks=size,
        demand=demand / problem.m,  # nodes of which each has its share of all traffic
        between=np.diag(exchanged / np.maximum(size, 1)),
        pull=np.zeros((g, c)),
        base=np.zeros(g),
        room=problem.capacity[first],
        slots=problem.slots[first],
        nodes=np.array([len(nodes) for nodes in groups], dtype=np.int64),
        first=first,
        stays=np.zeros(g, dtype=bool),
    )
