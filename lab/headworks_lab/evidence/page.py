"""A page of printed and recomputed figures: tables, the papers' charts drawn again, and variants beside the optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.report.html import Panel, Table, page
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
from headworks_lab.report.chart import Dot, chart_svg

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headworks_lab.evidence.claims import Result
    from headworks_lab.evidence.variants import Improved

INTRO = (
    "A figure is exact where it follows from the paper alone; predicted where it comes from a model whose numbers were"
    " not chosen for it; calibrated (k) where k numbers or readings were chosen so that it comes out; follows where it"
    " follows from other figures by arithmetic, and is no evidence of its own; measured where a real engine was run,"
    " with the 95 % interval of repetitions in parentheses; by the variant where another algorithm than the published"
    " one arrives at it. The others cannot be reproduced, for the reason given."
    " Within is the tolerance; where it is empty, the figures have to be the same. Figures that no paper prints are"
    " worked by hand, and stand apart. Charts show printed figures on the left and ours on the right, on one scale."
)

VARIANTS = (
    "An improved variant stands beside the published scheduler that it comes from, on one request each, and beside the"
    " optimum where that is proved; where it is not, beside a bound that no plan passes. How far each is from it is"
    " relative to it."
)


def evidence_page(
    found: Mapping[str, Sequence[Result]], papers: Mapping[str, str], improved: Sequence[Improved] = ()
) -> str:
    """The page of some plugins' results.

    Args:
        found: Results by plugin.
        papers: The paper of each plugin, "" if none.
        improved: Variants beside published schedulers and optima.
    """
    every = [result for results in found.values() for result in results]
    intro = [*((summary(every), INTRO) if every else ()), *((tally(improved), VARIANTS) if improved else ())]
    parts = (*(_parts(found, papers) if found else ()), *_variants(improved))
    return page("Headworks: printed figures and ours", intro, parts)


def charts(results: Sequence[Result]) -> dict[str, list[Dot]]:
    """The points of each chart, in order of appearance; figures that are no numbers stand in no chart."""
    found: dict[str, list[Dot]] = {}
    for result in results:
        point, printed, ours = result.point, result.printed, result.ours
        if point is None or not isinstance(printed, float | int) or isinstance(ours, str):
            continue
        dot = Dot(series=point.series, x=point.x, printed=printed, ours=ours)
        found.setdefault(point.chart, []).append(dot)
    return found


def _parts(found: Mapping[str, Sequence[Result]], papers: Mapping[str, str]) -> Iterator[Table | Panel]:
    columns, rows = counts(found)
    yield Table(columns=columns, rows=rows)
    for plugin, results in found.items():
        notes = number_notes(results)
        for title, column, group in apart(plugin, results):
            noted = [each.note for each in group]
            yield Table(
                columns=("figure", "source", column, *FIGURES, "status"),
                rows=tuple(_row(result, notes) for result in group),
                title=title,
                caption=papers.get(plugin, "") if column == "printed" else "",
                text=("figure", "source", "status"),
                notes=tuple(f"[{number}] {note}" for note, number in notes.items() if note in noted),
            )
        for chart, dots in charts(results).items():
            yield Panel(title=f"{plugin}: {chart}", svg=chart_svg(chart, dots))


def _row(result: Result, notes: Mapping[str, int]) -> tuple[str, ...]:
    return result.statement, result.source, *figures(result), status_text(result, notes)


def _variants(improved: Sequence[Improved]) -> Iterator[Table]:
    for title, rows in by_variant(improved).items():
        notes = number_notes(rows)
        yield Table(
            columns=("figure", *COLUMNS, "status"),
            rows=tuple((each.statement, *cells(each), marked(each.status, each.note, notes)) for each in rows),
            title=title,
            text=("figure", "status"),
            notes=tuple(f"[{number}] {note}" for note, number in notes.items()),
        )
