"""The commands `headworks pipeline run` and `headworks pipeline show`."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click
from platformdirs import user_cache_path

from headworks.cli.output import emit, folder_option, json_option, say, table, wide_option
from headworks.cli.parameters import FiniteRange, KafkaTopic, PathOrUrl, kafka_conf_option, with_settings
from headworks.samples.objects import is_url
from headworks_pipeline.hadoop import SCHEMES, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from headworks.cli.parameters import TopicAddress
    from headworks.model.knowledge import Knowledge
    from headworks_pipeline.reporting.report import RunReport
    from headworks_pipeline.run import Opener, PipelineJob
    from headworks_pipeline.tables.job import Update

_PLACE = (
    click.option("--master", help="Spark's master, such as spark://HOST:PORT; default: local[*]."),
    click.option(
        "--driver-memory", default="1g", show_default=True, help="Heap of the driver, or of all if Spark is embedded."
    ),
    click.option("--executor-memory", default="1g", show_default=True, help="Heap of each executor of a cluster."),
    click.option("--packages", default="", metavar="COORDINATES", help="Jars from Maven, as spark-submit takes them."),
    click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark, repeatable."),
)
_AMOUNT = (
    click.option("--history", default=168, show_default=True, type=click.IntRange(min=1), help="Hours to learn from."),
    click.option(
        "--recent", default=1, show_default=True, type=click.IntRange(min=1), help="Hours of present traffic."
    ),
    click.option("--chunk", type=click.IntRange(min=1), help="Rows to clean at a time."),
    click.option(
        "--keep",
        type=click.IntRange(min=1),
        metavar="HOURS",
        help="Newest hours whose tables stay; default: all.",
    ),
)
_BACKEND = click.option(
    "--backend",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "duckdb", "spark"]),
    help="Engine; auto is Spark for a --master, many rows or a stream, else DuckDB.",
)
samples_argument = click.argument("samples", type=click.Path(exists=True, file_okay=False, path_type=Path))
output_option = folder_option("headworks-pipeline", "tables and documents")


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where Spark runs."""
    for option in reversed(_PLACE):
        command = option(command)
    return command


def _amount_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed((*_AMOUNT, _BACKEND)):
        command = option(command)
    return command


@click.group()
def pipeline() -> None:
    """Learn from raw samples: clean them, fit profiles, keep knowledge current."""


@pipeline.command("run")
@click.argument("samples", type=PathOrUrl(exists=True))
@click.option(
    "-O",
    "--output",
    default="headworks-pipeline",
    show_default=True,
    type=PathOrUrl(exists=False),
    help="Folder of tables and documents, or a URL such as s3a://BUCKET/PREFIX.",
)
@place_options
@_amount_options
@click.option(
    "--keep-samples", type=click.IntRange(min=1), metavar="HOURS", help="Newest hours whose files stay; default: all."
)
@click.option("--compact", is_flag=True, help="Merge the small files of each past hour.")
@click.option(
    "--max-rejected",
    multiple=True,
    metavar="[REASON=]PERCENT",
    help="Limit of unused rows of an hour, beyond which the exit code is 1; default: 5.",
)
@click.option(
    "--follow", type=FiniteRange(min=0.1), metavar="SECONDS", help="Stay, and look for new files at this interval."
)
@click.option("--available", is_flag=True, help="Read the present files as a stream, then end.")
@json_option
def run_command(
    *,
    samples: str,
    output: str,
    follow: float | None,
    available: bool,
    as_json: bool,
    history: int,
    recent: int,
    chunk: int | None,
    keep: int | None,
    keep_samples: int | None,
    compact: bool,
    max_rejected: tuple[str, ...],
    backend: str,
    **place: Any,
) -> None:
    """Bring tables, knowledge.json and request.json up to date with SAMPLES.

    Only hours whose files changed are made again. A killed run does no harm: start it again. Plan from the result with
    `headworks plan OUTPUT/request.json`.
    """
    # numpy and cattrs cost 0.3 s, which a list of commands, which imports this module, does not need.
    from headworks_pipeline.reporting.thresholds import USUAL, Threshold
    from headworks_pipeline.run import PipelineJob

    for_folders = {"--compact": compact, "--keep-samples": keep_samples is not None}
    for_folders["--backend duckdb"] = backend == "duckdb"
    _refuse_urls(samples, output, [option for option, given in for_folders.items() if given])
    job = partial(
        PipelineJob,
        history=history,
        recent=recent,
        chunk=chunk,
        keep=keep,
        keep_samples=keep_samples,
        compact=compact,
        thresholds=tuple(map(Threshold.parse, max_rejected)) or USUAL,
        may_wait=follow is not None,
    )
    streams = follow is not None or available
    if streams or is_url(samples) or is_url(output):
        broken = _on_spark(job, samples, output, place, streams=streams, interval=follow, as_json=as_json)
    else:
        here = job(samples=Path(samples), output=Path(output))
        broken = _once(here, _opener(place, backend, Path(output)), as_json=as_json)
    if broken:
        raise SystemExit(1)


