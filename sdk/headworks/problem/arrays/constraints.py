"""Placement constraints as arrays: nodes that are allowed, and the domains in which tasks are counted."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.model import Constraint, ConstraintKind, Scope
from headworks.model.topology import COUNTED

if TYPE_CHECKING:
    from headworks.model import Node
    from headworks.problem.arrays.arrays import Arrays

UNLIMITED = 2**62
"""More tasks than any request has."""


@attrs.frozen(eq=False, kw_only=True)
class LabelRule:
    """A constraint on labels.

    Attributes:
        member: bool (c,), components that it binds.
        nodes: bool (m,), nodes that it leaves them.
    """

    constraint: Constraint
    topology: str
    member: NDArray[np.bool_]
    nodes: NDArray[np.bool_]


@attrs.frozen(eq=False, kw_only=True)
class CountRule:
    """A constraint that counts tasks in domains.

    Attributes:
        kind: `apart` of a single component is `at_most` 1 here.
        group: Group of each component that is counted apart from the others, length c; -1 for no member.
        groups: Number of groups.
        domain: int64 (m,), domain of each node; workers of one node are not told apart here.
        names: Name of each domain.
        limit: Tasks that a domain may hold, for `at_most`.
        need: float64 (r,), what all members together need, less those that are fixed, for `together`.
    """

    constraint: Constraint
    topology: str
    kind: ConstraintKind
    group: tuple[int, ...]
    groups: int
    domain: NDArray[np.int64]
    names: tuple[str, ...]
    limit: int
    need: NDArray[np.float64]


@attrs.frozen(eq=False, kw_only=True)
class Constraints:
    """The constraints of a request.

    Attributes:
        allowed: bool (c, m), nodes that the hard constraints on labels leave to each component.
        labels: Hard constraints on labels.
        counted: Hard constraints that decide on nodes.
        workers: Hard constraints within workers, which the step from nodes to slots decides.
        soft_labels: Soft constraints on labels.
        soft_counted: Soft constraints that count, those within workers included.
        of: For each component, which of `counted` bind it.
        bound: bool (c,), components that a hard constraint binds.
    """

    allowed: NDArray[np.bool_]
    labels: tuple[LabelRule, ...]
    counted: tuple[CountRule, ...]
    workers: tuple[CountRule, ...]
    soft_labels: tuple[LabelRule, ...]
    soft_counted: tuple[CountRule, ...]
    of: tuple[tuple[int, ...], ...]
    bound: NDArray[np.bool_]

    def __bool__(self) -> bool:
        return bool(self.hard or self.soft)

    @property
    def hard(self) -> tuple[LabelRule | CountRule, ...]:
        """Every hard constraint."""
        return tuple(dict.fromkeys((*self.labels, *self.counted, *self.workers)))

    @property
    def soft(self) -> tuple[LabelRule | CountRule, ...]:
        """Every soft constraint."""
        return (*self.soft_labels, *self.soft_counted)

    def without(self, rule: LabelRule | CountRule, *, limit: int | None = None) -> Constraints:
        """The constraints without one of them, or with another limit in its place.

        Args:
            rule: A hard constraint.
            limit: Its limit instead; None leaves it out.
        """
        kept: list[LabelRule | CountRule] = [each for each in self.hard if each is not rule]
        if limit is not None and isinstance(rule, CountRule):
            kept.append(attrs.evolve(rule, limit=limit))
        c, m = self.allowed.shape
        return _assemble(c, m, (*kept, *self.soft))


def constraints_of(problem: Arrays) -> Constraints:
    """The constraints of a request as arrays."""
    rules: list[LabelRule | CountRule] = []
    nodes = sorted(problem.request.cluster.nodes, key=lambda node: node.id)
    for topology in sorted(problem.request.topologies, key=lambda each: each.id):
        for constraint in sorted(topology.constraints, key=attrgetter("key")):
            names = set(constraint.components) or {part.id for part in topology.components}
            member = np.array([of == topology.id and part in names for of, part in problem.components], dtype=bool)
            if constraint.kind in COUNTED:
                rules.append(_count_rule(problem, constraint, topology.id, member, nodes))
            else:
                rules.append(_label_rule(constraint, topology.id, member, nodes))
    return _assemble(len(problem.components), problem.m, tuple(rules))


def binds(rule: LabelRule | CountRule, part: int) -> bool:
    """Check whether a constraint is one on a component."""
    return rule.group[part] >= 0 if isinstance(rule, CountRule) else bool(rule.member[part])


def _assemble(c: int, m: int, rules: tuple[LabelRule | CountRule, ...]) -> Constraints:
    labels = tuple(each for each in rules if isinstance(each, LabelRule))
    counted = tuple(each for each in rules if isinstance(each, CountRule))
    hard = tuple(each for each in counted if each.constraint.is_hard)
    on_nodes = tuple(each for each in hard if each.constraint.scope is not Scope.WORKER)
    in_workers = tuple(each for each in hard if each.constraint.scope is Scope.WORKER)
    # what is in one worker is on one node
    on_nodes += tuple(each for each in in_workers if each.kind is ConstraintKind.TOGETHER)
    allowed, bound = np.ones((c, m), dtype=bool), np.zeros(c, dtype=bool)
    binding = tuple(each for each in labels if each.constraint.is_hard)
    for rule in binding:
        allowed[rule.member] &= rule.nodes
        bound |= rule.member
    for each in hard:
        bound |= np.array(each.group, dtype=np.int64) >= 0
    return Constraints(
        allowed=allowed,
        labels=binding,
        counted=on_nodes,
        workers=in_workers,
        soft_labels=tuple(each for each in labels if not each.constraint.is_hard),
        soft_counted=tuple(each for each in counted if not each.constraint.is_hard),
        of=tuple(tuple(at for at, each in enumerate(on_nodes) if each.group[part] >= 0) for part in range(c)),
        bound=bound,
    )


def _label_rule(constraint: Constraint, topology: str, member: NDArray[np.bool_], nodes: list[Node]) -> LabelRule:
    has = np.array([_has(node, constraint) for node in nodes], dtype=bool)
    never = constraint.kind is ConstraintKind.NEVER_ON
    return LabelRule(constraint=constraint, topology=topology, member=member, nodes=~has if never else has)


def _has(node: Node, constraint: Constraint) -> bool:
    """Check whether a node has the labels of a constraint."""
    known = {
        **node.labels,
        "node": node.id,
        "host": node.hostname,
        "rack": node.rack,
        "zone": node.zone,
        "machine_type": node.machine_type,
    }
    return all(known.get(name) in values for name, values in constraint.labels.items())


def _count_rule(
    problem: Arrays, constraint: Constraint, topology: str, member: NDArray[np.bool_], nodes: list[Node]
) -> CountRule:
    parts = np.flatnonzero(member).tolist()
    alone = constraint.kind is ConstraintKind.APART and len(parts) == 1
    apart = constraint.kind is ConstraintKind.APART and not alone
    group = np.full(len(member), -1, dtype=np.int64)
    group[parts] = np.arange(len(parts)) if apart else 0
    names, domain = _domains(constraint.scope, nodes)
    free = member[problem.component] & (problem.fixed < 0) if problem.n else np.zeros(0, dtype=bool)
    return CountRule(
        constraint=constraint,
        topology=topology,
        kind=ConstraintKind.AT_MOST if alone else constraint.kind,
        group=tuple(group.tolist()),
        groups=len(parts) if apart else 1,
        domain=domain,
        names=names,
        limit=1 if alone else constraint.limit or UNLIMITED,
        need=problem.demand[free].sum(axis=0),
    )


def _domains(scope: Scope, nodes: list[Node]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Names of the domains of a scope, and the domain of each node."""
    match scope:
        case Scope.HOST:
            keys = [node.hostname for node in nodes]
        case Scope.RACK:
            keys = [node.rack or "" for node in nodes]
        case Scope.ZONE:
            keys = [node.zone or "" for node in nodes]
        case _:
            keys = [node.id for node in nodes]
    index = {name: at for at, name in enumerate(sorted(set(keys)))}
    return tuple(index), np.array([index[key] for key in keys], dtype=np.int64)
