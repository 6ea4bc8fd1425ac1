"""Self-contained HTML pages: tables and pictures, no script, nothing fetched."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import attrs

from headworks.problem import Problem
from headworks.report.format import CONSTRAINT_COLUMNS, bound_text, comparison_cells, constraint_rows, repair_rows
from headworks.report.placement import placement_svg
from headworks.report.trade_offs import trade_offs_svg

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headworks.api import Comparison
    from headworks.model import Request

STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5c6b7a; --paper: #fcfcfa; --card: #ffffff; --line: #d7dde3; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9ee; --soft: #9aa8b5; --paper: #14181d; --card: #1c2229; --line: #36404a; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1080px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .4rem; }
p { max-width: 46rem; } p.soft { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; background: var(--card); }
caption { text-align: left; color: var(--soft); padding: .3rem 0; }
th, td { padding: .35rem .5rem; white-space: nowrap; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { text-align: left; }
figure { margin: .5rem 0 1.5rem; overflow-x: auto; } figcaption { color: var(--soft); }
svg { max-width: 100%; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg .name { font-weight: 600; } svg .load, svg .flow { fill: var(--soft); font-size: 11px; }
svg .flow { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
svg .task { fill: #ffffff; font-size: 11px; }
svg .node { fill: var(--card); stroke: var(--line); stroke-width: 1.5; }
svg .band { fill: none; stroke: #b3453f; stroke-opacity: .45; }
svg .free { fill: none; stroke: var(--line); } svg .tick { stroke: var(--line); }
td.text, th.text { text-align: left; white-space: normal; min-width: 7rem; } p.notes { color: var(--soft); }
p.notes { max-width: none; font-size: .9rem; margin: .2rem 0; }
"""


REPAIR_COLUMNS = ("scheduler", "component", "decided", "planned", "why", "tasks")


@attrs.frozen(kw_only=True)
class Table:
    """Rows of text under column headings; the columns in `text` are prose, `notes` stand below."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    caption: str = ""
    title: str = ""
    text: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Panel:
    """A picture under a heading."""

    title: str
    svg: str
    caption: str = ""


def page(title: str, intro: Sequence[str], parts: Iterable[Table | Panel]) -> str:
    """One HTML page."""
    paragraphs = "".join(f"<p>{escape(text)}</p>" for text in intro)
    body = "".join(_table(part) if isinstance(part, Table) else _panel(part) for part in parts)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f"<body><h1>{escape(title)}</h1>{paragraphs}{body}</body></html>\n"
    )


def _table(table: Table) -> str:
    look = [' class="text"' if column in table.text else "" for column in table.columns]

    def cells(tag: str, row: Iterable[object]) -> str:
        pairs = zip(look, row, strict=True)
        return "".join(f"<{tag}{kind}>{escape('' if cell is None else str(cell))}</{tag}>" for kind, cell in pairs)

    rows = "".join(f"<tr>{cells('td', row)}</tr>" for row in table.rows)
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    notes = "".join(f'<p class="notes">{escape(note)}</p>' for note in table.notes)
    title = f"<h2>{escape(table.title)}</h2>" if table.title else ""
    head = f"<thead><tr>{cells('th', table.columns)}</tr></thead>"
    return f'{title}<div class="scroll"><table>{caption}{head}<tbody>{rows}</tbody></table></div>{notes}'


def _panel(panel: Panel) -> str:
    caption = f"<figcaption>{escape(panel.caption)}</figcaption>" if panel.caption else ""
    return f"<h2>{escape(panel.title)}</h2><figure>{panel.svg}{caption}</figure>"


def comparison_page(comparison: Comparison, request: Request) -> str:
    """A comparison as a page: its table, its figures as a picture, the constraints, and a picture of each plan."""
    columns, cells = comparison_cells(comparison)
    rows = tuple((row.name, row.plan.label, *each) for row, each in zip(comparison.plans, cells, strict=True))
    table = Table(columns=("scheduler", "status", *columns), rows=rows, caption=bound_text(comparison.bound))
    problem = Problem.of(request)
    panels = [
        Panel(
            title=row.name,
            svg=placement_svg(problem, row.plan.assignment),
            caption=row.plan.explanation or "; ".join(reason.message for reason in row.plan.reasons[:2]),
        )
        for row in comparison.plans
    ]
    constraints = constraint_rows(request, {row.name: row.plan for row in comparison.plans})
    held = [Table(columns=CONSTRAINT_COLUMNS, rows=constraints, title="Constraints", text=CONSTRAINT_COLUMNS[1:])]
    moved = tuple((row.name, *line) for row in comparison.plans for line in repair_rows(row.plan))
    repaired = [Table(columns=REPAIR_COLUMNS, rows=moved, title="Repaired by the core", text=REPAIR_COLUMNS[1:5])]
    intro = [f"{problem.n:,} tasks on {problem.m:,} nodes; traffic is counted in {problem.traffic.unit}."]
    if drawn := trade_offs_svg(comparison):
        panels.insert(0, Panel(title="Plans against each other", svg=drawn))
    parts: list[Table | Panel] = [table, *(held if constraints else []), *(repaired if moved else []), *panels]
    return page("Headworks: schedulers compared", intro, parts)
