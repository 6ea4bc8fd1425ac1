"""`headworks why`: one task's place in a plan or in a decision that was made, and each other node in its stead."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headworks.cli.decided import Decided, recorded, recorded_options, refuse_typed
from headworks.cli.installed import plugins, requests
from headworks.cli.output import emit, json_option, say, table
from headworks.cli.request import (
    REQUEST_HELP,
    exit_code,
    limit_settings,
    option_option,
    say_live,
    scheduler_option,
)
from headworks.cli.settings import Configured
from headworks.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headworks.model import Request
    from headworks.problem.plan.why import Alternative, Why

COLUMNS = ("node", "fits", "traffic between", "fullest", "restarts", "short or in the way")
PLANNING = ("scheduler", "options")
"""Parameters that say how to plan."""


@click.command("why", cls=Configured, settings=limit_settings, epilog=REQUEST_HELP)
@click.argument("words", metavar="[REQUEST] TASK", nargs=-1, required=True, shell_complete=requests)
@scheduler_option
@option_option
@click.option("--seed", type=int, help="Seed of the scheduler.")
@click.option("--not", "node", metavar="NODE", help="Say why the task is not on this node.")
@click.option(
    "--plan",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Explain the plan in this file, which was made for REQUEST.",
)
@recorded_options
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    words: tuple[str, ...],
    scheduler: str,
    options: dict[str, Any],
    node: str | None,
    plan: Path | None,
    journal: Path | None,
    record: int | None,
    engine: str | None,
    as_json: bool,
    **limits: Any,
) -> None:
    """Explain the place of TASK in a plan for REQUEST, or in a decision that was made.

    TASK is TOPOLOGY/COMPONENT/INDEX. A row for each node says whether the task fits there, with all others as planned,
    which resource is short or which constraint it would break, and which figures would change. With --plan, --journal
    or --engine nothing is planned again.
    """
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.cli.tables import reasons
    from headworks.documents import unstructure
    from headworks.model.spoken import spoken
    from headworks.problem.plan.why import explain

    decided = recorded(journal, record, engine)
    made = decided is not None or plan is not None
    if made:
        refuse_typed(context, PLANNING, "has no effect on a plan that was made: leave it out")
    if decided is not None:
        refuse_typed(context, ("plan", *limits), "has no effect on a decision that was made: leave it out")
    else:
        decided = _decided(context, _request(words), plan, scheduler, options, limits)
    found = explain(decided.request, decided.plan, _task(words, 1 if journal or engine else 2), node=node)
    told = spoken(decided.request.cluster.nodes, decided.request.topologies)
    emit(unstructure(found), *([] if as_json else [_table(found, told), told(found.sentence)]), as_json=as_json)
    lines = [decided.said, *(f"{decided.plan.label}: {each}" for each in reasons(decided.plan))]
    for line in filter(None, map(told, lines)):
        say(line)
    if not made:
        say_live(decided.request, [decided.plan])
        context.exit(exit_code(decided.plan))


def _request(words: tuple[str, ...]) -> str:
    _task(words, 2)
    return words[0]


def _task(words: tuple[str, ...], count: int) -> str:
    """The last of so many words.

    Raises:
        UsageError: There are more or fewer.
    """
    if len(words) != count:
        wanted = "TASK alone, as the decision has its request" if count == 1 else "REQUEST and TASK"
        raise click.UsageError(f"{len(words)} words are given, and expected are {wanted}: {' '.join(words)}")
    return words[-1]


def _decided(
    context: click.Context,
    request: str,
    file: Path | None,
    scheduler: str,
    options: Mapping[str, Any],
    limits: Mapping[str, Any],
) -> Decided:
    """The decision for a request: that of a file, or made now.

    Raises:
        DocumentError: The plan was made for another request.
    """
    # numpy and cattrs cost 0.2 s, which the list of commands does not need.
    from headworks.api import find_request, limited

    host = plugins(context)
    asked = limited(find_request(request, host), **limits)
    if file is None:
        return Decided(request=asked, plan=host.schedule(scheduler, asked, options))
    return _of_file(file, asked, request)


def _of_file(file: Path, asked: Request, request: str) -> Decided:
    # numpy and cattrs cost 0.2 s, which the list of commands does not need.
    from headworks.documents import digest, read
    from headworks.model import Plan

    plan = read(file, Plan)
    if plan.provenance.request not in ("", digest(asked)):
        said = f"is a plan for another request than {request}, or for other limits: name those that it was made with"
        raise DocumentError("/provenance/request", said, str(file))
    return Decided(request=asked, plan=plan)


def _table(why: Why, told: Callable[[str], str]) -> Any:
    by = f"by {why.scheduler}" if why.scheduler else "as it is"
    title = f"{told(why.task)}, {by}; changes against the plan, traffic in {why.unit}"
    rows = [tuple(map(told, _cells(why, row))) for row in why.alternatives]
    return table(title, COLUMNS, rows, numbers=COLUMNS[2:5])


def _cells(why: Why, row: Alternative) -> tuple[str, ...]:
    here = why.planned is not None and row.node == why.planned.node
    said = "; ".join(reason.message for reason in row.reasons)
    if row.slot is None:
        return row.node, "no", "", "", "", said
    fits = "here" if here else "yes" if row.fits else "no"
    return row.node, fits, f"{row.inter_node:+,.6g}", f"{row.fullest_node:+.1%}", f"{row.restarts:+d}", said
