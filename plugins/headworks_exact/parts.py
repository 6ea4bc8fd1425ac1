"""Parts of a topology that one node may hold: numbers of tasks by component, what they exchange, and what they need.

Tasks of a component need not be alike. So many of them exchange at most what those that exchange most do, and need at
least what those that need least do. Where there are too many parts, numbers of tasks are taken together in lots: a part
then exchanges what the most of them do, and needs what the least do. A bound by parts holds in any case.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from headworks.problem import Problem
    from headworks_exact.node_rules import NodeRules

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

COARSEST = 2
"""Lots of a component that are told apart at least: one task to all but one, and all."""
TASKS = 1_500
"""Tasks of a topology, at most, whose pairs are looked at; a larger one counts as if nothing of it crossed nodes."""


@attrs.frozen(eq=False, kw_only=True)
class Parts:
    """p parts of one topology with k components; none of them is empty.

    Attributes:
        components: int64 (k,), index of each component.
        first: Of each component the least number of tasks of each lot, ascending.
        lot: int64 (p, k), lot of each component in each part.
        least: int64 (p, k), tasks of each component, at least.
        local: float64 (p,), traffic within the part, at most, as a share of all traffic.
        takes: float64 (p, r), need of each resource and of slots, at least.
        fits: bool (p, G), whether a node of each group may hold it.
        tables: The most that so many tasks of two components exchange, likewise, by their columns.
    """

    components: NDArray[np.int64]
    first: tuple[NDArray[np.int64], ...]
    lot: NDArray[np.int64]
    least: NDArray[np.int64]
    local: NDArray[np.float64]
    takes: NDArray[np.float64]
    fits: NDArray[np.bool_]
    tables: dict[tuple[int, int], NDArray[np.float64]]

    def worth(self, counts: Ints) -> Floats:
        """Traffic within so many tasks of each component, at most, float64 (q,).

        Args:
            counts: Tasks by component, int64 (q, k).
        """
        return _local(self.tables, counts)

    def cost(self, price: Floats) -> Floats:
        """The least that each part costs, float64 (p,).

        Args:
            price: Price of so many tasks of each component of the problem on a node, shape (c, n).
        """
        found = np.zeros(len(self.local))
        for column, (component, first) in enumerate(zip(self.components.tolist(), self.first, strict=True)):
            tasks = price[component, : int(first[-1]) + 1]
            found += np.minimum.reduceat(tasks, first)[self.lot[:, column]]
        return found


def parts_of(problem: Problem, topology: int, groups: Ints, rules: NodeRules, most: int) -> tuple[list[Parts], float]:
    """The parts of a topology, of clusters of its components where it has many, and the units that they tell of.

    Args:
        problem: The problem.
        topology: Index of the topology.
        groups: A node of each group, int64 (G,).
        rules: Constraints on the tasks of a node.
        most: Parts of a cluster, at most.
    """
    tasks = np.flatnonzero(problem.topology == topology)
    if len(tasks) > TASKS or not len(tasks):
        return [], 0.0
    between, found, units = _between(problem, tasks), [], 0.0
    clusters = _clusters(between, problem.component[tasks], most)
    for mine in clusters:
        rates = between[np.ix_(mine, mine)]
        builder = _Builder(problem, tasks[mine], rates, groups, rules, whole=len(clusters) == 1)
        step = np.ones(len(builder.components), dtype=np.int64)
        while (parts := builder.build(step, most)) is None:
            step[int((builder.size / step).argmax())] *= 2
        found.append(parts)
        units += float(rates.sum()) / 2
    return found, units


def _clusters(between: Floats, component: Ints, most: int) -> list[Ints]:
    """Tasks of components that exchange most, in clusters that do not have too many parts even in lots."""
    _, of, size = np.unique(component, return_inverse=True, return_counts=True)
    k = len(size)
    one = np.zeros((len(of), k))
    one[np.arange(len(of)), of] = 1.0
    rates, cluster = np.triu(one.T @ between @ one, 1), np.arange(k)
    ways = np.log(np.minimum(size, COARSEST) + 1.0)
    for edge in np.argsort(-rates, axis=None, kind="stable").tolist():
        first, second = divmod(edge, k)
        if not rates[first, second]:
            break
        both = np.isin(cluster, (cluster[first], cluster[second]))
        if ways[both].sum() <= np.log(most):
            cluster[both] = cluster[first]
    if ways.sum() <= np.log(most):
        cluster[:] = 0
    return [np.flatnonzero(cluster[of] == each) for each in np.unique(cluster).tolist()]


def _between(problem: Problem, tasks: Ints) -> Floats:
    """Units that each pair of tasks of a topology exchanges, both ways added, float64 (n, n)."""
    first, last = int(tasks[0]), int(tasks[-1]) + 1
    found = np.zeros((len(tasks), len(tasks)))
    for a0, a1, b0, b1, rate in problem.traffic.blocks:
        if first <= a0 < last and first <= b0 < last:
            found[a0 - first : a1 - first, b0 - first : b1 - first] += rate
    sparse = problem.traffic.sparse
    mine = (sparse.sources >= first) & (sparse.sources < last) & (sparse.indices >= first) & (sparse.indices < last)
    np.add.at(found, (sparse.sources[mine] - first, sparse.indices[mine] - first), sparse.rate[mine])
    np.fill_diagonal(found, 0.0)
    return found + found.T


class _Builder:
    """Builds the parts of one topology.

    Attributes:
        components: int64 (k,), index of each component.
        size: int64 (k,), tasks of each.
    """

    def __init__(
        self, problem: Problem, tasks: Ints, between: Floats, groups: Ints, rules: NodeRules, *, whole: bool
    ) -> None:
        self._problem, self._groups, self._rules, self._whole = problem, groups, rules, whole
        self.components, begin = np.unique(problem.component[tasks], return_index=True)
        of = np.split(np.arange(len(tasks)), begin[1:])
        self.size = np.array([len(each) for each in of], dtype=np.int64)
        limit = float(problem.heap_limit[problem.topology[tasks[0]]])
        heap = problem.heap[tasks] / limit if 0 < limit < np.inf else np.zeros(len(tasks))
        needs = np.column_stack([problem.demand[tasks], heap])
        self._takes = [
            np.vstack([np.zeros(needs.shape[1]), np.cumsum(np.sort(needs[at], axis=0), axis=0)]) for at in of
        ]
        pairs = combinations_with_replacement(range(len(of)), 2)
        tables = (
            (pair, _most_between(between[np.ix_(of[pair[0]], of[pair[1]])], alike=pair[0] == pair[1])) for pair in pairs
        )
        total = problem.traffic.total or 1
        self._local = {pair: table / total for pair, table in tables if table is not None}

    def build(self, step: Ints, most: int) -> Parts | None:
        """The parts by lots of so many tasks of each component; None if there are more than `most`."""
        problem, room = self._problem, self._problem.capacity[self._groups]
        allowed = self._rules.allowed[np.ix_(self.components, self._groups)]
        first = [_lots(int(size), int(each)) for size, each in zip(self.size, step, strict=True)]
        lot, takes = np.zeros((1, 0), dtype=np.int64), np.zeros((1, problem.demand.shape[1] + 1))
        fits = np.ones((1, len(room)), dtype=bool)
        for column, starts in enumerate(first):
            lot = np.hstack([np.repeat(lot, len(starts), axis=0), np.tile(np.arange(len(starts)), len(lot))[:, None]])
            takes = (takes[:, None] + self._takes[column][starts]).reshape(-1, takes.shape[1])
            fits = np.repeat(fits, len(starts), axis=0) & (allowed[column] | (lot[:, -1:] == 0))
            for resource, have in enumerate(room.T):
                fits &= takes[:, resource : resource + 1] <= have
            some = fits.any(axis=1)
            lot, takes, fits = lot[some], takes[some], fits[some]
            if len(lot) > most:
                return None
        if self._whole:  # a cluster may share its workers with others of its topology
            takes[:, -1] = np.maximum(np.ceil(takes[:, -1] * (1 - 1e-9)), 1.0)
        return self._finished(first, lot, takes, fits)

    def _finished(self, first: list[Ints], lot: Ints, takes: Floats, fits: Flags) -> Parts:
        """The parts that some node may hold by the constraints, but for the empty one."""
        last = [np.append(starts[1:] - 1, starts[-1]) for starts in first]
        least = np.column_stack([starts[lot[:, at]] for at, starts in enumerate(first)])
        most = np.column_stack([ends[lot[:, at]] for at, ends in enumerate(last)])
        for group, node in enumerate(self._groups.tolist()):
            fits[:, group] &= self._rules.keep(least, most, self.components, node)
        kept = fits.any(axis=1) & least.any(axis=1)
        return Parts(
            components=self.components,
            first=tuple(first),
            lot=lot[kept],
            least=least[kept],
            local=_local(self._local, most[kept]),
            takes=takes[kept],
            fits=fits[kept],
            tables=self._local,
        )


def _local(tables: dict[tuple[int, int], Floats], counts: Ints) -> Floats:
    """Traffic within so many tasks of each component, at most, float64 (q,)."""
    found = np.zeros(len(counts))
    for (one, other), table in tables.items():
        found += table[counts[:, one], counts[:, other]]
    return found


def _lots(size: int, step: int) -> Ints:
    """The least number of tasks of each lot: none, the whole component, and so many between them at a time."""
    return np.unique(np.array([0, *range(1, size, step), size], dtype=np.int64))


def _most_between(rates: Floats, *, alike: bool) -> Floats | None:
    """The most that so many tasks of one component exchange with so many of another, float64 (a + 1, b + 1).

    Each of the rows has its best peers, and those rows count that have most. None if there is nothing.

    Args:
        rates: Units of each pair, shape (a, b).
        alike: Whether both are the same component, of whose tasks each pair counts once.
    """
    if not rates.any():
        return None
    found = np.minimum(_best_rows(rates), _best_rows(rates.T).T)
    if not alike:
        return found
    table = np.zeros_like(found)
    for tasks in range(2, len(rates) + 1):
        table[tasks, tasks] = found[tasks, tasks - 1] / 2
    return table


def _best_rows(rates: Floats) -> Floats:
    """The most that any so many rows have in any so many columns each, float64 (a + 1, b + 1)."""
    a, b = rates.shape
    found = np.zeros((a + 1, b + 1))
    own = np.cumsum(-np.sort(-rates, axis=1), axis=1)
    found[1:, 1:] = np.cumsum(-np.sort(-own, axis=0), axis=0)
    return found
