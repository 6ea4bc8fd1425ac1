"""The command `headworks sweep`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from headworks.cli.installed import plugins, requests
from headworks.cli.output import (
    Progress,
    data_options,
    emit,
    folder_option,
    json_option,
    say,
    wide_option,
    write_figures,
    write_rows,
)
from headworks.cli.output import table as text_table
from headworks.cli.parameters import FiniteRange
from headworks.cli.request import scheduler_names
from headworks.errors import EngineError
from headworks_local.isolated.limits import parse_rate
from headworks_pipeline.commands import place_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from headworks_lab.sweeps.sweep import Cell
    from headworks_lab.sweeps.swept import SweepResult


def _counts(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[int, ...]:
    counts = tuple(0 if each == "own" else int(each) if each.isdigit() else -1 for each in value.split(","))
    if min(counts) < 0:
        raise click.BadParameter(f"{value!r} is not a list of numbers of nodes, such as own,8,16")
    return counts


def _networks(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[float, ...]:
    try:
        return tuple(0.0 if each == "own" else parse_rate(each) for each in value.split(","))
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@click.option(
    *("-w", "--workload", "workloads"),
    multiple=True,
    required=True,
    shell_complete=requests,
    help="PLUGIN:WORKLOAD or a request document.",
)
@click.option(
    *("-s", "--scheduler", "schedulers"),
    multiple=True,
    required=True,
    shell_complete=scheduler_names,
    help="Name of a scheduler; the name of a real engine stands for its own scheduler.",
)
@click.option("--nodes", default="own", show_default=True, callback=_counts, help="Numbers of nodes, such as own,8,16.")
@click.option(
    "--network",
    default="own",
    show_default=True,
    callback=_networks,
    help="Rates of the nodes' networks: own,2mbit,20mbit.",
)
@click.option("--seeds", type=click.IntRange(min=1), help="Runs of each, with seeds 0 on: 10, or 3 on a real engine.")
@click.option(
    "--seconds",
    type=FiniteRange(min=0, min_open=True),
    help="Simulated seconds (300 by default), or measured ones of a real engine (20).",
)
@click.option(
    "--warm-up",
    type=FiniteRange(min=0),
    help="Seconds before these that are left out: 60 simulated ones, 0 if tasks of a request run; 15 on a real engine.",
)
@click.option(
    "--engine",
    default="sim",
    show_default=True,
    help="Plugin that runs them, such as sim; storm and spark are real clusters.",
)
@folder_option("headworks-sweep", "results; a sweep that was ended goes on from it")
@click.option("--one-process", is_flag=True, help="Without Spark, one after the other.")
@click.option("--baseline", metavar="SCHEDULER", help="Compare each other scheduler with this one, seed by seed.")
@place_options
@data_options
@wide_option
@json_option
@click.pass_context
def sweep(
    context: click.Context,
    /,
    *,
    workloads: tuple[str, ...],
    schedulers: tuple[str, ...],
    nodes: tuple[int, ...],
    network: tuple[float, ...],
    seeds: int | None,
    seconds: float | None,
    warm_up: float | None,
    engine: str,
    output: Path,
    one_process: bool,
    baseline: str | None,
    csv_file: Path | None,
    parquet: Path | None,
    figures: Path | None,
    as_json: bool,
    **place: Any,
) -> None:
    """Run experiments: every scheduler on every workload, cluster, network and seed.

    On a simulator they are spread over the cores of Spark, or of its cluster, and without Spark run one after the
    other. On a real engine they run one after the other on local clusters, in an order that is drawn. Writes
    results.jsonl, one experiment a line, and sweep.html with one table and the charts.
    """
    # The reports and the plugins' host cost 0.3 s, which a list of commands, which imports this module, does not need.
    from headworks_lab.sweeps.engines import bench_of
    from headworks_lab.sweeps.experiments import Sweep
    from headworks_lab.sweeps.sweep import sweep as run
    from headworks_lab.sweeps.swept import SweepResult

    if baseline is not None and baseline not in schedulers:
        raise click.BadParameter(f"{baseline!r} is none of {', '.join(schedulers)}", param_hint="--baseline")
    bench = bench_of(engine)
    real = bench.real
    asked = Sweep(
        workloads=workloads,
        schedulers=schedulers,
        nodes=nodes,
        seeds=seeds or (SEEDS.real if real else SEEDS.simulated),
        seconds=seconds or (SECONDS.real if real else SECONDS.simulated),
        engine=engine,
        networks=network,
        warm_up=warm_up,
    )
    _check(asked, real=real)
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(bench.open()) if real else None
        spark = None if one_process or real else _spark(stack, place, output)
        outcomes = run(asked, output, spark, _teller(), running)
    result = SweepResult(outcomes=outcomes)
    _report(result, asked.seconds, output / "sweep.html", baseline, as_json=as_json)
    write_rows(result.rows, csv_file, parquet)
    if figures is not None:
        write_figures(result.figures(), figures)
    context.exit(1 if any(each.error for each in outcomes) else 0)


def _report(result: SweepResult, seconds: float, page: Path, baseline: str | None, *, as_json: bool) -> None:
    """Show the tables, the effects against a baseline and the errors; write the page with the charts."""
    # The reports cost 0.2 s, which a list of commands does not need.
    from headworks.documents import unstructure, write_text
    from headworks_lab.sweeps.charts import SHARED, misjudged, shared, sweep_page

    cells = result.cells
    write_text(page, sweep_page(cells, seconds))
    emit(unstructure(cells), *([] if as_json else _tables(cells)), as_json=as_json)
    if shared(cells):
        say(SHARED)
    if told := misjudged(cells):
        say(told)
    if baseline is not None:
        for each in (one for figure in COMPARED for one in result.against(baseline, figure)):
            say(str(each))
    say(f"wrote {page}")
    for error in sorted({each.error for each in result.outcomes if each.error}):
        say(f"failed: {error}")


COMPARED = ("throughput", "latency", "latency_p95")
"""Figures by which schedulers are compared with the baseline, where they have them."""


class Default(NamedTuple):
    """A default that hangs on the engine."""

    simulated: Any
    real: Any


SEEDS, SECONDS = Default(10, 3), Default(300.0, 20.0)
"""Runs of each experiment, and the seconds of a run. With more, intervals are narrower, and real sweeps take hours."""


def _check(asked: Any, *, real: bool) -> None:
    """Refuse a wrong name before anything is started."""
    # numpy and the core cost 0.3 s, which a list of commands does not need.
    from headworks.api import find_request

    host = plugins()
    for scheduler in asked.schedulers:
        if not (real and scheduler == asked.engine):
            host.options(scheduler)
    for workload in asked.workloads:
        find_request(workload, host)


def _spark(stack: contextlib.ExitStack, place: dict[str, Any], output: Path) -> Any:
    """A session, or None where PySpark or Java is missing."""
    # 0.1 s that a list of commands does not need.
    from headworks_pipeline.session import LOCAL, SessionConfig, session

    master = place["master"] or LOCAL
    try:
        return stack.enter_context(session(SessionConfig(**{**place, "master": master}, quick=True), output))
    except EngineError as error:
        if master != LOCAL:
            raise
        say(f"{error}: experiments run one after the other")
        return None


def _teller() -> Callable[[int, int], None]:
    """Reporter of progress, which prints about twenty lines however many experiments there are."""
    told, progress = -1, Progress()

    def tell(done: int, total: int) -> None:
        nonlocal told
        part = 20 * done // max(total, 1)
        if part != told:
            told = part
            progress(f"{done:,} of {total:,} experiments")

    return tell


def _tables(cells: Sequence[Cell]) -> list[Any]:
    return [
        _table(workload, [cell for cell in cells if cell.workload == workload])
        for workload in dict.fromkeys(cell.workload for cell in cells)
    ]


def _table(workload: str, cells: Sequence[Cell]) -> Any:
    # The reports cost 0.2 s, which a list of commands does not need.
    from headworks_lab.sweeps.charts import PLACE, alike, brief, heading, left_out, middle, place, shown

    names, (_, *settings, scheduler) = shown(cells), PLACE
    columns = [scheduler, *settings, "runs", *map(heading, names)]
    rows = []
    for cell in cells:
        _, *where, by = place(cell)
        rows.append((by, *where, cell.runs, *(middle(cell, name, brief) for name in names)))
    # What is the same in all rows is said once: with ten figures and their intervals there is no room for it.
    same = [index for index in alike(rows) if index]
    kept = [index for index in range(len(columns)) if index not in same]
    said = "".join(f"; {columns[index]}: {rows[0][index]}" for index in same)
    title = f"{workload}: medians over seeds, and their 95 % intervals{left_out(cells)}{said}"
    shorter = [[row[index] for index in kept] for row in rows]
    numbers = [columns[index] for index in kept if index >= len(PLACE) - 1]
    return text_table(title, [columns[index] for index in kept], shorter, numbers=numbers)
