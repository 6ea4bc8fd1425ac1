"""From placements to patterns, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks_exact.patterns import Patterns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks_exact.classes import Classes
    from headworks_exact.pattern_model import PatternModel


def patterns_in(model: PatternModel, classes: Classes, node_of: NDArray[np.int64]) -> Patterns:
    """Pattern of each node in a placement, by group.

    Args:
        model: Classes and groups of nodes.
        classes: Interchangeable tasks and nodes.
        node_of: Node index of each task, shape (n,).
    """
    every, group = [], []
    for number, nodes in enumerate(classes.nodes):
        for node in nodes:
            every.append([int((node_of[list(classes.tasks[at])] == node).sum()) for at in model.order.tolist()])
            group.append(number)
    counts, of = np.array(every, dtype=np.int16).reshape(len(group), len(model.order)), np.array(group, dtype=np.int64)
    return Patterns(every=counts, group=of, worth=model.worth(counts, of))


def node_of_patterns(problem: Problem, classes: Classes, model: PatternModel, chosen: Patterns) -> NDArray[np.int64]:
    """Nodes for the patterns and tasks for the counts, so that what runs stays where it can.

    Args:
        problem: The request as arrays.
        classes: Interchangeable tasks and nodes.
        model: Classes and groups of nodes.
        chosen: The pattern of each node.
    """
    order = model.order.tolist()
    counts, runs = (np.zeros((len(order), problem.m), dtype=np.int64) for _ in range(2))
    for column, number in enumerate(order):
        at = problem.current[list(classes.tasks[number])]
        np.add.at(runs[column], at[at >= 0], 1)
    for group, nodes in enumerate(classes.nodes):
        rows = np.flatnonzero(chosen.group == group).tolist()
        left = list(nodes)
        while rows:
            _, row, node = max(
                (int(np.minimum(chosen.every[row], runs[:, node]).sum()), -row, -node) for row in rows for node in left
            )
            rows.remove(-row)
            left.remove(-node)
            counts[:, -node] = chosen.every[-row]
    node_of = problem.fixed.copy()
    for column, number in enumerate(order):
        _spread(problem, classes.tasks[number], counts[column], node_of)
    return node_of


def _spread(problem: Problem, tasks: Sequence[int], counts: NDArray[np.int64], node_of: NDArray[np.int64]) -> None:
    """Give the tasks of a class their nodes: those that run stay where the counts allow."""
    left, waiting = counts.copy(), []
    for task in tasks:
        node = int(problem.current[task])
        if node >= 0 and left[node]:
            left[node] -= 1
            node_of[task] = node
        else:
            waiting.append(task)
    node_of[waiting] = np.repeat(np.arange(problem.m), left)
