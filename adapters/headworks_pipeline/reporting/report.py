"""The report of a run, as JSON and as a page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import attrs

from headworks.model import FrozenMap
from headworks.report.html import Table, page
from headworks_pipeline.places import put_text
from headworks_pipeline.reporting.changes import Change

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headworks_pipeline.places import Place

REPORT, PAGE = "report.json", "report.html"
"""Names of the documents in the folder of results."""
MOST = 200
"""Rows of a table of the page."""
VERSION = 1
"""Version of the report."""


@attrs.frozen(kw_only=True)
class RunReport:
    """Input, effort and effect of a run.

    Attributes:
        started: Time (UTC, ISO 8601).
        backend: Engine that read rows; "" if none had to be read.
        seconds: Wall seconds of each step.
        hours: Rows by reason ("": used) of each hour that was made.
        rows: The same, over these hours.
        kept: Hours whose tables were there and stay.
        lost: Hours among them that lack samples which their tables were made of.
        expired: Hours whose tables were removed, past retention.
        breaches: Thresholds that hours break.
        changes: Differences from the knowledge of the run before.
    """

    started: str
    backend: str = ""
    seconds: FrozenMap[str, float] = FrozenMap()
    hours: FrozenMap[str, FrozenMap[str, int]] = FrozenMap()
    rows: FrozenMap[str, int] = FrozenMap()
    kept: int = 0
    lost: tuple[str, ...] = ()
    expired: tuple[str, ...] = ()
    breaches: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


def write_report(report: RunReport, folder: Place) -> None:
    """Write `report.json` and `report.html`.

    Raises:
        DocumentError: A file cannot be written.
    """
    text = json.dumps({"version": VERSION, **attrs.asdict(report)}, indent=1) + "\n"
    put_text(folder / REPORT, text)
    put_text(folder / PAGE, report_page(report))


def report_page(report: RunReport) -> str:
    """A report as a page."""
    read, used = sum(report.rows.values()), report.rows.get("", 0)
    done = f"{len(report.hours)} hours were made and {report.kept} stay"
    with_engine = f", with {report.backend}" if report.backend else ""
    intro = [
        f"{report.started}: {done}{with_engine}. {read:,} rows were read, {used:,} of them used.",
        *(f"Threshold broken. {each}" for each in report.breaches),
    ]
    if report.lost:
        intro.append(f"Samples are gone, tables stay: {_list(report.lost)}.")
    if report.expired:
        intro.append(f"Past retention, tables removed: {_list(report.expired)}.")
    return page("Headworks: a run of the pipeline", intro, _tables(report))


def _list(hours: tuple[str, ...]) -> str:
    return ", ".join(hours[:5]) + (f" and {len(hours) - 5} more" if len(hours) > 5 else "")


def _tables(report: RunReport) -> Iterator[Table]:
    total = sum(report.seconds.values())
    yield _table("Seconds", ("step", "s"), [(n, f"{s:.2f}") for n, s in (*report.seconds.items(), ("all", total))])
    if report.changes:
        rows = [(each.kind, each.subject, each.before or "none", each.after or "none") for each in report.changes]
        yield _table("Changes", ("of", "subject", "before", "after"), rows, text=("of", "subject", "before", "after"))
    if read := sum(report.rows.values()):
        shares = [(reason or "used", f"{n:,}", f"{100 * n / read:.3g}") for reason, n in report.rows.items()]
        yield _table("Rows", ("reason", "rows", "%"), shares)
        reasons = sorted({reason for rows in report.hours.values() for reason in rows})
        columns = ("hour", *(reason or "used" for reason in reasons))
        hours = [(hour, *(f"{rows.get(each, 0):,}" for each in reasons)) for hour, rows in report.hours.items()]
        yield _table("Hours", columns, hours)


def _table(title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], text: tuple[str, ...] = ()) -> Table:
    notes = (f"{len(rows) - MOST:,} more are in {REPORT}.",) if len(rows) > MOST else ()
    return Table(title=title, columns=columns, rows=tuple(rows[:MOST]), text=text, notes=notes)
