"""`headgate run`: the control loop against a live engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from headgate.cli.control import control_options, make_control, make_journal, run_rounds
from headgate.cli.output import json_option
from headgate.cli.request import option_option


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.option("--engine", required=True, help="Plugin that watches and steers the engine, such as spark.")
@click.option("-s", "--scheduler", default="dstorm", show_default=True, help="Name of a scheduler.")
@option_option
@control_options
@click.option("--master", help="Address of a running engine; one is started on this machine by default.")
@click.option(
    "--samples", type=click.Path(file_okay=False, path_type=Path), help="Keep what is measured here, as Parquet."
)
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
    as_json: bool,
    master: str | None,
    samples: Path | None,
    application: tuple[str, ...],
    **settings: Any,
) -> None:
    """Run APPLICATION on an engine and place its tasks, round after round.

    For `--engine spark`, APPLICATION is a Python file that starts a streaming query on the session that
    `SparkSession.builder.getOrCreate()` returns. What follows it are its own arguments. With --json each round is
    one line.
    """
    from headgate.host import PluginHost
    from headgate.loop import Loop
    from headgate.samples_store import Keeper, arrow_schema

    if samples is not None:
        arrow_schema()
    keep = Keeper(samples, engine).keep if samples is not None else None
    host = PluginHost.load()
    host.options(scheduler, options)
    control = make_control(engine, scheduler, options, settings)
    journal = make_journal(settings["journal"])
    with host.open(engine, application, master) as target:
        bad = run_rounds(Loop(host, control, target, journal, keep=keep), settings, as_json=as_json)
    context.exit(1 if bad else 0)
