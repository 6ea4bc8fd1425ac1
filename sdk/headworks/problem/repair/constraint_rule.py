"""Placement constraints as a rule of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.model import FrozenMap, Reason
from headworks.problem.arrays.constraints import binds
from headworks.problem.repair.hard import repair_hard
from headworks.problem.repair.soft import repair_soft
from headworks.problem.rules.domain_counts import DomainCounts
from headworks.problem.rules.violations import breaches_by, broken_on_nodes, new_breaches
from headworks.problem.rules.worker_rules import WorkerNeeds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headworks.model import Slot
    from headworks.problem.arrays.arrays import Arrays
    from headworks.problem.arrays.constraints import Constraints
    from headworks.problem.rules.rule import Cause, Flags, Ints


class ConstraintRule:
    """The hard constraints, which every plan keeps, and the soft ones as far as there is room; see `PlacementRule`."""

    def __init__(self, problem: Arrays, constraints: Constraints | None = None) -> None:
        """Take the constraints of a request, or others in their place."""
        self._problem = problem
        self._constraints = problem.constraints if constraints is None else constraints

    def tallies(self) -> tuple[DomainCounts, ...]:
        """Tasks by domain."""
        return (DomainCounts(self._constraints, self._problem.component),)

    def needs(self) -> tuple[WorkerNeeds, ...]:
        """Workers that constraints within them divide."""
        return (WorkerNeeds(self._problem),) if self._constraints.workers else ()

    def worsens(self, _before: Ints, _after: Ints) -> bool:
        """Never: a room refuses what breaks a hard constraint."""
        return False

    def breaches(self, assignment: Mapping[str, Slot]) -> Iterator[Reason]:
        """Hard constraints that an assignment breaks and the running one does not."""
        return new_breaches(self._problem, assignment)

    def obstacles(self, others: Mapping[str, Slot], task: int, slots: Sequence[Slot]) -> list[list[Reason]]:
        """Hard constraints that one task would newly break in each of some slots."""
        found = breaches_by(self._problem, FrozenMap(others), task, slots)
        return [
            [Reason(code="constraint", subject=slot.node, message=each) for each in broken]
            for slot, broken in zip(slots, found, strict=True)
        ]

    def repair(self, node_of: Ints, left_out: Flags) -> Iterator[tuple[Ints, Cause]]:
        """Hard constraints first, then soft ones."""
        kept = repair_hard(self._problem, node_of, left_out)
        yield kept, self._cause(node_of, hard=True)
        yield repair_soft(self._problem, kept), self._cause(kept, hard=False)

    def _cause(self, decided: Ints, *, hard: bool) -> Cause:
        known: list[list[tuple[str, int]]] = []

        def cause(task: int) -> str:
            if not known:  # only a decision that is changed is looked at
                parts = range(len(self._problem.components))
                rules = broken_on_nodes(self._problem, decided, hard=hard)
                known.append([(str(each.constraint), part) for each in rules for part in parts if binds(each, part)])
            part = int(self._problem.component[task])
            if mine := [text for text, of in known[0] if of == part]:
                return f"{'' if hard else 'soft '}constraint: {'; '.join(mine)}"
            if decided[task] < 0:
                return "it had no node, and constraints leave it this one"
            return "it makes way for a task that constraints bind"

        return cause
