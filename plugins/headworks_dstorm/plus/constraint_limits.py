"""Hard constraints in the annealing: nodes that are allowed, and tasks counted as they move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from headworks.problem.rules.domain_counts import DomainCounts

if TYPE_CHECKING:
    from headworks.problem import Problem
    from headworks.problem.arrays.constraints import Constraints
    from headworks_dstorm.plus.exchange import Flags, Floats, Ints


class Placed(Protocol):
    """The placement that changes: the node of each task, int64 (n,), and what is free on each, float64 (m, r)."""

    node_of: Ints
    free: Floats


class ConstraintLimits:
    """DomainCounts of the hard constraints, kept by every change."""

    def __init__(self, problem: Problem, constraints: Constraints, node_of: Ints) -> None:
        self._component, self._nodes = problem.component, constraints.allowed
        self._bound: list[bool] = constraints.bound[problem.component].tolist()
        self._counts = DomainCounts(constraints, problem.component)
        for task in np.flatnonzero(node_of >= 0).tolist():
            self._counts.change(task, int(node_of[task]))

    def allowed(self, task: Ints, there: Ints) -> Flags:
        """Check which nodes the constraints on labels leave to a task each; the others are asked with the change.

        Args:
            task: Task of each move, int64 (c,).
            there: Node that it moves to, int64 (c,).
        """
        found: Flags = self._nodes[self._component[task], there]
        return found

    def change(self, task: Ints, there: Ints, other: Ints, wanted: Flags, state: Placed) -> Flags:
        """Count changes one after the other; say which ones are wanted and allowed.

        Args:
            task: Task of each change, int64 (c,).
            there: Node that it moves to, int64 (c,).
            other: Task that comes back in its place, -1 for none, int64 (c,).
            wanted: Changes that are not refused already, bool (c,).
            state: The placement before them.
        """
        allowed = wanted.copy()
        for at in np.flatnonzero(wanted).tolist():
            moves = [(int(task[at]), int(state.node_of[task[at]]), int(there[at]))]
            if other[at] >= 0:
                moves.append((int(other[at]), int(there[at]), moves[0][1]))
            if any(self._bound[each] for each, _, _ in moves):
                allowed[at] = self._make(moves, state)
        return allowed

    def _make(self, moves: list[tuple[int, int, int]], state: Placed) -> bool:
        """Count some moves, unless one of them breaks a constraint."""
        for task, here, _ in moves:
            self._counts.change(task, here, -1)
        for number, (task, _, there) in enumerate(moves):
            if not self._counts.admits(task, there, state.free):
                for each, _, back in moves[:number]:
                    self._counts.change(each, back, -1)
                for each, here, _ in moves:
                    self._counts.change(each, here)
                return False
            self._counts.change(task, there)
        return True
