"""What every command that runs the control loop shares: its options, its rounds, and how they are shown."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headgate.cli.output import emit, say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headgate.journal import Journal
    from headgate.loop import Control, Loop, Round

BAD = ("failed", "held")
"""Outcomes after which a command ends with exit code 1."""

_OPTIONS = (
    click.option(
        "--window", default=10.0, show_default=True, type=click.FloatRange(min=0.1), help="Seconds to measure."
    ),
    click.option(
        "--interval", default=60.0, show_default=True, type=click.FloatRange(min=0), help="Seconds between rounds."
    ),
    click.option("--rounds", type=click.IntRange(min=1), help="Stop after so many rounds; endless by default."),
    click.option("--max-moves", type=click.IntRange(min=0), help="Running tasks that may move in a round."),
    click.option(
        "--deadline",
        default=5.0,
        show_default=True,
        type=click.FloatRange(min=0, min_open=True),
        help="Seconds to plan.",
    ),
    click.option("--replan", is_flag=True, help="Plan in every round, whatever the scheduler's analysis says."),
    click.option("--shadow", is_flag=True, help="Plan and report, never act."),
    click.option("--journal", type=click.Path(dir_okay=False, path_type=Path), help="Append every round to this file."),
)


def control_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the control loop to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def make_control(engine: str, scheduler: str, options: Mapping[str, Any], settings: Mapping[str, Any]) -> Control:
    """What the options say, for the loop."""
    from headgate.loop import Control
    from headgate.model import Limits

    return Control(
        scheduler=scheduler,
        engine=engine,
        options=options,
        limits=Limits(deadline=settings["deadline"], max_moves=settings["max_moves"]),
        window=settings["window"],
        shadow=settings["shadow"],
    )


def make_journal(path: Path | None) -> Journal:
    """The journal in a file, or none.

    Raises:
        DocumentError: The file cannot be written.
    """
    from headgate.journal import FileJournal, NoJournal

    return FileJournal(path) if path else NoJournal()


def run_rounds(loop: Loop, settings: Mapping[str, Any], *, as_json: bool) -> int:
    """Run and show rounds until there were enough; the number of bad ones."""
    count = bad = 0
    while settings["rounds"] is None or count < settings["rounds"]:
        if count:
            time.sleep(settings["interval"])
        done = loop.round(replan=settings["replan"])
        show_round(done, as_json=as_json)
        bad += done.outcome in BAD
        count += 1
    return bad


def show_round(done: Round, *, as_json: bool) -> None:
    """Print a round: one line of JSON, or a sentence and the moves."""
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
