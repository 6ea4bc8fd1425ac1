"""`headgate run`: the control loop against a live engine."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headgate.cli.output import emit, json_option, say
from headgate.cli.request import option_option

if TYPE_CHECKING:
    from headgate.loop import Round


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.option("--engine", required=True, help="Plugin that watches and steers the engine, such as spark.")
@click.option("-s", "--scheduler", default="dstorm", show_default=True, help="Name of a scheduler.")
@option_option
@click.option("--window", default=10.0, show_default=True, type=click.FloatRange(min=0.1), help="Seconds to measure.")
@click.option(
    "--interval", default=60.0, show_default=True, type=click.FloatRange(min=0), help="Seconds between rounds."
)
@click.option("--rounds", type=click.IntRange(min=1), help="Stop after so many rounds; endless by default.")
@click.option("--max-moves", type=click.IntRange(min=0), help="Running tasks that may move in a round.")
@click.option(
    "--deadline", default=5.0, show_default=True, type=click.FloatRange(min=0, min_open=True), help="Seconds to plan."
)
@click.option("--replan", is_flag=True, help="Plan in every round, whatever the scheduler's analysis says.")
@click.option("--shadow", is_flag=True, help="Plan and report, never act.")
@click.option("--journal", type=click.Path(dir_okay=False, path_type=Path), help="Append every round to this file.")
@click.option("--master", help="Address of a running engine; one is started on this machine by default.")
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
    application: tuple[str, ...],
    **settings: Any,
) -> None:
    """Run APPLICATION on an engine and place its tasks, round after round.

    For `--engine spark`, APPLICATION is a Python file that starts a streaming query on the session that
    `SparkSession.builder.getOrCreate()` returns. What follows it are its own arguments. With --json each round is
    one line.
    """
    from headgate.host import PluginHost
    from headgate.journal import FileJournal, NoJournal
    from headgate.loop import Control, Loop
    from headgate.model import Limits

    host = PluginHost.load()
    host.options(scheduler, options)
    control = Control(
        scheduler=scheduler,
        engine=engine,
        options=options,
        limits=Limits(deadline=settings["deadline"], max_moves=settings["max_moves"]),
        window=settings["window"],
        shadow=settings["shadow"],
    )
    journal = FileJournal(settings["journal"]) if settings["journal"] else NoJournal()
    bad = 0
    with host.open(engine, application, master) as target:
        loop = Loop(host, control, target, journal)
        for done in _rounds(loop, settings["rounds"], settings["interval"], replan=settings["replan"]):
            _report(done, as_json=as_json)
            bad += done.outcome in ("failed", "held")
    context.exit(1 if bad else 0)


def _rounds(loop: Any, rounds: int | None, interval: float, *, replan: bool) -> Any:
    count = 0
    while rounds is None or count < rounds:
        if count:
            time.sleep(interval)
        yield loop.round(replan=replan)
        count += 1


def _report(done: Round, *, as_json: bool) -> None:
    from headgate.cli.tables import moves_table
    from headgate.documents import unstructure

    if as_json:
        click.echo(json.dumps(unstructure(done), ensure_ascii=False, allow_nan=False))
        return
    say(f"round {done.number}: {done.outcome}: {done.message}")
    for warning in done.warnings:
        say(f"  {warning}")
    if done.plan is not None and done.plan.moves:
        emit(None, moves_table(done.plan), as_json=False)
