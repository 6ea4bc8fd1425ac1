"""A page of printed and recomputed figures: tables, and the papers' charts drawn again beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headgate.chart import Dot, chart_svg
from headgate.claims import STANDINGS, amount, count, distance, number_notes, standing, summary
from headgate.report import Panel, Table, page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headgate.claims import Result

INTRO = (
    "A figure is exact where it follows from the paper alone, predicted where it comes from a model that was not fitted"
    " to it, calibrated (k) where k numbers of the model were fitted to figures like it. The others cannot be"
    " reproduced, for the reason given. Charts show printed figures on the left and ours on the right, on one scale."
)


def evidence_page(found: Mapping[str, Sequence[Result]], papers: Mapping[str, str]) -> str:
    """The page of some plugins' results.

    Args:
        found: Results by plugin.
        papers: The paper of each plugin, "" if none.
    """
    every = [result for results in found.values() for result in results]
    return page("Headgate: printed figures and ours", (summary(every), INTRO), _parts(found, papers))


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
