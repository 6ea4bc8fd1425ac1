"""The command `headgate sweep`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headgate.cli.complete import requests
from headgate.cli.host import plugins
from headgate.cli.numbers import FiniteRange
from headgate.cli.output import emit, json_option, say
from headgate.cli.output import table as text_table
from headgate.cli.request import scheduler_names
from headgate.errors import EngineError
from headgate_pipeline.commands import place_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headgate_pipeline.sweeps.sweep import Cell


def _counts(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[int, ...]:
    counts = tuple(0 if each == "own" else int(each) if each.isdigit() else -1 for each in value.split(","))
    if min(counts) < 0:
        raise click.BadParameter(f"{value!r} is no list of numbers of nodes, such as own,8,16")
    return counts


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
    help="Name of a scheduler.",
)
@click.option("--nodes", default="own", show_default=True, callback=_counts, help="Numbers of nodes, such as own,8,16.")
@click.option(
    "--seeds", default=10, show_default=True, type=click.IntRange(min=1), help="Runs of each, with seeds 0 on."
)
@click.option(
    "--seconds",
    default=300.0,
    show_default=True,
    type=FiniteRange(min=0, min_open=True),
    help="Simulated seconds.",
)
@click.option("--engine", default="sim", show_default=True, help="Plugin that simulates.")
@click.option(
    "-O",
    "--output",
    default="headgate-sweep",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of results; a sweep that was ended goes on from it.",
)
@click.option("--one-process", is_flag=True, help="Without Spark, one after the other.")
@place_options
@json_option
@click.pass_context
def sweep(
    context: click.Context,
    /,
    *,
    workloads: tuple[str, ...],
    schedulers: tuple[str, ...],
    nodes: tuple[int, ...],
    seeds: int,
    seconds: float,
    engine: str,
    output: Path,
    one_process: bool,
    as_json: bool,
    **place: Any,
) -> None:
    """Run experiments on a simulated engine: every scheduler on every workload, cluster and seed.

    They are spread over the cores of Spark, or of its cluster; without Spark they run one after the other. Writes
    results.jsonl, one experiment a line, and sweep.html with one table and the charts.
    """
    # The reports and the plugins' host cost 0.3 s, which a list of commands, which imports this module, does not need.
    from headgate.documents import unstructure, write_text
    from headgate_pipeline.sweeps.charts import sweep_page
    from headgate_pipeline.sweeps.experiments import Sweep
    from headgate_pipeline.sweeps.sweep import summary
    from headgate_pipeline.sweeps.sweep import sweep as run

    asked = Sweep(workloads=workloads, schedulers=schedulers, nodes=nodes, seeds=seeds, seconds=seconds, engine=engine)
    _check(asked)
    with contextlib.ExitStack() as stack:
        spark = None if one_process else _spark(stack, place, output)
        outcomes = run(asked, output, spark, _teller())
    cells = summary(outcomes)
    write_text(output / "sweep.html", sweep_page(cells, seconds))
    emit(unstructure(cells), *([] if as_json else [_table(cells)]), as_json=as_json)
    for error in sorted({each.error for each in outcomes if each.error}):
        say(f"failed: {error}")
    say(f"wrote {output / 'sweep.html'}")
    context.exit(1 if any(each.error for each in outcomes) else 0)


def _check(asked: Any) -> None:
    """Refuse a wrong name before anything is started."""
    # numpy and the core cost 0.3 s, which a list of commands does not need.
    from headgate.api import find_request

    host = plugins()
    for scheduler in asked.schedulers:
        host.options(scheduler)
    for workload in asked.workloads:
        find_request(workload, host)
    host.require(asked.engine, "headgate_experiment")


def _spark(stack: contextlib.ExitStack, place: dict[str, Any], output: Path) -> Any:
    """A session, or None where PySpark or Java is missing."""
    # 0.1 s that a list of commands does not need.
    from headgate_pipeline.session import LOCAL, SessionConfig, session

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
    told = -1

    def tell(done: int, total: int) -> None:
        nonlocal told
        part = 20 * done // max(total, 1)
        if part != told:
            told = part
            say(f"{done:,} of {total:,} experiments")

    return tell


def _table(cells: Sequence[Cell]) -> Any:
    # The reports cost 0.2 s, which a list of commands does not need.
    from headgate_pipeline.sweeps.charts import SHOWN, mean, nodes_text

    columns = ("workload", "nodes", "scheduler", "runs", *SHOWN)
    rows = [
        (cell.workload, nodes_text(cell.nodes), cell.scheduler, cell.runs, *(mean(cell, name) for name in SHOWN))
        for cell in cells
    ]
    return text_table("means over seeds", columns, rows, numbers=columns[3:])
