"""Plans and comparisons as tables of a terminal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from headworks.cli.output import state, table
from headworks.model.plan import STARVED
from headworks.report.format import (
    CONSTRAINT_COLUMNS,
    bound_text,
    comparison_cells,
    constraint_rows,
    percent,
    quantity,
    repair_rows,
    score_cells,
    times,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headworks.api import Compared, Comparison
    from headworks.model import Move, Plan, Request

SPARE = ("cost/h", "workers", "link", "traffic between", "fullest", "plan ms", "bears", "moves", "nodes")
"""Columns of a comparison that are left out first where there is no room."""
SHOWN_MOVES = 12
SHOWN_REASONS = 8


def comparison_table(comparison: Comparison, request: Request) -> Any:
    """Table of one row a plan; throughput and gap where they are known."""
    unit = comparison.plans[0].plan.scores.unit if comparison.plans else "tuples/s"
    tasks = sum(part.parallelism for topology in request.topologies for part in topology.components)
    columns, cells = comparison_cells(comparison)
    rows = [(row.name, state(row.plan.label), *more) for row, more in zip(comparison.plans, cells, strict=True)]
    title = f"{tasks:,} tasks on {len(request.cluster.nodes):,} nodes, traffic in {unit}"
    if said := bound_text(comparison.bound):
        title += f"; {said}"
    return table(title, ("scheduler", "status", *columns), rows, numbers=columns, whole=("status",), spare=SPARE)


def summary_table(names: Sequence[str], comparisons: Sequence[Comparison]) -> Any:
    """Table of one row a scheduler over several requests: plans that are ok, and means over these.

    Args:
        comparisons: Plans for each of them, in the same order.
    """
    by_name: dict[str, list[Compared]] = {}
    for comparison in comparisons:
        for row in comparison.plans:
            by_name.setdefault(row.scheduler, []).append(row)
    columns = ("ok", "between nodes", "gap", "largest gap", "compared", "plan ms")
    rows = [(name, *_mean_cells(rows)) for name, rows in by_name.items()]
    return table(f"{len(names)} requests: means over the plans that are ok", ("scheduler", *columns), rows, columns)


def _mean_cells(rows: list[Compared]) -> tuple[str, ...]:
    done = [row for row in rows if row.plan.status == "ok"]
    gaps = [row.gap for row in done if row.gap is not None]
    shares = [row.plan.scores.share for row in done]
    return (
        f"{len(done)} of {len(rows)}",
        percent(sum(shares) / len(shares)) if shares else "-",
        percent(sum(gaps) / len(gaps)) if gaps else "-",
        percent(max(gaps)) if gaps else "-",
        f"{len(gaps)}",
        f"{1000 * sum(row.seconds for row in rows) / len(rows):,.1f}",
    )


def plan_tables(plan: Plan, request: Request, say: Callable[[str], str] = str) -> list[Any]:
    """Tables of a plan: its figures, the constraints where there are any, and the moves.

    Args:
        plan: The plan.
        request: What it was made for.
        say: Writes ids as people know them.
    """
    scores = plan.scores
    crossing = "" if scores.idle else f" ({quantity(scores.inter_node)} {scores.unit})"
    share, _, _, _, fullest, link, *_ = score_cells(scores)
    rows = [
        ("status", state(status_text(plan))),
        ("scheduler", f"{plan.provenance.scheduler} {plan.provenance.version}"),
        ("traffic between nodes", f"{share}{crossing}"),
        ("nodes used", f"{scores.nodes_used} of {len(request.cluster.nodes)}"),
        ("workers", scores.workers),
        ("fullest node", fullest),
        ("fullest link", link),
        ("load that it bears", times(scores.factor)),
        ("cost per hour", quantity(scores.cost, 4)),
        ("tasks", ", ".join(f"{name} {count}" for name, count in plan.parallelism.items())),
        ("input rate", "" if plan.input_rate is None else f"{quantity(plan.input_rate)} tuples/s"),
        ("throughput at most", "" if scores.throughput is None else f"{quantity(scores.throughput)} tuples/s"),
        ("bound", bound_text(plan.bound)),
        ("running tasks that move", scores.moves),
        ("penalty of soft constraints", quantity(scores.penalty) if scores.penalty else ""),
        ("explanation", plan.explanation),
    ]
    tables = [
        table(
            "",
            ("figure", "value"),
            [row for row in rows if row[1] not in ("", "-") or row[0] == "traffic between nodes"],
        )
    ]
    tables += constraint_tables(request, {"": plan})
    if plan.repaired:
        tables.append(repairs_table(plan, say))
    if plan.moves:
        tables.append(moves_table(plan, say))
    return tables


def repairs_table(plan: Plan, say: Callable[[str], str] = str) -> Any:
    """Table of the tasks that are not where the scheduler decided; those of one component alike share a line.

    Args:
        plan: The plan.
        say: Writes ids as people know them.
    """
    columns = ("component", "decided", "planned", "why", "tasks")
    title = f"{len(plan.repaired):,} tasks are not where {plan.provenance.scheduler or 'the scheduler'} decided"
    rows = [(*map(say, texts), number) for *texts, number in repair_rows(plan)]
    return table(title, columns, _shortened(rows), numbers=("tasks",))


def constraint_tables(request: Request, plans: Mapping[str, Plan]) -> list[Any]:
    """Table of the constraints and the plans that break them; none where a request has no constraints."""
    rows = constraint_rows(request, plans)
    return [table(f"{len(rows)} constraints", CONSTRAINT_COLUMNS, rows)] if rows else []


def status_text(plan: Plan) -> str:
    """The status; which topologies get nothing, where the scheduler starves some on purpose."""
    if not plan.starves:
        return plan.label
    return f"starves {', '.join(sorted({each.subject for each in plan.reasons if each.code == STARVED}))}"


def moves_table(plan: Plan, say: Callable[[str], str] = str) -> Any:
    """Table of moves; those of one component between the same nodes share a line.

    Args:
        plan: The plan.
        say: Writes ids as people know them.
    """
    count = Counter(_line(move) for move in plan.moves)
    lines = [(*map(say, line), number) for line, number in count.items()]
    title = f"{len(plan.moves):,} moves"
    return table(title, ("move", "component", "from", "to", "tasks"), _shortened(lines), numbers=("tasks",))


def _shortened(lines: Sequence[tuple[Any, ...]]) -> Sequence[tuple[Any, ...]]:
    """The first lines of five cells, the last of which counts tasks, and one for all others."""
    if len(lines) <= SHOWN_MOVES:
        return lines
    hidden = sum(line[4] for line in lines[SHOWN_MOVES:])
    more = f"{len(lines) - SHOWN_MOVES:,} more lines, all with --json"
    return [*lines[:SHOWN_MOVES], ("...", more, "", "", hidden)]


def _line(move: Move) -> tuple[str, str, str, str]:
    component = move.task.rpartition("/")[0]
    return (
        str(move.kind),
        component,
        move.source.node if move.source else "",
        move.target.node if move.target else "",
    )


def reasons(plan: Plan) -> list[str]:
    """Lines of the reasons why a plan is not OK."""
    lines = [reason.message for reason in plan.reasons[:SHOWN_REASONS]]
    if len(plan.reasons) > SHOWN_REASONS:
        lines.append(f"... and {len(plan.reasons) - SHOWN_REASONS} more reasons")
    return lines
