"""`headgate plan`: one request, one scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from headgate.cli.output import emit, json_option, say
from headgate.cli.request import (
    REQUEST_HELP,
    deadline_option,
    exit_code,
    find_request,
    option_option,
    request_argument,
)


@click.command("plan", epilog=REQUEST_HELP)
@request_argument
@click.option("-s", "--scheduler", default="dstorm", show_default=True, help="Name of a scheduler.")
@option_option
@deadline_option
@click.option("--max-moves", type=click.IntRange(min=0), help="Running tasks that may move.")
@click.option("--seed", type=int, help="Seed of a scheduler that draws lots.")
@click.option("-w", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the plan document here.")
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

    Ctrl-C asks a scheduler that searches for its best plan so far, and that is printed.
    """
    from headgate.api import limited
    from headgate.cli.tables import plan_tables, reasons
    from headgate.documents import unstructure, write
    from headgate.plugins.host import PluginHost
    from headgate.toolbox.cancel import Wish

    host = PluginHost.load()
    asked = limited(find_request(request, host), **limits)
    plan = host.schedule(scheduler, asked, options, wish=Wish())
    if output is not None:
        write(output, plan)
        say(f"wrote {output}")
    emit(unstructure(plan), *([] if as_json else plan_tables(plan, asked)), as_json=as_json)
    for line in reasons(plan):
        say(f"{plan.label}: {line}")
    context.exit(exit_code(plan))
