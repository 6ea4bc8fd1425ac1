"""Equivalence classes of interchangeable tasks and nodes, which make the exact model small."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks_exact.node_rules import NodeRules

if TYPE_CHECKING:
    from headworks.problem import Problem


@attrs.frozen(eq=False, kw_only=True)
class Classes:
    """k classes of interchangeable tasks, groups of interchangeable nodes.

    Attributes:
        tasks: The tasks of each class, ascending.
        count: int64 (k,), how many.
        home: Node on which all tasks of the class have to stay, -1 if they are free.
        nodes: The nodes of each group, ascending.
    """

    tasks: tuple[tuple[int, ...], ...]
    count: NDArray[np.int64]
    home: tuple[int, ...]
    nodes: tuple[tuple[int, ...], ...]

    @property
    def free(self) -> NDArray[np.int64]:
        """Indices of the classes whose tasks may move."""
        return np.flatnonzero(np.array(self.home, dtype=np.int64) < 0)

    @classmethod
    def of(cls, problem: Problem) -> Classes:
        """Tasks of one component with the same demand and the same part in every stream are one class.

        A task with flows of its own is a class of its own; tasks that may not move are classed by node.
        """
        blocks, sparse = problem.traffic.blocks, problem.traffic.sparse
        index = np.arange(problem.n)[:, None]
        sends = (index >= blocks.source_start) & (index < blocks.source_stop)
        receives = (index >= blocks.target_start) & (index < blocks.target_stop)
        single = set(sparse.sources.tolist()) | set(sparse.indices.tolist())
        found: dict[object, list[int]] = {}
        for task in range(problem.n):
            key = (
                int(problem.component[task]),
                problem.demand[task].tobytes(),
                float(problem.heap[task]),
                sends[task].tobytes(),
                receives[task].tobytes(),
                int(problem.fixed[task]),
                task if task in single else -1,
            )
            found.setdefault(key, []).append(task)
        tasks = tuple(map(tuple, found.values()))
        home = tuple(int(problem.fixed[each[0]]) for each in tasks)
        return cls(
            tasks=tasks,
            count=np.array([len(each) for each in tasks], dtype=np.int64),
            home=home,
            nodes=_groups(problem, set(home), NodeRules.of(problem)),
        )


def _groups(problem: Problem, homes: set[int], rules: NodeRules) -> tuple[tuple[int, ...], ...]:
    found: dict[object, list[int]] = {}
    for node in range(problem.m):
        alone = node if node in homes else -1
        key = (problem.capacity[node].tobytes(), int(problem.slots[node]), alone, rules.key(node))
        found.setdefault(key, []).append(node)
    return tuple(map(tuple, found.values()))
