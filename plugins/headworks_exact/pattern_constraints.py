"""Hard constraints on patterns: those on one node leave patterns out, those on wider domains are rows of the master."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headworks.model import ConstraintKind
from headworks_exact.node_rules import NodeRules

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks.problem.arrays.constraints import CountRule
    from headworks_exact.classes import Classes
    from headworks_exact.pattern_model import PatternModel
    from headworks_exact.patterns import Patterns

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


class PatternConstraints:
    """Hard constraints of a problem on its patterns.

    Attributes:
        allowed: bool (G, k), whether tasks of a class may be on a node of a group.
    """

    def __init__(self, problem: Problem, classes: Classes, model: PatternModel) -> None:
        self._problem, self._rules, self._model = problem, NodeRules.of(problem), model
        first = np.array([classes.tasks[number][0] for number in model.order.tolist()], dtype=np.int64)
        self._component = problem.component[first]
        self.allowed: Flags = self._rules.allowed[np.ix_(self._component, model.first)].T

    def keep(self, every: NDArray[np.int16], group: Ints, topology: int) -> Flags:
        """Check which patterns keep the constraints of a topology whose classes have all come, bool (p,).

        Args:
            every: Counts so far, shape (p, j).
            group: Group of each.
            topology: The topology.
        """
        found = np.ones(len(every), dtype=bool)
        if not self._rules.counted:
            return found
        parts = np.unique(self._problem.component[self._problem.topology == topology])
        mine = np.flatnonzero(self._model.topology[: every.shape[1]] == topology)
        sums = (self._component[mine][:, None] == parts).astype(np.int64)
        for each in np.unique(group).tolist():
            here, node = np.flatnonzero(group == each), int(self._model.first[each])
            stays = np.bincount(self._problem.component[self._problem.fixed == node], minlength=len(self._rules.size))
            counts = every[np.ix_(here, mine)] @ sums + stays[parts]
            found[here] = self._rules.keep(counts, counts, parts, node)
        return found

    def add(self, model: Any, holds: list[Any], patterns: Patterns) -> None:
        """Add the rows of constraints on domains of several nodes to a master program.

        Args:
            model: The `CpModel`.
            holds: Number of nodes that hold each pattern.
            patterns: The patterns.
        """
        for rule in self._rules.wide:
            of = np.array(rule.group, dtype=np.int64)
            member = (of[self._component][:, None] == np.arange(rule.groups)).astype(np.int64)
            counts, used = patterns.every @ member, []
            domain = rule.domain[self._model.first][patterns.group]
            for each in range(len(rule.names)):
                here = np.flatnonzero(domain == each).tolist()
                terms = [[(holds[at], int(counts[at, column])) for at in here] for column in range(rule.groups)]
                used += self._add_domain(model, rule, terms, self._staying(rule, each))
            if rule.kind is ConstraintKind.TOGETHER:
                model.add(sum(used) <= 1)

    def _staying(self, rule: CountRule, domain: int) -> list[int]:
        """Tasks that stay in a domain, by group of the rule."""
        problem, of = self._problem, np.array(rule.group, dtype=np.int64)
        stays = (problem.fixed >= 0) & (rule.domain[problem.fixed] == domain)
        group = of[problem.component[stays]]
        found: list[int] = np.bincount(group[group >= 0], minlength=rule.groups).tolist()
        return found

    def _add_domain(
        self, model: Any, rule: CountRule, terms: list[list[tuple[Any, int]]], stays: list[int]
    ) -> list[Any]:
        """Add the rows of one domain; the variables that say which groups of tasks it has, none for `at_most`."""
        sums = [
            sum(hold * count for hold, count in own if count) + more for own, more in zip(terms, stays, strict=True)
        ]
        if rule.kind is ConstraintKind.AT_MOST:
            if not isinstance(sums[0], int):
                model.add(sums[0] <= rule.limit)
            return []
        used = [model.new_bool_var("") for _ in sums]
        for each, some in zip(used, sums, strict=True):
            model.add(some <= self._problem.n * each)
        if rule.kind is ConstraintKind.APART:
            model.add(sum(used) <= 1)
        return used
