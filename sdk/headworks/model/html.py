"""Values as small tables in HTML, as notebooks show them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROWS = 20
"""Rows of a table, at most."""


def html_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table, cut where it is long.

    Args:
        rows: Cells of each row, as many as columns; None is an empty one.
    """
    every = list(rows)
    more = len(every) - ROWS
    lines = [_row("th", columns), *(_row("td", each) for each in every[:ROWS])]
    if more > 0:
        lines.append(_row("td", [f"{more} more", *[""] * (len(columns) - 1)]))
    return f"<table>{''.join(lines)}</table>"


def _row(tag: str, cells: Sequence[object]) -> str:
    inner = "".join(f"<{tag}>{'' if cell is None else escape(str(cell))}</{tag}>" for cell in cells)
    return f"<tr>{inner}</tr>"