def _once(job: PipelineJob, opener: Opener, *, as_json: bool) -> bool:
    """Run once; whether a threshold is broken."""
    # numpy and cattrs cost 0.3 s, which a list of commands does not need.
    from headworks_pipeline.run import run

    update, knowledge, report = run(job, opener, say)
    _show(update, knowledge, report, as_json=as_json)
    return bool(report.breaches)


def _on_spark(
    job: Callable[..., PipelineJob],
    samples: str,
    output: str,
    place: Mapping[str, Any],
    *,
    streams: bool,
    interval: float | None,
    as_json: bool,
) -> bool:
    """Run in a session that is there from the beginning, once or as a stream; whether a threshold is broken."""
    with _session(place, output) as spark:
        made = job(samples=place_of(samples, spark), output=place_of(output, spark))
        if streams:
            return _stream(spark, made, interval, as_json=as_json)
        # PySpark is optional: a session was made, so it is there.
        from headworks_pipeline.tables.on_spark import OnSpark

        return _once(made, lambda _work: contextlib.nullcontext(OnSpark(spark)), as_json=as_json)


def _session(place: Mapping[str, Any], output: str) -> AbstractContextManager[Any]:
    """A session whose log goes to the output, or to the user's cache if that is on other machines."""
    # pyarrow costs 0.2 s, which a list of commands does not need.
    from headworks_pipeline.session import LOCAL, SessionConfig, session

    log = user_cache_path("headworks") / "pipeline" if is_url(output) else Path(output)
    return session(SessionConfig(**{**place, "master": place["master"] or LOCAL}), log)


def _refuse_urls(samples: str, output: str, given: Sequence[str]) -> None:
    """Refuse URLs of another kind, and beside URLs the options that are for folders alone."""
    for url in filter(is_url, (samples, output)):
        if url.partition("://")[0] not in SCHEMES:
            ways = " or ".join(f"{each}://" for each in SCHEMES)
            raise click.UsageError(f"{url} is no place for samples or results: begin its URL with {ways}")
        if given:
            verb = "is" if len(given) == 1 else "are"
            raise click.UsageError(f"{url} is not a folder, for which {', '.join(given)} {verb}: leave out {given[0]}")


def _opener(place: Mapping[str, Any], backend: str, output: Path) -> Opener:
    # numpy, cattrs and pyarrow cost 0.3 s, which a list of commands does not need.
    from headworks_pipeline.backends import choose, opened

    return lambda work: opened(choose(work, backend, place["master"]), work.rows, place, output)


def _stream(spark: Any, job: PipelineJob, interval: float | None, *, as_json: bool) -> bool:
    # numpy and cattrs cost 0.3 s, which a list of commands does not need.
    from headworks_pipeline.stream import follow

    broken: list[str] = []

    def done(update: Update, knowledge: Knowledge, report: RunReport) -> None:
        broken.extend(report.breaches)
        if update.hours:
            _show(update, knowledge, report, as_json=as_json)

    follow(spark, job, interval=interval, done=done, tell=say)
    return bool(broken)


@pipeline.command("receive")
@click.argument("topic", type=KafkaTopic())
@click.argument("samples", type=PathOrUrl(exists=False))
@place_options
@kafka_conf_option("Java's")
@click.option("--follow", type=FiniteRange(min=0.1), metavar="SECONDS", help="Stay, and read at this interval.")
@json_option
def receive_command(
    *,
    topic: TopicAddress,
    samples: str,
    kafka_conf: Path | None,
    follow: float | None,
    as_json: bool,
    **place: Any,
) -> None:
    """Write the samples of a Kafka TOPIC to the folder SAMPLES, each once, as a stream of Spark.

    TOPIC is kafka://HOST:PORT[,HOST:PORT...]/TOPIC, as `--samples` of `headworks run` and `serve storm` takes it. Learn
    from the folder by `headworks pipeline run SAMPLES`.
    """
    # pyarrow and cattrs cost 0.3 s, which a list of commands does not need.
    from headworks_pipeline.receive import Received, receive

    received = Received()
    _refuse_urls(samples, "", [])
    with _session(place, samples) as spark:
        receive(spark, with_settings(topic, kafka_conf), place_of(samples, spark), interval=follow, received=received)
    emit(attrs.asdict(received), as_json=as_json)
    say(f"{received.files} files and {received.states} states were written to {samples}")
    if received.refused:
        say(f"{received.refused} messages have no key of a file of samples, and were left out")


