"""`headworks run`: the control loop against a live engine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from headworks.cli.installed import plugin_names, plugins
from headworks.cli.output import json_option
from headworks.cli.request import option_option, scheduler_option
from headworks.cli.rounds import journal_option, loop_settings, make_journal, run_rounds
from headworks.cli.settings import Configured, Pace, make


@click.command("run", cls=Configured, settings=loop_settings, context_settings={"allow_interspersed_args": False})
@click.option(
    "--engine",
    required=True,
    shell_complete=plugin_names("headworks_open"),
    help="Plugin that watches and steers the engine, such as spark.",
)
@scheduler_option
@option_option
@click.option("--master", help="Address of a running engine; one is started on this machine by default.")
@click.option(
    "--samples", type=click.Path(file_okay=False, path_type=Path), help="Keep what is measured here, as Parquet."
)
@journal_option
@json_option
@click.argument("application", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    engine: str,
    scheduler: str,
    options: dict[str, Any],
    master: str | None,
    samples: Path | None,
    journal: Path | None,
    as_json: bool,
    application: tuple[str, ...],
    **settings: Any,
) -> None:
    """Run APPLICATION on an engine and place its tasks, round after round.

    For `--engine spark`, APPLICATION is a Python file that starts a streaming query on the session that
    `SparkSession.builder.getOrCreate()` returns. What follows it are its own arguments. With --json each round is
    one line.
    """
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.control.loop import Control, Loop
    from headworks.samples.store import Keeper, arrow_schema

    if samples is not None:
        arrow_schema()
    host = plugins(context)
    host.options(scheduler, options)
    control = make(Control, settings, engine=engine, scheduler=scheduler, options=options)
    if control.fleet is not None and not host.has(engine, "headworks_scale"):
        raise click.UsageError(f"{engine} cannot add or drain nodes, so --elastic has no effect there")
    pace, recorded = make(Pace, settings), make_journal(journal)
    with (
        host.isolated(wanted=control.isolation == "process") as apart,
        apart.open(engine, application, master) as target,
    ):
        if pace.rounds is None and hasattr(target, "wait"):
            raise click.UsageError(f"time on {engine} is not real, so its rounds would never end: give --rounds")
        moment = getattr(target, "moment", time.time)
        keep = Keeper(samples, engine, moment).keep if samples is not None else None
        clock, wait = getattr(target, "clock", time.monotonic), getattr(target, "wait", time.sleep)
        loop = Loop(apart, control, target, recorded, keep=keep, clock=clock)
        bad = run_rounds(loop, pace, as_json=as_json, wait=wait)
    context.exit(1 if bad else 0)
