"""`headgate run`: the control loop against a live engine."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from headgate.cli.control import control_options, make_control, make_journal, run_rounds
from headgate.cli.output import json_option
from headgate.cli.request import option_option

if TYPE_CHECKING:
    from headgate.control.autoscale import Fleet


def _fleet(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Fleet | None:
    from headgate.control.autoscale import Fleet

    if value is None:
        return None
    least, colon, most = value.partition(":")
    if not (colon and least.isdigit() and most.isdigit() and 1 <= int(least) <= int(most)):
        raise click.BadParameter(f"{value!r} is no range of nodes: expected MIN:MAX such as 1:4")
    return Fleet(minimum=int(least), maximum=int(most))


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.option("--engine", required=True, help="Plugin that watches and steers the engine, such as spark.")
@click.option("-s", "--scheduler", default="dstorm", show_default=True, help="Name of a scheduler.")
@option_option
@control_options
@click.option("--master", help="Address of a running engine; one is started on this machine by default.")
@click.option(
    "--samples", type=click.Path(file_okay=False, path_type=Path), help="Keep what is measured here, as Parquet."
)
@click.option(
    "--elastic", metavar="MIN:MAX", callback=_fleet, help="Give empty nodes back and ask for more, within these bounds."
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
    elastic: Fleet | None,
    samples: Path | None,
    application: tuple[str, ...],
    **settings: Any,
) -> None:
    """Run APPLICATION on an engine and place its tasks, round after round.

    For `--engine spark`, APPLICATION is a Python file that starts a streaming query on the session that
    `SparkSession.builder.getOrCreate()` returns. What follows it are its own arguments. With --json each round is
    one line.
    """
    from headgate.control.loop import Loop
    from headgate.plugins.host import PluginHost
    from headgate.samples.store import Keeper, arrow_schema

    if samples is not None:
        arrow_schema()
    host = PluginHost.load()
    host.options(scheduler, options)
    control = attrs.evolve(make_control(engine, scheduler, options, settings), fleet=elastic)
    if elastic is not None and not host.has(engine, "headgate_scale"):
        raise click.UsageError(f"{engine} cannot add or drain nodes, so --elastic has no effect there")
    journal = make_journal(settings["journal"])
    with host.open(engine, application, master) as target:
        moment = getattr(target, "moment", time.time)
        keep = Keeper(samples, engine, moment).keep if samples is not None else None
        clock, wait = getattr(target, "clock", time.monotonic), getattr(target, "wait", time.sleep)
        loop = Loop(host, control, target, journal, keep=keep, clock=clock)
        bad = run_rounds(loop, settings, as_json=as_json, wait=wait)
    context.exit(1 if bad else 0)
