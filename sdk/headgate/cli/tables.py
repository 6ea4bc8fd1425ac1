"""Plans and comparisons as tables of a terminal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from headgate.cli.output import table
from headgate.figures import SCORE_COLUMNS, percent, quantity, score_cells

if TYPE_CHECKING:
    from headgate.api import Comparison
    from headgate.model import Move, Plan, Request

SHOWN_MOVES = 12
SHOWN_REASONS = 8


def comparison_table(comparison: Comparison, request: Request) -> Any:
    """One row a scheduler."""
    unit = comparison.rows[0].plan.scores.unit if comparison.rows else "tuples/s"
    tasks = sum(part.parallelism for topology in request.topologies for part in topology.components)
    rows = [
        (row.scheduler, row.plan.status, *score_cells(row.plan.scores), f"{row.seconds * 1000:,.1f}")
        for row in comparison.rows
    ]
    title = f"{tasks:,} tasks on {len(request.cluster.nodes):,} nodes, traffic in {unit}"
    columns = ("scheduler", "status", *SCORE_COLUMNS, "plan ms")
    return table(title, columns, rows, numbers=columns[2:])


def plan_tables(plan: Plan, request: Request) -> list[Any]:
    """A plan: its figures, where the load goes, what moves and why not."""
    scores = plan.scores
    rows = [
        ("status", plan.status),
        ("scheduler", f"{plan.provenance.scheduler} {plan.provenance.version}"),
        ("traffic between nodes", f"{percent(scores.share)} ({quantity(scores.inter_node)} {scores.unit})"),
        ("nodes used", f"{scores.nodes_used} of {len(request.cluster.nodes)}"),
        ("workers", scores.workers),
        ("fullest node", percent(scores.utilisation)),
        ("cost per hour", quantity(scores.cost, 4)),
        ("running tasks that move", scores.moves),
        ("explanation", plan.explanation),
    ]
    tables = [table("", ("figure", "value"), [row for row in rows if row[1] not in ("", "-")])]
    if plan.moves:
        tables.append(moves_table(plan))
    return tables


def moves_table(plan: Plan) -> Any:
    """What goes from where to where; moves of one component between the same nodes share a line."""
    count = Counter(_line(move) for move in plan.moves)
    lines = [(kind, component, source, target, number) for (kind, component, source, target), number in count.items()]
    if len(lines) > SHOWN_MOVES:
        hidden = sum(line[4] for line in lines[SHOWN_MOVES:])
        lines = [*lines[:SHOWN_MOVES], ("...", f"{len(lines) - SHOWN_MOVES} more lines", "", "", hidden)]
    title = f"{len(plan.moves):,} moves"
    return table(title, ("move", "component", "from", "to", "tasks"), lines, numbers=("tasks",))


def _line(move: Move) -> tuple[str, str, str, str]:
    component = move.task.rpartition("/")[0]
    return (
        str(move.kind),
        component,
        move.source.node if move.source else "",
        move.target.node if move.target else "",
    )


def reasons(plan: Plan) -> list[str]:
    """Why a plan is not OK, a line each."""
    lines = [reason.message for reason in plan.reasons[:SHOWN_REASONS]]
    if len(plan.reasons) > SHOWN_REASONS:
        lines.append(f"... and {len(plan.reasons) - SHOWN_REASONS} more reasons")
    return lines
