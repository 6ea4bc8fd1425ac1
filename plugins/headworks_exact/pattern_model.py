"""Model of the patterns of a problem: classes of tasks that may move, and groups of nodes with what is left there."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from headworks.problem import Problem
    from headworks_exact.classes import Classes

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


SUMMED = 4
"""Resources, at most, of which sums are counted too."""


@attrs.frozen(eq=False, kw_only=True)
class PatternModel:
    """The k classes whose tasks may move, in the order in which patterns are built, and G groups of nodes.

    Attributes:
        order: int64 (k,), index of each class in `Classes`: one topology after the other.
        topology: int64 (k,), topology of each class.
        count: int64 (k,), tasks of each class; 0 where no worker may hold one.
        all_tasks: int64 (k,), tasks of each class.
        demand: float64 (k, r), of one task; behind the resources there are slots, of which it takes its share of a
            worker's heap, and sums of several of these.
        between: float64 (k, k), traffic both ways between a task of one class and one of another, as a share of all
            traffic; on the diagonal that of two tasks of the class.
        pull: float64 (G, k), traffic of a task with all tasks that stay on a node of the group, likewise.
        base: float64 (G,), traffic among the tasks that stay there, likewise.
        room: float64 (G, r), capacity beside the tasks that stay, and slots.
        slots: int64 (G,), slots of a node of the group.
        nodes: int64 (G,), number of nodes of the group.
        first: int64 (G,), a node of the group.
        stays: bool (G,), whether tasks stay on it.
    """

    order: Ints
    topology: Ints
    count: Ints
    all_tasks: Ints
    demand: Floats
    between: Floats
    pull: Floats
    base: Floats
    room: Floats
    slots: Ints
    nodes: Ints
    first: Ints
    stays: NDArray[np.bool_]

    @classmethod
    def of(cls, problem: Problem, classes: Classes) -> PatternModel:
        """Read a problem.

        Args:
            problem: The request as arrays.
            classes: Interchangeable tasks and nodes.
        """
        first = np.array([nodes[0] for nodes in classes.nodes], dtype=np.int64)
        tasks = np.array([each[0] for each in classes.tasks], dtype=np.int64)
        between = _between(problem, classes, tasks) / (problem.traffic.total or 1)
        staying: Ints = (np.array(classes.home, dtype=np.int64) == first[:, None]) * classes.count
        order = order_of(between, problem.topology[tasks], classes.count, classes.free)
        room = problem.capacity[first].copy()
        for group, node in enumerate(first.tolist()):
            room[group] -= problem.demand[problem.fixed == node].sum(axis=0)
        mine = tasks[order]
        demand = np.column_stack([problem.demand[mine], _share(problem, mine)])
        room = np.column_stack([room, _slots(problem, first)])
        sums = _sums(problem)
        large = problem.heap[mine] > problem.heap_limit[problem.topology[mine]]  # no new worker may hold it
        return cls(
            order=order,
            topology=problem.topology[mine],
            count=np.where(large, 0, classes.count[order]),
            all_tasks=classes.count[order],
            demand=np.column_stack([demand, demand @ sums]),
            between=between[np.ix_(order, order)],
            pull=(staying @ between)[:, order],
            base=_within(staying, between),
            room=np.column_stack([room, (room @ sums) * (1 + 1e-9) + 1e-9]),
            slots=problem.slots[first],
            nodes=np.array([len(each) for each in classes.nodes], dtype=np.int64),
            first=first,
            stays=np.isin(first, problem.fixed),
        )

    @property
    def widest(self) -> int:
        """Numbers of tasks of a class that a node may have, 0 included, of the largest class."""
        return int(self.all_tasks.max(initial=0)) + 1

    def worth(self, every: NDArray[np.int16], group: Ints) -> Floats:
        """Traffic that stays within a node with each pattern, float64 (p,), as a share of all traffic.

        Args:
            every: Counts by pattern and class, shape (p, k).
            group: Group of each pattern, shape (p,).
        """
        beside: Floats = (every * self.pull[group]).sum(axis=1) if self.pull.any() else np.zeros(len(every))
        return _within(every, self.between) + beside + self.base[group]


def _share(problem: Problem, tasks: Ints) -> Floats:
    """Share of a worker's heap that each task takes: a topology has as many workers as they add up to, or more."""
    heap, limit = problem.heap[tasks], problem.heap_limit[problem.topology[tasks]]
    found: Floats = np.divide(heap, limit, out=np.zeros_like(heap), where=(limit > 0) & (heap <= limit))
    return found


