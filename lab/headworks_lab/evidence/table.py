"""Printed and recomputed figures, and improved variants beside the optimum, as tables of a terminal."""

from __future__ import annotations

import textwrap
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.text import Text

from headworks.cli.output import WIDTH, Coloured, table
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
    return table(title, ("improvement", "figure", *COLUMNS, "status"), rows, numbers=COLUMNS)


def _coloured(status: str, text: str) -> Coloured:
    return Coloured(text, COLOUR.get(status, "green"))


def _figures(title: str, column: str, results: Sequence[Result], notes: Mapping[str, int]) -> Any:
    rows: list[tuple[object, ...]] = []
    for source, group in groupby(results, key=lambda each: each.source):
        rows.append(("", Coloured(source, "bold"), "", "", "", "", ""))
        rows += [
            (each.id, each.statement, *figures(each), _coloured(each.status, status_text(each, notes)))
            for each in group
        ]
    columns = ("claim", "figure", column, *FIGURES, "status")
    return table(title, columns, rows, numbers=columns[2:-1])


def _footnote(number: int, note: str) -> str:
    mark = f"[{number}] "
    return textwrap.fill(note, WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark))


def _counts(found: Mapping[str, Sequence[Result]]) -> Any:
    columns, rows = counts(found)
    return table("", columns, rows, numbers=columns[1:])
