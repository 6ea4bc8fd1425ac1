"""Printed and recomputed figures, and improved variants beside the optimum, as tables of a terminal."""

from __future__ import annotations

import textwrap
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.text import Text

from headworks.cli.output import WIDTH, Markup, table
from headworks_lab.evidence.claims import (
    FIGURES,
    apart,
    counts,
    figures,
    marked,
    number_notes,
    status_text,
    summary,
)
from headworks_lab.evidence.variants import COLUMNS, by_variant, cells, tally

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headworks_lab.evidence.claims import Result
    from headworks_lab.evidence.variants import Improved

COLOUR = {"not reproducible": "yellow", "bound": "yellow", "no bound": "yellow", "differs": "red"}
FIGURE = 12
"""Columns of a printed figure, or of ours, at most."""
STATEMENT = 30
"""Columns of a statement, at least; it has what the others leave of the page."""


def evidence(found: Mapping[str, Sequence[Result]], improved: Sequence[Improved]) -> Iterator[Any]:
    """Tables of every plugin's figures by source with notes below, then variants and optima, then the counts.

    Args:
        found: Recomputed figures by plugin.
        improved: Measured variants of schedulers.
    """
    for plugin, results in found.items():
        notes = number_notes(results)
        for title, column, group in apart(plugin, results):
            yield _figures(title, column, group, notes)
        yield from _footnotes(notes)
    for title, rows in by_variant(improved).items():
        notes = number_notes(rows)
        yield _variants(title, rows, notes)
        yield from _footnotes(notes)
    if len(found) > 1:
        yield _counts(found)
    if found:
        yield Text(summary([result for results in found.values() for result in results]))
    if improved:
        yield Text(tally(improved))


def _footnotes(notes: Mapping[str, int]) -> Iterator[Any]:
    if notes:
        yield Text("\n".join([*map(_footnote, notes.values(), notes), ""]))


def _variants(title: str, improved: Sequence[Improved], notes: Mapping[str, int]) -> Any:
    rows = [
        (each.id, each.statement, *cells(each), _coloured(each.status, marked(each.status, each.note, notes)))
        for each in improved
    ]
    made = table(title, ("improvement", "figure", *COLUMNS, "status"), rows, numbers=COLUMNS)
    made.padding = (0, 1, 0, 0)
    _fit(made.columns)
    return made


def _coloured(status: str, text: str) -> Markup:
    return Markup(f"[{COLOUR.get(status, 'green')}]{escape(text)}[/]")


def _figures(title: str, column: str, results: Sequence[Result], notes: Mapping[str, int]) -> Any:
    rows: list[tuple[object, ...]] = []
    for source, group in groupby(results, key=lambda each: each.source):
        rows.append(("", Markup(f"[bold]{escape(source)}[/]"), "", "", "", "", ""))
        rows += [
            (each.id, each.statement, *figures(each), _coloured(each.status, status_text(each, notes)))
            for each in group
        ]
    columns = ("claim", "figure", column, *FIGURES, "status")
    made = table(title, columns, rows, numbers=columns[2:-1])
    made.padding = (0, 1, 0, 0)
    _fit(made.columns)
    return made


def _fit(columns: Sequence[Any]) -> None:
    """Set widths: figures are cut at `FIGURE`, the status is whole, the statement has the rest."""
    for column in columns:
        cells = [str(cell) for cell in (column.header, *column.cells)]
        column.width = max(Text.from_markup(line).cell_len for cell in cells for line in cell.split("\n"))
    for column in columns[2:4]:
        whole = any("\n" in str(cell) for cell in column.cells)  # a figure with its interval, which is not cut
        column.width = column.width if whole else min(column.width, FIGURE)
    others = sum(column.width for column in columns) - columns[1].width
    columns[1].width = max(min(columns[1].width, WIDTH - 2 * len(columns) - 1 - others), STATEMENT)


def _footnote(number: int, note: str) -> str:
    mark = f"[{number}] "
    return textwrap.fill(note, WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark))


def _counts(found: Mapping[str, Sequence[Result]]) -> Any:
    columns, rows = counts(found)
    return table("", columns, rows, numbers=columns[1:])
