"""`headworks plan`: one request, one scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from headworks.cli.installed import plugins
from headworks.cli.output import emit, json_option, say
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


@click.command("plan", cls=Configured, settings=limit_settings, epilog=REQUEST_HELP)
@request_argument
@scheduler_option
@option_option
@click.option("--seed", type=int, help="Seed of the scheduler.")
@click.option(
    "-O", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the plan document to this file."
)
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    request: str,
    scheduler: str,
    options: dict[str, Any],
    output: Path | None,
    as_json: bool,
    **limits: Any,
) -> None:
    """Plan REQUEST with one scheduler and print figures and moves.

    At Ctrl-C, a scheduler that searches is asked for its best plan so far.
    """
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.api import find_request, limited
    from headworks.api import plan as make_plan
    from headworks.cli.tables import plan_tables, reasons
    from headworks.documents import unstructure, write
    from headworks.toolbox.cancel import Cancellation

    host = plugins(context)
    asked = limited(find_request(request, host), **limits)
    plan = make_plan(asked, scheduler, options=options, host=host, cancel=Cancellation())
    if output is not None:
        write(output, plan)
        say(f"wrote {output}")
    emit(unstructure(plan), *([] if as_json else plan_tables(plan, asked)), as_json=as_json)
    for line in reasons(plan):
        say(f"{plan.label}: {line}")
    say_live(asked, [plan])
    context.exit(exit_code(plan))
