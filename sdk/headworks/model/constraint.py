"""Placement constraints of a topology: which of its tasks may share a domain, and which nodes they may use."""

from __future__ import annotations

import enum

import attrs

from headworks.model.frozen import FrozenMap


class ConstraintKind(enum.StrEnum):
    """Kind of a constraint."""

    TOGETHER = "together"
    """All tasks of the components are in one domain."""
    APART = "apart"
    """No domain holds tasks of two of the components; of a single component, no two tasks."""
    AT_MOST = "at_most"
    """No domain holds more than `limit` tasks of the components, counted together."""
    ONLY_ON = "only_on"
    """Tasks of the components run on nodes with the labels alone."""
    NEVER_ON = "never_on"
    """Tasks of the components run on no node with the labels."""
    PREFER = "prefer"
    """`only_on` that is always soft."""


class Scope(enum.StrEnum):
    """Domain within which tasks are counted. Nodes without a rack, or without a zone, share one that has no name."""

    NODE = "node"
    HOST = "host"
    RACK = "rack"
    ZONE = "zone"
    WORKER = "worker"


COUNTED = frozenset({ConstraintKind.TOGETHER, ConstraintKind.APART, ConstraintKind.AT_MOST})
"""Kinds that count tasks in domains; the others look at labels."""


@attrs.frozen(kw_only=True)
class Constraint:
    """A placement constraint on the tasks of some components of one topology.

    A node has the labels of a constraint if each name has one of the given values there. The names `node` (its id),
    `host`, `rack`, `zone` and `machine_type` stand for the node's own fields.

    Attributes:
        components: Ids of the components; empty means every component of the topology.
        scope: Domain of `together`, `apart` and `at_most`.
        limit: Tasks that one domain may hold, for `at_most` alone.
        labels: Values by label name, for `only_on`, `never_on` and `prefer`.
        hard: Whether no plan may break it; a soft one is kept where there is room.
        weight: Of a soft one, how much a task that breaks it counts; heavier ones are kept first.
    """

    kind: ConstraintKind
    components: tuple[str, ...] = ()
    scope: Scope = Scope.NODE
    limit: int | None = None
    labels: FrozenMap[str, tuple[str, ...]] = FrozenMap()
    hard: bool = True
    weight: float = 1.0

    @property
    def is_hard(self) -> bool:
        """True if no plan may break it."""
        return self.hard and self.kind is not ConstraintKind.PREFER

    @property
    def key(self) -> tuple[object, ...]:
        """Sort key: what a constraint says, whatever the order in which its components and values are given."""
        labels = tuple(sorted((name, tuple(sorted(values))) for name, values in self.labels.items()))
        parts = tuple(sorted(self.components))
        return self.kind, self.scope, parts, self.limit or 0, labels, self.hard, self.weight

    def __str__(self) -> str:
        names = ", ".join(sorted(self.components)) or "all components"
        wanted = " and ".join(f"{name}={'|'.join(sorted(values))}" for name, values in sorted(self.labels.items()))
        match self.kind:
            case ConstraintKind.TOGETHER:
                return f"{names} together on one {self.scope}"
            case ConstraintKind.APART:
                return f"{names} apart on every {self.scope}"
            case ConstraintKind.AT_MOST:
                return f"at most {self.limit} of {names} a {self.scope}"
            case ConstraintKind.ONLY_ON:
                return f"{names} only on {wanted}"
            case ConstraintKind.NEVER_ON:
                return f"{names} never on {wanted}"
            case _:
                return f"{names} preferably on {wanted}"
