"""`headworks simulate`: the control loop on a simulated engine, for one scheduler or several side by side."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from headworks.cli.installed import plugins
from headworks.cli.output import data_options, emit, json_option, say, state, table, write_figures, write_rows
from headworks.cli.request import REQUEST_HELP, SCHEDULER, option_option, request_argument, scheduler_names
from headworks.cli.rounds import bad_rounds
from headworks.cli.settings import Configured, make, settings_of
from headworks.errors import DocumentError
from headworks.report.format import percent, quantity
from headworks_sim.application import SETTINGS, trace_option
from headworks_sim.fluid.timing import Span, Timing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headworks import PluginHost
    from headworks.cli.settings import Setting
    from headworks.model import Request
    from headworks_sim.experiments.summary import Summary
    from headworks_sim.fluid.trace import Trace

ROWS = 20
"""Rows of the table over time."""
REASONS = 3
"""Reasons of such rounds that are said."""


def _of_the_loop(*names: str) -> tuple[Setting, ...]:
    from headworks.control.loop import Control  # needs numpy, which a list of commands does not

    return tuple(each for each in settings_of(Control) if each.name in names)


@click.command(
    "simulate",
    cls=Configured,
    settings=lambda: (*settings_of(Span), *SETTINGS, *_of_the_loop("knowledge", "fill")),
    epilog=REQUEST_HELP + " Options are set as SCHEDULER.NAME=VALUE.",
)
@request_argument
@click.option(
    *("-s", "--scheduler", "schedulers"),
    multiple=True,
    shell_complete=scheduler_names,
    help=f"A scheduler, repeatable; {SCHEDULER} by default.",
)
@option_option
@trace_option
@click.option(
    "--samples",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder in which measurements are kept, as Parquet.",
)
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with curves to this file.")
@data_options
@json_option
@click.pass_context
def simulate(
    context: click.Context,
    /,
    *,
    request: str,
    schedulers: tuple[str, ...],
    options: dict[str, str],
    html: Path | None,
    csv_file: Path | None,
    parquet: Path | None,
    figures: Path | None,
    as_json: bool,
    trace: str | None,
    **settings: Any,
) -> None:
    """Run the control loop on REQUEST in simulated time.

    Every scheduler meets the same cluster, the same trace and the same moments at which supervisors look.
    """
    # numpy and cattrs cost 0.3 s, which the list of commands does not need.
    from headworks.api import find_request
    from headworks.documents import digest, unstructure
    from headworks_sim.experiments.simulation import Simulation
    from headworks_sim.fluid.trace import naming, read_trace

    host = plugins(context)
    asked = find_request(request, host)
    if settings["knowledge"] is not None:
        _check_knowledge(settings["knowledge"])
    story = read_trace(trace) if trace else None
    names = tuple(dict.fromkeys(schedulers or (SCHEDULER,)))
    chosen = _options(options, names)
    with naming(trace):
        found = [_run(host, asked, name, chosen.get(name, {}), story, settings) for name in names]
    shown = [] if as_json else [*([_over_time(found[0])] if len(found) == 1 else []), _totals(found)]
    emit(unstructure(found), *shown, as_json=as_json)
    done = Simulation(request=digest(asked), seed=settings["seed"], trace=story, summaries=tuple(found))
    write_rows([{"workload": request, **row} for row in done.rows], csv_file, parquet)
    if figures is not None:
        write_figures({Path(request).stem: done.curves()}, figures)
    if html is not None:
        _write_page(html, request, found, story)
    context.exit(1 if any(bad_rounds(summary.rounds) for summary in found) else 0)


def _check_knowledge(path: Path) -> None:
    """Refuse knowledge that cannot be read: a loop would go on without it, and no other comes in simulated time."""
    # numpy and cattrs cost 0.3 s, which the list of commands does not need.
    from headworks.control.knowledge import FILE, read_knowledge

    file = path / FILE if path.is_dir() else path
    try:
        read_knowledge(file)
    except DocumentError as error:
        raise DocumentError(error.pointer, error.message, str(file)) from None


def _options(given: Mapping[str, str], names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Options by name, by scheduler, from SCHEDULER.NAME=VALUE."""
    found: dict[str, dict[str, str]] = {}
    for key, value in given.items():
        scheduler, dot, option = key.partition(".")
        if not dot or scheduler not in names:
            raise click.BadParameter(f"{key}: name one of the schedulers too, as in {names[0]}.{option or key}=...")
        found.setdefault(scheduler, {})[option] = value
    return found