@pipeline.command("compact")
@samples_argument
@json_option
def compact_command(*, samples: Path, as_json: bool) -> None:
    """Merge the small files of each past hour of SAMPLES; tables need not be made again.

    Small files are removed ten minutes after that, by the next pass, when nobody reads them any more.
    """
    # pyarrow and cattrs cost 0.3 s, which a list of commands does not need.
    from headworks_pipeline.intake.compaction import compact

    done = compact(samples, datetime.now(UTC))
    emit(attrs.asdict(done), as_json=as_json)
    say(f"{done.replaced} files became {done.written}; {done.removed} that others stand for were removed")


@pipeline.command("forget")
@output_option
@click.argument("hours", nargs=-1, metavar="[YYYY-MM-DDTHH]...")
@click.option("--before", metavar="YYYY-MM-DDTHH", help="All hours before this one.")
@json_option
def forget_command(*, output: Path, hours: tuple[str, ...], before: str | None, as_json: bool) -> None:
    """Remove the tables of HOURS; the next run makes them again if their samples are there.

    Only this command and `--keep` remove results. Results of samples that are gone stay.
    """
    # pyarrow and cattrs cost 0.3 s, which a list of commands does not need.
    from headworks_pipeline.tables.store import Store, forget

    gone = forget(Store(folder=output), hours, before or "")
    emit({"hours": sorted(gone)}, as_json=as_json)
    say(f"the tables of {len(gone)} hours were removed; the next run writes knowledge.json and request.json anew")


@pipeline.command("show")
@output_option
@wide_option
@json_option
def show(*, output: Path, as_json: bool) -> None:
    """Print the knowledge in a folder of results; no Spark is started."""
    # numpy and cattrs cost 0.3 s, which a list of commands does not need.
    from headworks.documents import read, unstructure
    from headworks.model.knowledge import Knowledge
    from headworks_pipeline.run import KNOWLEDGE

    knowledge = read(output / KNOWLEDGE, Knowledge)
    emit(unstructure(knowledge), *([] if as_json else _tables(knowledge)), as_json=as_json)


def _show(update: Update, knowledge: Knowledge, report: RunReport, *, as_json: bool) -> None:
    # cattrs costs 65 ms, which a list of commands does not need.
    from headworks.documents import unstructure

    data = {
        "hours": list(update.hours),
        "rows": dict(update.rows),
        "lost": list(update.lost),
        "expired": list(update.expired),
        "breaches": list(report.breaches),
        "knowledge": unstructure(knowledge),
    }
    emit(data, *([] if as_json else _tables(knowledge)), as_json=as_json)
    say(
        f"{len(update.hours)} hours were made, {sum(update.rows.values()):,} rows read, {update.rows.get('', 0):,} used"
    )
    for each in report.breaches:
        say(f"threshold broken: {each}")


def _tables(knowledge: Knowledge) -> list[Any]:
    rejected = sorted(knowledge.rejected.items())
    links = [
        (each.topology, each.source, each.target, _short(each.tuples), _short(each.bytes)) for each in knowledge.traffic
    ]
    drifts = [
        (each.topology, each.component, each.machine_type, each.hour, f"{each.ratio:.2f}") for each in knowledge.drifts
    ]
    ill = [(each.node, each.state, "; ".join(each.reasons)) for each in knowledge.nodes if each.state != "healthy"]
    made = [
        _profiles(knowledge),
        table("traffic", ("topology", "from", "to", "tuples/s", "bytes/s"), links, ("tuples/s", "bytes/s")),
    ]
    if drifts:
        columns = ("topology", "component", "type", "since", "ratio")
        made.append(table("profiles that stopped to hold", columns, drifts, numbers=("ratio",)))
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
    return table("profiles", columns, rows, numbers=columns[3:], spare=("outliers", "windows", "alpha", "±"))


def _short(amount: float | None) -> str:
    return "" if amount is None else f"{amount:,.4g}"
