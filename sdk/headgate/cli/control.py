"""What every command that runs the control loop shares: its options, its rounds, and how they are shown."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headgate.cli.output import emit, say
from headgate.interrupts import check

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headgate.control.guards import Guards
    from headgate.control.journal import Journal
    from headgate.control.loop import Control, Loop
    from headgate.control.round import Round

BAD = ("failed", "held")
"""Outcomes after which a command ends with exit code 1."""

_GOALS = (
    "traffic",
    "nodes",
    "cost",
    "utilisation",
    "latency",
    "throughput",
)  # headgate.control.guards.GOALS, which needs numpy

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
    click.option(
        "--cooldown",
        default=0.0,
        show_default=True,
        type=click.FloatRange(min=0),
        help="Seconds after acting in which no plan is carried out; twice as long after each failure in a row.",
    ),
    click.option(
        "--min-gain",
        default=0.0,
        show_default=True,
        type=click.FloatRange(0, 1),
        help="Least relative gain of a plan over what runs, in the goal or else in any figure.",
    ),
    click.option("--goal", type=click.Choice(_GOALS), help="Undo a plan after which this got worse."),
    click.option(
        "--worse",
        default=0.1,
        show_default=True,
        type=click.FloatRange(min=0),
        help="Relative loss in the goal that is borne.",
    ),
    click.option(
        "--settle", default=1, show_default=True, type=click.IntRange(min=1), help="Rounds before a plan is judged."
    ),
    click.option(
        "--reassert",
        default=3,
        show_default=True,
        type=click.IntRange(min=0),
        help="How often to ask again while tasks are not where asked.",
    ),
    click.option("--journal", type=click.Path(dir_okay=False, path_type=Path), help="Append every round to this file."),
)


def control_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the control loop to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def make_control(engine: str, scheduler: str, options: Mapping[str, Any], settings: Mapping[str, Any]) -> Control:
    """What the options say, for the loop."""
    from headgate.control.loop import Control
    from headgate.model import Limits

    return Control(
        scheduler=scheduler,
        engine=engine,
        options=options,
        limits=Limits(deadline=settings["deadline"], max_moves=settings["max_moves"]),
        window=settings["window"],
        shadow=settings["shadow"],
        guards=_guards(settings),
    )


def _guards(settings: Mapping[str, Any]) -> Guards:
    from headgate.control.guards import Guards

    names = ("cooldown", "goal", "worse", "settle", "reassert")
    return Guards(gain=settings["min_gain"], **{name: settings[name] for name in names})


def make_journal(path: Path | None) -> Journal:
    """The journal in a file, or none.

    Raises:
        DocumentError: The file cannot be written.
    """
    from headgate.control.journal import FileJournal, NoJournal

    return FileJournal(path) if path else NoJournal()


def run_rounds(
    loop: Loop, settings: Mapping[str, Any], *, as_json: bool, wait: Callable[[float], None] = time.sleep
) -> int:
    """Run and show rounds until there were enough or the application ended; the number of bad ones.

    `wait` lets the seconds between two rounds pass: an engine may have a clock of its own.
    """
    count = bad = 0
    while settings["rounds"] is None or count < settings["rounds"]:
        if count:
            wait(settings["interval"])
        done = loop.round(replan=settings["replan"])
        check()
        show_round(done, as_json=as_json)
        bad += done.outcome in BAD
        count += 1
        if done.outcome == "ended":
            break
    return bad


def show_round(done: Round, *, as_json: bool) -> None:
    """Print a round: one line of JSON, or a sentence and the moves."""
    from headgate.cli.tables import moves_table
    from headgate.documents import unstructure

    if as_json:
        click.echo(json.dumps(unstructure(done), ensure_ascii=False, allow_nan=False))
        return
    say(f"round {done.number}: {done.outcome}: {done.message}")
    for line in (*done.warnings, *done.notes):
        say(f"  {line}")
    if done.plan is not None and done.plan.moves:
        emit(None, moves_table(done.plan), as_json=False)
