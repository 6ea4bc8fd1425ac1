"""Hard constraints as limits on the tasks that one node may hold, as far as what runs keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.model import ConstraintKind
from headworks.problem.arrays.constraints import CountRule, LabelRule

if TYPE_CHECKING:
    from headworks.problem import Problem

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


@attrs.frozen(eq=False, kw_only=True)
class NodeRules:
    """Limits that every plan keeps: a constraint that what runs breaks may stay broken, and is none of them.

    Attributes:
        allowed: bool (c, m), nodes on which tasks of each component may be.
        counted: Constraints that count tasks in domains; a node holds no more than its domain.
        size: int64 (c,), tasks of each component.
        alone: bool (q, m), for each of `counted` whether a node has its domain to itself.
        broken: What runs breaks these.
    """

    allowed: NDArray[np.bool_]
    counted: tuple[CountRule, ...]
    size: NDArray[np.int64]
    alone: NDArray[np.bool_]
    broken: tuple[LabelRule | CountRule, ...]

    @classmethod
    def of(cls, problem: Problem) -> NodeRules:
        """Read the hard constraints of a problem."""
        constraints = problem.constraints
        broken = [rule for rule in _rules(problem) if _breaks(problem, rule, problem.current)]
        allowed = np.ones((len(problem.components), problem.m), dtype=bool)
        for label in constraints.labels:
            if label not in broken:
                allowed[label.member] &= label.nodes
        counted = tuple(rule for rule in constraints.counted if rule not in broken)
        alone = [np.bincount(rule.domain)[rule.domain] == 1 for rule in counted]
        return cls(
            allowed=allowed,
            counted=counted,
            alone=np.array(alone, dtype=bool).reshape(len(counted), problem.m),
            size=np.bincount(problem.component, minlength=len(problem.components)),
            broken=tuple(broken),
        )

    @property
    def wide(self) -> tuple[CountRule, ...]:
        """Constraints that count tasks in domains of several nodes."""
        return tuple(rule for rule, alone in zip(self.counted, self.alone, strict=True) if not alone.all())

    def key(self, node: int) -> bytes:
        """What the constraints say of a node: nodes with the same are alike."""
        domains = np.array([rule.domain[node] for rule in self.wide], dtype=np.int64)
        return self.allowed[:, node].tobytes() + self.alone[:, node].tobytes() + domains.tobytes()

    def kept_by(self, problem: Problem, node_of: Ints) -> bool:
        """Check whether a placement keeps all constraints but those that what runs breaks."""
        return all(rule in self.broken or not _breaks(problem, rule, node_of) for rule in _rules(problem))

    def keep(self, least: Ints, most: Ints, components: Ints, node: int) -> Flags:
        """Check which numbers of tasks may be on one node, bool (p,).

        Args:
            least: Tasks of each component, at least, int64 (p, k); 0 where there are none.
            most: The same, at most.
            components: Index of each, int64 (k,).
            node: The node.
        """
        found = np.ones(len(least), dtype=bool)
        for rule, alone in zip(self.counted, self.alone[:, node].tolist(), strict=True):
            group = np.array(rule.group, dtype=np.int64)
            mine = np.flatnonzero(group[components] >= 0)
            if len(mine):
                found &= self._keeps(rule, least[:, mine], most[:, mine], components[mine], alone=alone)
        return found

    def _keeps(self, rule: CountRule, least: Ints, most: Ints, members: Ints, *, alone: bool) -> Flags:
        some: Flags = least > 0
        if rule.kind is ConstraintKind.AT_MOST:
            return np.asarray(least.sum(axis=1) <= rule.limit)
        if rule.kind is ConstraintKind.APART:
            return np.asarray(some.sum(axis=1) <= 1)
        # all are there or none, if no other node is in the domain
        return np.asarray(~some.any(axis=1) | (most >= self.size[members]).all(axis=1) | (not alone))


def _rules(problem: Problem) -> tuple[LabelRule | CountRule, ...]:
    return (*problem.constraints.labels, *problem.constraints.counted)


def _breaks(problem: Problem, rule: LabelRule | CountRule, node_of: Ints) -> bool:
    """Check whether tasks that have a node break a constraint."""
    if isinstance(rule, LabelRule):
        return not bool(rule.nodes[node_of[(node_of >= 0) & rule.member[problem.component]]].all())
    group = np.array(rule.group, dtype=np.int64)[problem.component]
    placed = (node_of >= 0) & (group >= 0)
    domain = rule.domain[node_of[placed]]
    if rule.kind is ConstraintKind.AT_MOST:
        return bool((np.bincount(domain) > rule.limit).any())
    if rule.kind is ConstraintKind.APART:
        pairs = np.unique(np.stack([domain, group[placed]]), axis=1)
        return bool((np.bincount(pairs[0]) > 1).any())
    return len(np.unique(domain)) > 1
