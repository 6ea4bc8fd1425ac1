"""`headgate compare`: one request, several schedulers, one table."""

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


@click.command("compare", epilog=REQUEST_HELP + " Options are set as SCHEDULER.NAME=VALUE.")
@request_argument
@click.option("-s", "--scheduler", "schedulers", multiple=True, help="A scheduler, repeatable; all by default.")
@option_option
@deadline_option
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with pictures here.")
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    request: str,
    schedulers: tuple[str, ...],
    options: dict[str, Any],
    deadline: float | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """Plan REQUEST with several schedulers and compare what they decide."""
    from headgate.api import compare
    from headgate.cli.tables import comparison_table, reasons
    from headgate.documents import unstructure, write_text
    from headgate.host import PluginHost

    host = PluginHost.load()
    asked = find_request(request, host)
    compared = compare(asked, schedulers or None, options=_by_scheduler(options), deadline=deadline, host=host)
    emit(unstructure(compared), *([] if as_json else [comparison_table(compared, asked)]), as_json=as_json)
    for row in compared.rows:
        for line in reasons(row.plan):
            say(f"{row.scheduler}: {row.plan.status}: {line}")
    if html is not None:
        from headgate.report import comparison_page

        write_text(html, comparison_page(compared, asked))
        say(f"wrote {html}")
    context.exit(max((exit_code(row.plan) for row in compared.rows), default=0))


def _by_scheduler(options: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, value in options.items():
        scheduler, dot, option = name.partition(".")
        if not dot:
            raise click.BadParameter(f"{name}: name the scheduler too, as in dstorm.{name}=...")
        found.setdefault(scheduler, {})[option] = value
    return found
