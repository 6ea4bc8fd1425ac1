"""Figures, and constraints of a request, as people read them, the same in a terminal and on a page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headworks.api import Comparison
    from headworks.model import Bound, Plan, Request, Scores


def quantity(amount: float | None, digits: int = 3) -> str:
    """A number as people read it: 12,345 or 0.457, and - where there is none."""
    if amount is None:
        return "-"
    whole = abs(amount) >= 10 ** (digits - 1) or amount == int(amount)
    return f"{amount:,.0f}" if whole else f"{amount:.{digits}g}"


def percent(share: float) -> str:
    """A share as a percentage."""
    return f"{share:.1%}"


def times(factor: float | None) -> str:
    """A factor of load, such as 1.25x, and - where there is none."""
    return "-" if factor is None else f"{factor:.2f}x"


def score_cells(scores: Scores) -> tuple[str, ...]:
    """The cells of a comparison that come from scores, in the order of `SCORE_COLUMNS`; - where nothing runs."""
    return (
        "-" if scores.idle else percent(scores.share),
        "-" if scores.idle else quantity(scores.inter_node),
        str(scores.nodes_used),
        str(scores.workers),
        "-" if scores.idle else percent(scores.fullest_node),
        "-" if scores.idle else percent(scores.fullest_link),
        times(scores.factor),
        quantity(scores.cost),
        str(scores.moves),
    )


SCORE_COLUMNS = ("between nodes", "traffic between", "nodes", "workers", "fullest", "link", "bears", "cost/h", "moves")

OPTIONAL_COLUMNS: dict[str, Callable[[Plan], float | None]] = {
    "repaired": lambda plan: len(plan.repaired),
    "throughput": lambda plan: plan.scores.throughput,
    "penalty": lambda plan: plan.scores.penalty,
    "batch s": lambda plan: plan.scores.batch_seconds,
}
"""Columns that a table has where the figure of one of its plans is not 0."""


def comparison_cells(comparison: Comparison) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Headings and, for each row, cells of a comparison; all after the scores are there if a row has them."""
    rows = comparison.plans
    columns, cells = list(SCORE_COLUMNS), [list(score_cells(row.plan.scores)) for row in rows]
    for heading, value in OPTIONAL_COLUMNS.items():
        found = [value(row.plan) for row in rows]
        if any(found):
            columns.append(heading)
            for number, each in zip(found, cells, strict=True):
                each.append(quantity(number))
    if comparison.bound is not None:
        columns.append("gap" if comparison.bound.proven else "to bound")
        for row, each in zip(rows, cells, strict=True):
            each.append("-" if row.gap is None else percent(row.gap))
    columns.append("plan ms")
    for row, each in zip(rows, cells, strict=True):
        each.append(f"{row.seconds * 1000:,.1f}")
    return tuple(columns), [tuple(each) for each in cells]


def repair_rows(plan: Plan) -> list[tuple[str, str, str, str, int]]:
    """Component, node decided, node planned, reason, and number of tasks of the repairs of a plan."""
    count = Counter(
        (each.task.rpartition("/")[0], each.source or "none", each.target or "none", each.why) for each in plan.repaired
    )
    return [(*line, number) for line, number in count.items()]


def bound_text(bound: Bound | None) -> str:
    """A bound in words, "" where there is none."""
    if bound is None:
        return ""
    what = "proven optimum" if bound.proven else "no plan has less than" if bound.figure == "inter_node" else "at most"
    where = "between nodes" if bound.figure == "inter_node" else "throughput"
    return f"{what} {quantity(bound.value)} {where}"


CONSTRAINT_COLUMNS = ("topology", "constraint", "kind", "tasks that break it")


def constraint_rows(request: Request, plans: Mapping[str, Plan]) -> tuple[tuple[str, ...], ...]:
    """One row a constraint, with the number of tasks that break it in each plan; no rows where there are none.

    Args:
        plans: Plans for it, by a name; a single one needs none.
    """
    if not any(topology.constraints for topology in request.topologies):
        return ()
    # numpy costs 0.1 s, which lists of commands do not need.
    from headworks.problem import Problem
    from headworks.problem.rules.violations import breaches

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
