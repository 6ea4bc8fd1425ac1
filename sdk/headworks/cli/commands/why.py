"""`headworks why`: one task's place in a plan, and each other node in its stead."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headworks.cli.installed import plugins
from headworks.cli.output import emit, json_option, say, table
from headworks.cli.request import (
    REQUEST_HELP,
    exit_code,
    limit_settings,
    option_option,
    request_argument,
    say_live,
    scheduler_option,
)
from headworks.cli.settings import Configured

if TYPE_CHECKING:
    from headworks.problem.plan.why import Alternative, Why

COLUMNS = ("node", "fits", "traffic between", "fullest", "restarts", "short or in the way")


@click.command("why", cls=Configured, settings=limit_settings, epilog=REQUEST_HELP)
@request_argument
@click.argument("task", metavar="TASK")
@scheduler_option
@option_option
@click.option("--seed", type=int, help="Seed of the scheduler.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    request: str,
    task: str,
    scheduler: str,
    options: dict[str, Any],
    as_json: bool,
    **limits: Any,
) -> None:
    """Explain the place of TASK in a plan for REQUEST.

    TASK is TOPOLOGY/COMPONENT/INDEX. A row for each node says whether the task fits there, with all others as planned,
    which resource is short or which constraint it would break, and which figures would change.
    """
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.api import find_request, limited
    from headworks.cli.tables import reasons
    from headworks.documents import unstructure
    from headworks.problem.plan.why import explain

    host = plugins(context)
    asked = limited(find_request(request, host), **limits)
    plan = host.schedule(scheduler, asked, options)
    found = explain(asked, plan, task)
    emit(unstructure(found), *([] if as_json else [_table(found), found.sentence]), as_json=as_json)
    for line in reasons(plan):
        say(f"{plan.label}: {line}")
    say_live(asked, [plan])
    context.exit(exit_code(plan))


def _table(why: Why) -> Any:
    title = f"{why.task}, by {why.scheduler}; changes against the plan, traffic in {why.unit}"
    rows = [_cells(why, row) for row in why.alternatives]
    return table(title, COLUMNS, rows, numbers=COLUMNS[2:5])


def _cells(why: Why, row: Alternative) -> tuple[str, ...]:
    here = why.planned is not None and row.node == why.planned.node
    said = "; ".join(reason.message for reason in row.reasons)
    if row.slot is None:
        return row.node, "no", "", "", "", said
    fits = "here" if here else "yes" if row.fits else "no"
    return row.node, fits, f"{row.inter_node:+,.6g}", f"{row.fullest_node:+.1%}", f"{row.restarts:+d}", said
