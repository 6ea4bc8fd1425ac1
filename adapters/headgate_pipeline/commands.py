"""The commands `headgate pipeline run`, `headgate pipeline show` and `headgate profile`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headgate.cli.output import emit, json_option, say, table
from headgate.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headgate.model.knowledge import Knowledge
    from headgate_pipeline.run import PipelineJob
    from headgate_pipeline.tables.job import Update

_PLACE = (
    click.option("--master", default="local[*]", show_default=True, help="Spark's master, such as spark://HOST:PORT."),
    click.option(
        "--driver-memory", default="1g", show_default=True, help="Heap of the driver; embedded, of everything."
    ),
    click.option("--executor-memory", default="1g", show_default=True, help="Heap of each executor of a cluster."),
)
_AMOUNT = (
    click.option("--history", default=168, show_default=True, type=click.IntRange(min=1), help="Hours to learn from."),
    click.option(
        "--recent", default=1, show_default=True, type=click.IntRange(min=1), help="Hours of present traffic."
    ),
    click.option("--chunk", type=click.IntRange(min=1), help="Rows to clean at a time."),
)
samples_argument = click.argument("samples", type=click.Path(exists=True, file_okay=False, path_type=Path))
output_option = click.option(
    "-o",
    "--output",
    default="headgate-pipeline",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of tables and documents.",
)


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where Spark runs."""
    for option in reversed(_PLACE):
        command = option(command)
    return command


def _amount_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_AMOUNT):
        command = option(command)
    return command


@click.group()
def pipeline() -> None:
    """Learn from raw samples: clean them, fit profiles, keep knowledge current."""


@pipeline.command("run")
@samples_argument
@output_option
@place_options
@_amount_options
@click.option("--follow", type=click.FloatRange(min=0.1), metavar="SECONDS", help="Stay, and look for files so often.")
@click.option("--available", is_flag=True, help="As a stream over what is there, then end.")
@json_option
def run_command(
    *,
    samples: Path,
    output: Path,
    follow: float | None,
    available: bool,
    as_json: bool,
    history: int,
    recent: int,
    chunk: int | None,
    **place: Any,
) -> None:
    """Bring tables, knowledge.json and request.json up to date with SAMPLES.

    Hours whose files changed are made again, the others are kept; killed at any moment and started again, the result
    is the same. `headgate plan OUTPUT/request.json` plans from it.
    """
    # numpy and cattrs cost 0.3 s, which a list of commands, which imports this module, does not need.
    from headgate_pipeline.run import PipelineJob, is_short, run
    from headgate_pipeline.session import SessionConfig, session

    job = PipelineJob(samples=samples, output=output, history=history, recent=recent, chunk=chunk)
    with session(SessionConfig(**place, quick=is_short(job)), output) as spark:
        if follow is None and not available:
            _show(*run(spark, job, say), as_json=as_json)
        else:
            _stream(spark, job, follow, as_json=as_json)


def _stream(spark: Any, job: PipelineJob, interval: float | None, *, as_json: bool) -> None:
    # numpy and cattrs cost 0.3 s, which a list of commands does not need.
    from headgate_pipeline.stream import follow

    def done(update: Update, knowledge: Knowledge) -> None:
        if update.hours:
            _show(update, knowledge, as_json=as_json)

    query = follow(spark, job, interval=interval, done=done, tell=say)
    try:
        query.awaitTermination()
    except Exception as error:  # noqa: BLE001 - py4j and PySpark raise a dozen kinds
        raise EngineError(f"the stream ended: {str(error).partition(chr(10))[0]}") from None
    finally:
        with contextlib.suppress(Exception):  # Ctrl-C may have come to the JVM as well
            query.stop()


@click.command()
@samples_argument
@output_option
@place_options
@_amount_options
@json_option
def profile(
    *, samples: Path, output: Path, as_json: bool, history: int, recent: int, chunk: int | None, **place: Any
) -> None:
    """Fit profiles from SAMPLES: CPU = e * rate + met of each component on each machine type, and alpha."""
    # numpy and cattrs cost 0.3 s, which a list of commands does not need.
    from headgate.documents import unstructure
    from headgate_pipeline.run import PipelineJob, is_short, run
    from headgate_pipeline.session import SessionConfig, session

    job = PipelineJob(samples=samples, output=output, history=history, recent=recent, chunk=chunk)
    with session(SessionConfig(**place, quick=is_short(job)), output) as spark:
        _, knowledge = run(spark, job, say)
    shown = [] if as_json else [_profiles(knowledge)]
    emit([unstructure(each) for each in knowledge.profiles], *shown, as_json=as_json)


@pipeline.command("show")
@output_option
@json_option
def show(*, output: Path, as_json: bool) -> None:
    """Print what a folder of results knows; no Spark is started."""
    # numpy and cattrs cost 0.3 s, which a list of commands does not need.
    from headgate.documents import read, unstructure
    from headgate.model.knowledge import Knowledge
    from headgate_pipeline.run import KNOWLEDGE

    knowledge = read(output / KNOWLEDGE, Knowledge)
    emit(unstructure(knowledge), *([] if as_json else _tables(knowledge)), as_json=as_json)


def _show(update: Update, knowledge: Knowledge, *, as_json: bool) -> None:
    # cattrs costs 65 ms, which a list of commands does not need.
    from headgate.documents import unstructure

    data = {"hours": list(update.hours), "rows": dict(update.rows), "knowledge": unstructure(knowledge)}
    emit(data, *([] if as_json else _tables(knowledge)), as_json=as_json)
    say(
        f"{len(update.hours)} hours were made, {sum(update.rows.values()):,} rows read, {update.rows.get('', 0):,} used"
    )


def _tables(knowledge: Knowledge) -> list[Any]:
    rejected = sorted(knowledge.rejected.items())
    links = [
        (each.topology, each.source, each.target, _short(each.tuples), _short(each.bytes)) for each in knowledge.traffic
    ]
    drifts = [
        (each.topology, each.component, each.machine_type, each.hour, f"{each.ratio:.2f}") for each in knowledge.drifts
    ]
    ill = [(each.node, each.state, "; ".join(each.reasons)) for each in knowledge.nodes if each.state != "healthy"]
    made = [_profiles(knowledge), table("traffic", ("topology", "from", "to", "tuples/s", "bytes/s"), links)]
    if drifts:
        made.append(table("profiles that stopped to hold", ("topology", "component", "type", "since", "ratio"), drifts))
    if ill:
        made.append(table("nodes", ("node", "state", "why"), ill))
    if rejected:
        made.append(table("rows that were not used", ("reason", "rows"), rejected, numbers=("rows",)))
    return made


def _profiles(knowledge: Knowledge) -> Any:
    columns = ("topology", "component", "type", "e %s", "±", "met %", "±", "alpha", "windows", "outliers")
    rows = [
        (
            each.profile.topology,
            each.profile.component,
            each.profile.machine_type,
            f"{each.profile.e:.4g}",
            f"{each.e_error:.1g}",
            f"{each.profile.met:.3g}" if each.identified else "in e",
            f"{each.met_error:.1g}",
            "" if each.profile.alpha is None else f"{each.profile.alpha:.3g}",
            f"{each.samples:,}",
            f"{each.outliers:,}",
        )
        for each in knowledge.profiles
    ]
    return table("profiles", columns, rows, numbers=columns[3:])


def _short(amount: float | None) -> str:
    return "" if amount is None else f"{amount:,.4g}"
