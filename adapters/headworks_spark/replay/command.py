"""The command `headworks import spark-eventlog`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from headworks.cli.installed import plugins
from headworks.cli.output import Progress, emit, json_option, say, table, wide_option
from headworks.cli.parameters import PathOrUrl
from headworks.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks_spark.events.eventlog import Replay
    from headworks_spark.replay.figures import LoggedFigures
    from headworks_spark.replay.queries import LoggedQuery

AS_IT_RAN = "as it ran"
EACH = 50
"""Logs after which it is said how many were judged."""
SCHEDULERS = ("resource-aware", "dstorm")
"""Schedulers that are asked unless others are named: one that spreads by load, one that packs by traffic."""


@click.command("spark-eventlog")
@click.argument("log", type=PathOrUrl(exists=True, files=True))
@click.option("--query", help="Name or id of a query; by default the one with most task time.")
@click.option(
    "--executors", multiple=True, type=click.IntRange(min=1), help="Number of executors to compute, repeatable."
)
@click.option("-s", "--scheduler", "schedulers", multiple=True, help="A scheduler to ask, repeatable.")
@click.option("--fleet", is_flag=True, help="Take LOG as a folder of logs or its URL, judge each; -O names a folder.")
@click.option("-O", "--output", type=click.Path(path_type=Path), help="Write the request to this file.")
@wide_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    log: str,
    query: str | None,
    executors: tuple[int, ...],
    schedulers: tuple[str, ...],
    fleet: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Explain the duration of batches from LOG, an event log of Spark or its URL in an object store.

    You see the skew, locality and bytes of each stage, and the seconds of a batch with other numbers of executors, or
    with tasks where a scheduler would put them. Nothing has to be installed where the log was written.

    With --fleet, a page and a table in Parquet tell what the application of each log of a folder lost, and a plan.
    A second pass judges new and changed logs.
    """
    if not fleet and output is not None and output.is_dir():
        raise click.BadParameter(f"{output} is a folder", param_hint="-O")
    if fleet:
        unknown = sorted(set(schedulers) - set(plugins(context).schedulers))
        if unknown:
            raise click.BadParameter(f"no scheduler is called {', '.join(unknown)}", param_hint="-s")
        _judge(log, output, query or executors, schedulers or SCHEDULERS, as_json=as_json)
        return
    # pyarrow, numpy and the model cost 0.3 s, which the list of commands does not need.
    from headworks.documents import write
    from headworks_spark.events.eventlog import replay
    from headworks_spark.replay.figures import figures_of
    from headworks_spark.replay.queries import logged_queries
    from headworks_spark.replay.request import request_of

    read = replay(log)
    found = logged_queries(read)
    chosen = _chosen(log, read, found, query)
    request = request_of(chosen, read.executors)
    if output is not None:
        write(output, request)
        say(f"wrote {output}")
    figures = figures_of(chosen, read, request, executors, schedulers or SCHEDULERS, plugins(context))
    data = {"log": log, "lines": read.lines, "unread": read.unread, **attrs.asdict(figures)}
    emit(data, *([] if as_json else _tables(found, figures)), as_json=as_json)
    for each in figures.marks:
        say(each)
    if read.unread:
        say(f"{read.unread} of {read.lines} lines are no events: the log was cut off, is still written, or is damaged")


def _judge(log: str, output: Path | None, others: object, schedulers: tuple[str, ...], *, as_json: bool) -> None:
    # As above.
    from headworks_spark.events.logfiles import is_folder
    from headworks_spark.replay.fleet import judge_all
    from headworks_spark.replay.fleet_report import PAGE, TABLE, summary, write_report

    # A path has one slash of a URL's two.
    if output is None or ":/" in str(output) or output.is_file() or others or not is_folder(log):
        raise click.UsageError(
            "--fleet takes a folder or its URL, a folder of this machine as -O, and neither --query nor --executors"
        )
    progress = Progress()

    def told(done: int, count: int) -> None:
        if done % EACH == 0 or done == count:
            progress(f"{done:,} of {count:,} logs")

    found = judge_all(log, output, schedulers, told)
    write_report(found, output)
    say(f"wrote {output / PAGE} and {output / TABLE}")
    figures = summary(found)
    rows = [(name.replace("_", " "), "-" if value is None else f"{value:,.4g}") for name, value in figures.items()]
    emit(figures, *([] if as_json else [table("", ("figure", "value"), rows, ("value",))]), as_json=as_json)


def _chosen(log: str, read: Replay, found: Sequence[LoggedQuery], wanted: str | None) -> LoggedQuery:
    if not found:
        events = f"{read.lines - read.unread} of its {read.lines} lines are events as Spark 2.1 and later write them"
        raise DocumentError("", f"{log} holds no finished job all of whose tasks ran; {events}")
    chosen = next((each for each in found if wanted in (None, each.name, each.scope)), None)
    if chosen is None:
        names = ", ".join(sorted({each.name for each in found}))
        raise click.BadParameter(f"{wanted!r} is none of {names}", param_hint="--query")
    return chosen


def _tables(found: Sequence[LoggedQuery], figures: LoggedFigures) -> list[Any]:
    queries = [
        (each.name, len(each.batches), _s(each.seconds), len(each.shape.stages), each.failed, f"{each.busy:,.0f}")
        for each in found
    ]
    columns = ("query", "batches", "batch s", "stages", "failed tasks", "task s in all")
    numbers = columns[1:]
    return [
        table("", columns, queries, numbers),
        _stage_table(figures),
        _executor_table(figures),
        table(
            "a batch with tasks where a scheduler would put them",
            ("placement", "status", "between nodes", "batch s, computed"),
            [
                (each.scheduler, each.status, f"{each.share:.1%}", "-" if each.seconds is None else _s(each.seconds))
                for each in figures.placements
            ],
            ("between nodes", "batch s, computed"),
        ),
    ]


def _stage_table(figures: LoggedFigures) -> Any:
    columns = ("stage", "tasks", "median task s", "slowest / median", "near its data", "read remote", "MB written")
    rows = [
        (
            each.stage,
            each.tasks,
            _s(each.seconds),
            f"{each.skew:.1f}",
            f"{each.near:.0%}",
            "-" if each.remote is None else f"{each.remote:.0%}",
            f"{each.written / 1e6:,.1f}",
        )
        for each in figures.stages
    ]
    return table(f"{figures.query}: the median of {figures.batches} batches", columns, rows, columns[1:])


def _executor_table(figures: LoggedFigures) -> Any:
    now, *others = figures.executors
    rows = [(AS_IT_RAN, now.executors, now.slots, _s(figures.seconds), _s(now.seconds), f"{now.busy:.0%}")]
    rows += [
        ("", each.executors, each.slots, "", _s(each.seconds), f"{each.busy:.0%}")
        for each in sorted(others, key=lambda each: each.executors)
    ]
    columns = ("", "executors", "slots", "batch s", "computed", "slots busy")
    return table("a batch with other numbers of executors", columns, rows, columns[1:])


def _s(seconds: float) -> str:
    return f"{seconds:,.2f}" if seconds < 100 else f"{seconds:,.0f}"
