"""Decisions that commands ask about: of a journal's round, or of the engine that a process steers now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click
from click.core import ParameterSource

from headworks.errors import DocumentError
from headworks.model import Plan, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headworks.control.journal import Round

OPTIONS = (
    click.option(
        "--journal",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Ask about a round of this journal, in place of REQUEST.",
    ),
    click.option(
        *("-n", "--record"),
        type=click.IntRange(min=1),
        help="Its record, from 1; by default the newest that has a request.",
    ),
    click.option(
        "--engine",
        metavar="NAME[:PID]",
        help="Ask about the engine that a `headworks run` or `serve` of yours steers now, in place of REQUEST.",
    ),
)


def recorded_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that name a decision that was made: `journal`, `record` and `engine`."""
    for each in reversed(OPTIONS):
        command = each(command)
    return command


@attrs.frozen(kw_only=True)
class Decided:
    """A decision: what was asked, the plan for it (what runs, where nothing was planned), and its origin in words."""

    request: Request
    plan: Plan
    said: str = ""


def recorded(journal: Path | None, record: int | None, engine: str | None) -> Decided | None:
    """The decision that options name, None if they name none.

    Raises:
        UsageError: They contradict each other.
        DocumentError: The journal has no such round.
        EngineError: No process steers that engine.
    """
    if journal is not None and engine is not None:
        raise click.UsageError("--journal and --engine name two decisions: give one of them")
    if journal is not None:
        return _of_journal(journal, record)
    if record is not None:
        raise click.UsageError("-n is the record of a journal: give --journal FILE as well")
    if engine is None:
        return None
    # Sockets and their folder cost 10 ms, which the list of commands does not need.
    from headworks.cli.live import newest_round

    return _decided(newest_round(engine), engine)


def _of_journal(file: Path, record: int | None) -> Decided:
    # numpy and cattrs cost 0.2 s, which the list of commands does not need.
    from headworks.control.journal import Round, read_journal
    from headworks.documents import restore

    count, at, found = 0, 0, None
    for count, each in enumerate(read_journal(file), start=1):
        if count == record or (record is None and "request" in each):
            at, found = count, each
    if found is None and record is not None:
        raise DocumentError("", f"has {count} records, and no record {record}", str(file))
    if found is None:
        raise DocumentError("", f"has {count} records, and none of a round in which a plan was asked for", str(file))
    try:
        return _decided(restore(found, Round), f"record {at} of {file}")
    except DocumentError as error:
        raise DocumentError(error.pointer, f"{error.message} (record {at})", str(file)) from None


def _decided(done: Round, origin: str) -> Decided:
    # numpy costs 0.1 s, which the list of commands does not need.
    from headworks.problem.plan.standing import as_it_runs

    if done.request is None:
        said = f"the round was {done.outcome}, and no plan was asked for: its record has no request"
        raise DocumentError("", said)
    plan = as_it_runs(done.request) if done.plan is None else done.plan
    shown = "" if done.plan is not None else "; nothing was planned, so this is about the running tasks"
    return Decided(
        request=done.request,
        plan=plan,
        said=f"{origin}, round {done.number}{done.at and f' of {done.at}'}: {done.outcome}: {done.message}{shown}",
    )


def refuse_typed(context: click.Context, names: Iterable[str], why: str) -> None:
    """Refuse options that have no effect here, if they were typed.

    Args:
        names: Of the command's parameters.
        why: The end of the sentence that begins with the option.

    Raises:
        UsageError: One of them was typed.
    """
    named = {*names}
    for each in context.command.get_params(context):
        if each.name in named and context.get_parameter_source(str(each.name)) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{max(each.opts, key=len)} {why}")
