"""Constraints of a request as rows of a table, with the plans that break them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.problem import Problem
from headworks.problem.rules.violations import breaches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.model import Plan, Request

CONSTRAINT_COLUMNS = ("topology", "constraint", "kind", "tasks that break it")


def constraint_rows(request: Request, plans: Mapping[str, Plan]) -> tuple[tuple[str, ...], ...]:
    """One row a constraint, with the number of tasks that break it in each plan; no rows where there are none.

    Args:
        plans: Plans for it, by a name; a single one needs none.
    """
    if not any(topology.constraints for topology in request.topologies):
        return ()
    problem = Problem.of(request)
    counts = {name: list(breaches(problem, plan.assignment)) for name, plan in plans.items()}
    rules = [rule for rule, _ in next(iter(counts.values()), [])]
    return tuple(
        (
            rule.topology,
            str(rule.constraint),
            "hard" if rule.constraint.is_hard else f"soft, weight {rule.constraint.weight:g}",
            _counted({name: found[at][1] for name, found in counts.items()}, hard=rule.constraint.is_hard),
        )
        for at, rule in enumerate(rules)
    )


def _counted(counts: Mapping[str, int], *, hard: bool) -> str:
    """Plans and their numbers of tasks; one number where it is that of all. Only what ran before breaks a hard one."""
    as_before = ", as before" if hard else ""
    if not any(counts.values()):
        return "0"
    if len(set(counts.values())) == 1:
        every = "" if len(counts) == 1 else " in every plan"
        return f"{max(counts.values())}{every}{as_before}"
    return ", ".join(f"{name} {count}" for name, count in counts.items() if count) + as_before
