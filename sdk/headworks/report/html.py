"""Self-contained HTML pages: tables and pictures, no script, nothing fetched."""

from __future__ import annotations

import itertools
from html import escape
from typing import TYPE_CHECKING, Any

import attrs

from headworks.problem import Problem
from headworks.report.format import CONSTRAINT_COLUMNS, bound_text, comparison_cells, constraint_rows, repair_rows
from headworks.report.placement import placement_svg
from headworks.report.style import BASE
from headworks.report.trade_offs import trade_offs_svg

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headworks.api import Comparison
    from headworks.model import Request

STYLE = (
    BASE
    + """
p.notes { color: var(--soft); max-width: none; font-size: .9rem; margin: .2rem 0; }
.panels { display: flex; flex-wrap: wrap; gap: 0 1.5rem; }
section { max-width: 100%; }
figure { margin: .5rem 0 1.5rem; overflow-x: auto; }
figure.many { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; }
figcaption { color: var(--soft); contain: inline-size; flex-basis: 100%; }
svg { max-width: 100%; height: auto; }
svg.wide { min-width: 46rem; }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg .name { font-weight: 600; } svg .load, svg .flow { fill: var(--soft); font-size: 11px; }
svg .flow { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
svg .task { fill: #ffffff; font-size: 11px; }
svg .node { fill: var(--card); stroke: var(--line); stroke-width: 1.5; }
svg .band { fill: none; stroke: #b3453f; stroke-opacity: .45; }
svg .free { fill: none; stroke: var(--line); } svg .tick { stroke: var(--line); }
@media (max-width: 40rem) { figure.many svg text { font-size: 15px; } }
"""
)


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
    """A picture under a heading; those in `more` are beside it where there is room."""

    title: str
    svg: str
    more: tuple[str, ...] = ()
    caption: str = ""


def page(title: str, intro: Sequence[str], parts: Iterable[Table | Panel]) -> str:
    """One HTML page."""
    paragraphs = "".join(f"<p>{escape(text)}</p>" for text in intro)
    body = "".join(_panels(some) if panels else "".join(map(_table, some)) for panels, some in _runs(parts))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>'
        f"<body><h1>{escape(title)}</h1>{paragraphs}{body}</body></html>\n"
    )


def _runs(parts: Iterable[Table | Panel]) -> Iterator[tuple[bool, Iterator[Any]]]:
    """Tables and panels in their order: whether it is panels that follow, and these."""
    return itertools.groupby(parts, lambda part: isinstance(part, Panel))


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
    name = escape(table.title or table.caption or "Figures")
    region = f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">'
    return f"{title}{region}<table>{caption}{head}<tbody>{rows}</tbody></table></div>{notes}"


def _panels(panels: Iterable[Panel]) -> str:
    return f'<div class="panels">{"".join(map(_panel, panels))}</div>'


def _panel(panel: Panel) -> str:
    caption = f"<figcaption>{escape(panel.caption)}</figcaption>" if panel.caption else ""
    look = ' class="many"' if panel.more else ""
    pictures = "".join((panel.svg, *panel.more))
    return f'<section><h2>{escape(panel.title)}</h2><figure{look} tabindex="0">{pictures}{caption}</figure></section>'


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
