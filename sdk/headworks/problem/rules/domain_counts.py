"""Tasks counted in the domains of constraints as they come and go."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Self

import numpy as np

from headworks.model import ConstraintKind
from headworks.problem.arrays.constraints import UNLIMITED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem.arrays.constraints import Constraints, CountRule


class DomainCounts:
    """Tasks of each group in each domain, as they come and go; what a further task may have without breaking a rule.

    Attributes:
        held: For each rule of `Constraints.counted`, int64 (domains, groups).
    """

    def __init__(self, constraints: Constraints, component: NDArray[np.int64]) -> None:
        self._constraints = constraints
        self._component: list[int] = component.tolist()
        rules = constraints.counted
        self.held = [np.zeros((len(rule.names), rule.groups), dtype=np.int64) for rule in rules]

    def copy(self) -> Self:
        """The same counts, which change apart from these."""
        other = copy(self)
        other.held = [each.copy() for each in self.held]
        return other

    def open_to(self, task: int, free: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Nodes that no hard constraint closes to one more task, bool (m,).

        The first task of a set that has to be together asks for room for the whole set.
        """
        part = self._component[task]
        found: NDArray[np.bool_] = self._constraints.allowed[part].copy()
        for at in self._constraints.of[part]:
            rule, held = self._constraints.counted[at], self.held[at]
            found &= self._open(rule, held, rule.group[part], free)[rule.domain]
        return found

    def admits(self, task: int, node: int, free: NDArray[np.float64]) -> bool:
        """Check whether no hard constraint closes a node to one more task."""
        part = self._component[task]
        if not self._constraints.allowed[part, node]:
            return False
        for at in self._constraints.of[part]:
            rule, held = self._constraints.counted[at], self.held[at]
            domain = int(rule.domain[node])
            if rule.kind is ConstraintKind.TOGETHER:
                if not (held[domain, 0] or (not held.any() and bool(self._holds_all(rule, free)[domain]))):
                    return False
            elif self._left(rule, held, rule.group[part], domain) < 1:
                return False
        return True

    def left_for(self, task: int, node: int) -> int:
        """Number of tasks like this one that a node may take before a limit is reached, once it admits the first."""
        part = self._component[task]
        rules = ((self._constraints.counted[at], self.held[at]) for at in self._constraints.of[part])
        return min(
            (self._left(rule, held, rule.group[part], int(rule.domain[node])) for rule, held in rules),
            default=UNLIMITED,
        )

    def change(self, task: int, node: int, count: int = 1) -> None:
        """Tasks like this one come to a node, or go for a negative count."""
        part = self._component[task]
        for at in self._constraints.of[part]:
            rule = self._constraints.counted[at]
            self.held[at][rule.domain[node], rule.group[part]] += count

    def _open(
        self, rule: CountRule, held: NDArray[np.int64], group: int, free: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        """Domains that one rule leaves open to a task of a group, bool (domains,)."""
        if rule.kind is ConstraintKind.AT_MOST:
            return np.asarray(held[:, 0] < rule.limit, dtype=np.bool_)
        if rule.kind is ConstraintKind.APART:
            return np.asarray(held.sum(axis=1) == held[:, group], dtype=np.bool_)
        there = np.asarray(held[:, 0] > 0, dtype=np.bool_)
        return there if there.any() else self._holds_all(rule, free)

    def _holds_all(self, rule: CountRule, free: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Domains with room for all that has to be together, bool (domains,)."""
        left = np.zeros((len(rule.names), free.shape[1]))
        np.add.at(left, rule.domain, np.maximum(free, 0.0))
        return np.asarray((left >= rule.need).all(axis=1), dtype=np.bool_)

    def _left(self, rule: CountRule, held: NDArray[np.int64], group: int, domain: int) -> int:
        if rule.kind is ConstraintKind.AT_MOST:
            return max(0, rule.limit - int(held[domain, 0]))
        if rule.kind is ConstraintKind.APART:
            return UNLIMITED if held[domain].sum() == held[domain, group] else 0
        return UNLIMITED