def _run(
    host: PluginHost,
    request: Request,
    name: str,
    options: Mapping[str, str],
    trace: Trace | None,
    settings: Mapping[str, Any],
) -> Summary:
    # numpy and cattrs cost 0.3 s, which the list of commands does not need.
    from headworks_sim.experiments.experiment import PATIENCE, run
    from headworks_sim.keeper import ObservationWriter

    folder, seed, span = settings["samples"], settings["seed"], make(Span, settings)
    bad: list[str] = []
    summary = run(
        request,
        name,
        seed,
        span.duration,
        warm_up=span.warm_up,
        trace=trace,
        timing=make(Timing, settings),
        options=options,
        window=span.window,
        interval=span.interval,
        limits=attrs.evolve(PATIENCE, fill=settings["fill"]),
        knowledge=settings["knowledge"],
        host=host,
        keep=ObservationWriter(folder, f"{name}:{seed}").keep if folder else None,
        on_round=lambda done, _: (
            bad.append(f"{done.outcome}: {done.message}") if bad_rounds({done.outcome: 1}) else None
        ),
    )
    rounds = ", ".join(f"{count} {outcome}" for outcome, count in summary.rounds.items())
    say(f"{name}: {summary.duration:,.0f} simulated seconds; rounds: {rounds}")
    for reason, count in Counter(bad if bad_rounds(summary.rounds) else ()).most_common(REASONS):
        say(f"{name}: {count} x {reason}")
    return summary


COLUMNS = (
    *("scheduler", "status", "start s", "offered", "done", "done %", "latency ms", "between nodes"),
    *("nodes", "moves", "stopped s", "degraded s", "waiting"),
)
"""Heads of the table of totals, in the order of `_cells`."""
SPARE = ("start s", "degraded s", "done", "moves", "nodes", "stopped s", "waiting", "offered", "status")
"""Columns that are left out first where there is no room."""


def _cells(summary: Summary) -> tuple[str, ...]:
    return (
        summary.scheduler,
        state(summary.status),
        "never" if summary.start is None else f"{summary.start:.1f}",
        quantity(summary.offered),
        quantity(summary.throughput),
        "" if summary.completed is None else f"{100 * summary.completed:.1f}",
        quantity(summary.latency),
        percent(summary.inter_node),
        f"{summary.nodes:.1f}",
        str(summary.moves),
        f"{summary.stopped:.1f}",
        f"{summary.degraded:.1f}",
        quantity(summary.backlog),
    )


def _totals(found: Sequence[Summary]) -> Any:
    # numpy costs 0.1 s, which the list of commands does not need.
    from headworks_sim.experiments.summary import without

    title = f"over the whole time{without(found)}"
    return table(title, COLUMNS, map(_cells, found), numbers=COLUMNS[2:], whole=("status",), spare=SPARE)


def _over_time(summary: Summary) -> Any:
    """A table of at most `ROWS` lines, each the last point of a stretch of the curve."""
    columns = ("until s", "offered", "done", "latency ms", "between nodes", "nodes", "waiting")
    points = summary.curve
    due = [summary.duration * (number + 1) / ROWS for number in range(ROWS)]
    chosen = dict.fromkeys(next((each for each in points if each.time >= time - 1e-6), points[-1]) for time in due)
    rows = [
        (
            f"{each.time:,.0f}",
            quantity(each.offered),
            quantity(each.throughput),
            quantity(each.latency),
            percent(each.inter_node),
            each.nodes,
            quantity(each.backlog),
        )
        for each in chosen
    ]
    return table(f"{summary.scheduler} over time", columns, rows, numbers=columns)


def _write_page(path: Path, request: str, found: Sequence[Summary], trace: Trace | None) -> None:
    # cattrs and the drawing cost 0.1 s, which the list of commands does not need.
    from headworks.documents import write_text
    from headworks_sim.experiments.page import simulation_page

    write_text(path, simulation_page(Path(request).name, found, trace, COLUMNS, [_cells(each) for each in found]))
    say(f"wrote {path}")
