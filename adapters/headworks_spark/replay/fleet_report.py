"""The report on a fleet of logs: one page, and one table in Parquet."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from headworks.errors import DocumentError, printable
from headworks.report.html import Table, page
from headworks_spark.replay.verdict import OFF, in_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from headworks_spark.replay.verdict import Verdict

PAGE, TABLE = "fleet.html", "fleet.parquet"
MOST = 200
"""Rows of a table of the page; all are in the one in Parquet."""
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("log", "asked", "fault", "application", "spark", "query", "plan")),
        *((name, pa.int64()) for name in ("size", "batches", "executors")),
        *((name, pa.float64()) for name in ("changed", "share", "executor_hours", "idle_hours", "seconds", "computed")),
        *((name, pa.float64()) for name in ("skew", "remote", "slots", "expected", "planned_seconds")),
        *((name, pa.float64()) for name in ("planned_hours", "error", "own_error", "work_error")),
        ("marks", pa.list_(pa.string())),
    ]
)
COLUMNS = (
    "application",
    "query",
    "executors",
    "executor-hours",
    "idle",
    "batch s",
    "skew s",
    "remote s",
    "slots s",
    "batch s to come",
    "plan",
    "batch s with it",
    "executor-hours with it",
    "error",
    "CPU error",
    "marks",
)
TEXT = ("application", "query", "plan", "marks", "log", "fault")


def write_report(found: Sequence[Verdict], output: Path) -> None:
    """Write both to a folder that there is, the most to win first.

    Raises:
        DocumentError: The folder cannot be written.
    """
    # The name of a file may be no text.
    rows = [attrs.evolve(each, log=printable(each.log)) for each in in_order(found)]
    table = pa.Table.from_pylist([attrs.asdict(each) for each in rows], SCHEMA)
    parts = [_applications([each for each in rows if not each.fault]), *_faults([each for each in rows if each.fault])]
    try:
        pq.write_table(table, output / TABLE, compression="zstd")
        (output / PAGE).write_text(page("Headworks: a fleet of Spark applications", list(_intro(rows)), parts), "utf-8")
    except OSError as error:
        raise DocumentError("", f"{output} cannot be written: {error}") from None


def summary(found: Sequence[Verdict]) -> dict[str, float | None]:
    """Figures of the whole fleet."""
    good = [each for each in found if not each.fault]
    errors = [each.error for each in good if each.error is not None]
    works = [each.work_error for each in good if each.work_error is not None]
    pairs = [(each.error, each.own_error) for each in good]
    steady = [error for error, own in pairs if error is not None and own is not None and own <= OFF]
    return {
        "logs": len(found),
        "unread": len(found) - len(good),
        "executor_hours": sum(each.executor_hours for each in good),
        "idle_hours": sum(each.idle_hours for each in good),
        "planned_hours": sum(each.planned_hours for each in good),
        "checked": len(errors),
        "median_error": median(errors) if errors else None,
        "median_work_error": median(works) if works else None,
        "steady": len(steady),
        "median_error_of_steady": median(steady) if steady else None,
        "marked": sum(bool(each.marks) for each in good),
    }


def _intro(rows: Sequence[Verdict]) -> Iterator[str]:
    figures = summary(rows)
    yield (
        f"{figures['logs']:,} logs, of which {figures['unread']:,} cannot be judged. {figures['executor_hours']:,.1f} "
        f"executor-hours, {figures['idle_hours']:,.1f} of them idle; {figures['planned_hours']:,.1f} with all plans."
    )
    yield (
        "Seconds are those of a batch of the query, or repeated job, with most task time. Skew: less if tasks of a "
        "stage were even. Remote: if none had waited for blocks of other nodes. Slots: with twice the executors. "
        "Plans are computed from the logs, and none was tried."
    )
    if figures["median_error"] is not None:
        yield (
            f"The same prediction, from the earlier half of batches, misses the median seconds of the later half by "
            f"{figures['median_error']:.1%} in the median of {figures['checked']:,} applications{_of_work(figures)}. "
            f"{_steady(figures)} Those above {OFF:.0%} are marked."
        )


def _of_work(figures: Mapping[str, float | None]) -> str:
    error = figures["median_work_error"]
    return "" if error is None else f", and their CPU seconds by {error:.1%}"


def _steady(figures: Mapping[str, float | None]) -> str:
    if figures["median_error_of_steady"] is None:
        return f"No earlier half predicts itself within {OFF:.0%}."
    return (
        f"It is {figures['median_error_of_steady']:.1%} in the {figures['steady']:,} whose earlier half predicts "
        f"itself within {OFF:.0%}."
    )


def _applications(rows: Sequence[Verdict]) -> Table:
    cells = tuple(
        (
            each.application or each.log,
            each.query,
            each.executors,
            f"{each.executor_hours:,.2f}",
            f"{each.idle_hours / (each.executor_hours or 1.0):.0%}",
            *(f"{value:,.2f}" for value in (each.seconds, each.skew, each.remote, each.slots, each.expected)),
            each.plan,
            f"{each.planned_seconds:,.2f}",
            f"{each.planned_hours:,.2f}",
            *("" if value is None else f"{value:.0%}" for value in (each.error, each.work_error)),
            "; ".join(each.marks),
        )
        for each in rows[:MOST]
    )
    return Table(title="Applications", columns=COLUMNS, rows=cells, text=TEXT, notes=_more(rows))


def _faults(rows: Sequence[Verdict]) -> Iterator[Table]:
    if rows:
        cells = tuple((each.log, each.fault) for each in rows[:MOST])
        yield Table(
            title="Logs that cannot be judged", columns=("log", "fault"), rows=cells, text=TEXT, notes=_more(rows)
        )


def _more(rows: Sequence[Verdict]) -> tuple[str, ...]:
    return (f"{len(rows) - MOST:,} more are in {TABLE}.",) if len(rows) > MOST else ()
