"""`headworks what-if`: the plan after a change beside what runs now, and both as predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headworks.cli.decided import recorded, recorded_options, refuse_typed
from headworks.cli.installed import plugins, requests
from headworks.cli.output import emit, json_option, say, table
from headworks.cli.parameters import Counted, FiniteRange
from headworks.cli.request import (
    REQUEST_HELP,
    SCHEDULER,
    exit_code,
    limit_settings,
    option_option,
    say_live,
    scheduler_names,
)
from headworks.cli.settings import Configured

if TYPE_CHECKING:
    from pathlib import Path

    from headworks.cli.decided import Decided
    from headworks.model import Request


@click.command("what-if", cls=Configured, settings=limit_settings, epilog=REQUEST_HELP)
@click.argument("request", metavar="[REQUEST]", required=False, shell_complete=requests)
@click.option("--drain", multiple=True, metavar="NODE", help="No task may stay on this node.")
@click.option("--lose", multiple=True, metavar="NODE", help="This node is gone, and its tasks run nowhere.")
@click.option(
    "--add",
    multiple=True,
    type=Counted(),
    metavar="TYPE=COUNT",
    help="More nodes of this machine type, or like the node of this name.",
)
@click.option(
    "--load", type=FiniteRange(min=0, min_open=True), default=1.0, help="Factor of every rate and CPU demand."
)
@click.option(
    "--without",
    multiple=True,
    metavar="CONSTRAINT",
    help="Leave this constraint out, in the words of `headworks plan`.",
)
@click.option(
    *("-s", "--scheduler"),
    shell_complete=scheduler_names,
    help=f"Name of a scheduler; by default that of the decision, else {SCHEDULER}.",
)
@option_option
@click.option("--seed", type=int, help="Seed of the scheduler.")
@recorded_options
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    request: str | None,
    scheduler: str | None,
    options: dict[str, Any],
    journal: Path | None,
    record: int | None,
    engine: str | None,
    as_json: bool,
    drain: tuple[str, ...],
    lose: tuple[str, ...],
    add: tuple[tuple[str, int], ...],
    load: float,
    without: tuple[str, ...],
    **limits: Any,
) -> None:
    """Plan REQUEST after a change, beside the running tasks; the simulated engine predicts both.

    All named changes hold together. Without any, the request is planned as it is. In place of REQUEST, --journal and
    --engine take the observation of a round.
    """
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.cli.tables import reasons
    from headworks.documents import unstructure
    from headworks.model.spoken import spoken
    from headworks.model.variants import RequestChange
    from headworks.report.what_if import COLUMNS, rows, what_if

    host = plugins(context)
    decided = recorded(journal, record, engine)
    asked = _asked(context, request, decided, limits)
    if scheduler is None and decided is not None and decided.plan.provenance.scheduler:
        scheduler, options = decided.plan.provenance.scheduler, {**decided.plan.provenance.options, **options}
    change = RequestChange(drain=drain, lose=lose, add=add, load=load, without=without)
    found = what_if(asked, change, scheduler or SCHEDULER, host, options)
    told = spoken(asked.cluster.nodes, asked.topologies)
    shown = [] if as_json else [table(f"by {found.scheduler}", COLUMNS, rows(found), numbers=COLUMNS[1:])]
    emit(unstructure(found), *shown, as_json=as_json)
    lines = [decided.said if decided else "", *(f"{found.plan.label}: {each}" for each in reasons(found.plan))]
    for line in filter(None, (*lines, found.unpredicted)):
        say(told(line))
    say_live(asked, [found.plan])
    context.exit(exit_code(found.plan))


def _asked(context: click.Context, request: str | None, decided: Decided | None, limits: dict[str, Any]) -> Request:
    """The request of a decision, or the one that is named."""
    # numpy and cattrs cost 0.2 s, which the list of commands does not need.
    from headworks.api import find_request, limited

    if decided is None and request is None:
        raise click.UsageError("name a REQUEST, or a decision by --journal or --engine")
    if decided is not None:
        refuse_typed(context, ("request",), "is not read beside a decision, which has its own: leave one of them out")
    asked = decided.request if decided is not None else find_request(str(request), plugins(context))
    return limited(asked, **limits)