def _sums(problem: Problem) -> Floats:
    """Weights of the resources and of slots in sums of two and of all of them, float64 (r, s).

    Each weighs a share of what all nodes have. Where a node is full of several, no one of them bounds well what it
    holds, and their sum does.
    """
    whole = np.append(problem.capacity.sum(axis=0), problem.slots.sum())
    needed = np.append(problem.demand.any(axis=0), np.isfinite(problem.heap_limit).any() and problem.heap.any())
    there = np.flatnonzero(needed & (whole > 0)).tolist()
    sets = dict.fromkeys([*combinations(there, 2), tuple(there)]) if 2 <= len(there) <= SUMMED else {}
    found = np.zeros((len(whole), len(sets)))
    for column, each in enumerate(sets):
        found[list(each), column] = 1.0 / whole[list(each)]
    return found


def _slots(problem: Problem, first: Ints) -> Floats:
    """Slots of a node of each group; where tasks stay, so many that they refuse nothing."""
    stays = np.isin(first, problem.fixed)
    return np.where(stays, float(problem.n + 1), problem.slots[first] * (1.0 + 1e-9)).astype(np.float64)


def _within(counts: NDArray[np.int64] | NDArray[np.int16], between: Floats) -> Floats:
    """Traffic among the tasks of each row: c tasks of a class have c * (c - 1) / 2 pairs."""
    rows = counts.astype(np.float64)
    found: Floats = ((rows @ between - np.diag(between)) * rows).sum(axis=1) / 2
    return found


def _between(problem: Problem, classes: Classes, tasks: Ints) -> Floats:
    """Traffic both ways between a task of one class and one of another, in units; exact, as all traffic has 46 bits."""
    blocks, sparse = problem.traffic.blocks, problem.traffic.sparse
    at = tasks[:, None]
    sends = (at >= blocks.source_start) & (at < blocks.source_stop)
    receives = (at >= blocks.target_start) & (at < blocks.target_stop)
    one_way: Floats = np.asarray(sends * blocks.rate, dtype=np.float64) @ np.asarray(receives.T, dtype=np.float64)
    number = np.zeros(problem.n, dtype=np.int64)
    for index, each in enumerate(classes.tasks):
        number[list(each)] = index
    np.add.at(one_way, (number[sparse.sources], number[sparse.indices]), sparse.rate)
    found: Floats = one_way + one_way.T
    return found


def order_of(between: Floats, topology: Ints, count: Ints, free: Ints) -> Ints:
    """Order of the free classes, topology by topology, each time the one that leaves the narrowest frontier.

    Few of those that came matter then to those that are still to come.

    Args:
        between: Traffic between classes, shape (k, k).
        topology: Topology of each, shape (k,).
        count: Tasks of each, shape (k,).
        free: Indices of the classes to order.
    """
    order: list[int] = []
    for each in dict.fromkeys(topology[free].tolist()):
        left = [at for at in free.tolist() if topology[at] == each]
        begin = len(order)
        while left:
            mine = order[begin:]
            best = min(left, key=lambda at: (_width(between, count, [*mine, at], [x for x in left if x != at]), at))
            order.append(best)
            left.remove(best)
    return np.array(order, dtype=np.int64)


def _width(between: Floats, count: Ints, done: list[int], left: list[int]) -> float:
    """States of the frontier when some classes came and others are still to come."""
    return float(np.prod([count[at] + 1.0 for at in done if between[at, left].any()]))
