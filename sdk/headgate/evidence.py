"""A page of printed and recomputed figures: tables, the papers' charts drawn again, and variants beside the optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.chart import Dot, chart_svg
from headgate.claims import STANDINGS, amount, count, distance, marked, number_notes, standing, summary
from headgate.improvements import COLUMNS, by_variant, cells, tally
from headgate.report import Panel, Table, page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headgate.claims import Result
    from headgate.improvements import Improved

INTRO = (
    "A figure is exact where it follows from the paper alone, predicted where it comes from a model that was not fitted"
    " to it, calibrated (k) where k numbers of the model were fitted to figures like it. The others cannot be"
    " reproduced, for the reason given. Charts show printed figures on the left and ours on the right, on one scale."
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
    return page("Headgate: printed figures and ours", intro, parts)


def charts(results: Sequence[Result]) -> dict[str, list[Dot]]:
    """The points of each chart, in order of appearance; figures that are no numbers stand in no chart."""
    found: dict[str, list[Dot]] = {}
    for result in results:
        point = result.point
        if point is None or isinstance(result.printed, str) or isinstance(result.ours, str):
            continue
        dot = Dot(series=point.series, x=point.x, printed=result.printed, ours=result.ours)
        found.setdefault(point.chart, []).append(dot)
    return found


def _parts(found: Mapping[str, Sequence[Result]], papers: Mapping[str, str]) -> Iterator[Table | Panel]:
    rows = tuple((plugin, len(results), *count(results).values()) for plugin, results in found.items())
    yield Table(columns=("plugin", "figures", *STANDINGS), rows=rows)
    for plugin, results in found.items():
        notes = number_notes(results)
        yield Table(
            columns=("figure", "source", "printed", "ours", "off", "status"),
            rows=tuple(_row(result, notes) for result in results),
            title=plugin,
            caption=papers.get(plugin, ""),
            text=("figure", "source", "status"),
            notes=tuple(f"[{number}] {note}" for note, number in notes.items()),
        )
        for chart, dots in charts(results).items():
            yield Panel(title=f"{plugin}: {chart}", svg=chart_svg(chart, dots))


def _row(result: Result, notes: Mapping[str, int]) -> tuple[str, ...]:
    ours = "" if result.ours is None else amount(result.ours)
    printed, off = amount(result.printed), distance(result)
    return result.statement, result.source, printed, ours, off, standing(result, notes)


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
