"""`headworks compare`: several schedulers on one request or on several, a table each and a summary."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headworks.cli.installed import plugins
from headworks.cli.installed import requests as complete_request
from headworks.cli.output import data_options, emit, json_option, say, write_figures, write_rows
from headworks.cli.request import REQUEST_HELP, exit_code, limit_settings, option_option, say_live, scheduler_names
from headworks.cli.settings import Configured

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headworks.api import Comparison
    from headworks.model import Request


@click.command(
    "compare",
    cls=Configured,
    settings=lambda: limit_settings("deadline", "fill"),
    epilog=REQUEST_HELP + " Options are set as SCHEDULER.NAME=VALUE.",
)
@click.argument("requests", metavar="REQUEST...", nargs=-1, required=True, shell_complete=complete_request)
@click.option(
    *("-s", "--scheduler", "schedulers"),
    multiple=True,
    shell_complete=scheduler_names,
    help="A scheduler, repeatable; all by default.",
)
@option_option
@click.option("--front", is_flag=True, help="Try costs of a node and limits on moves; keep plans that no other beats.")
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with pictures to this file."
)
@data_options
@json_option
@click.pass_context
def command(
    context: click.Context,
    /,
    *,
    requests: tuple[str, ...],
    schedulers: tuple[str, ...],
    options: dict[str, Any],
    deadline: float | None,
    fill: float | None,
    front: bool,
    html: Path | None,
    csv_file: Path | None,
    parquet: Path | None,
    figures: Path | None,
    as_json: bool,
) -> None:
    """Plan each REQUEST with several schedulers and compare the plans.

    If a scheduler knows the optimum or a bound, every plan's gap to it is shown.
    """
    # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
    from headworks.api import compare, find_request, limited
    from headworks.cli.tables import comparison_table, constraint_tables, summary_table
    from headworks.documents import unstructure, write_text

    if html is not None and len(requests) > 1:
        raise click.BadParameter("a page shows one REQUEST; name one", param_hint="--html")
    host, compared, tables, pictures = plugins(context), [], [], dict[str, str]()
    given = _by_scheduler(options)
    for text in requests:
        asked = limited(find_request(text, host), fill=fill)
        found = compare(asked, schedulers or None, options=given, deadline=deadline, host=host, front=front)
        compared.append(found)
        if not as_json:
            tables += [*([text] if len(requests) > 1 else []), comparison_table(found, asked)]
            tables += constraint_tables(asked, {row.name: row.plan for row in found.plans})
        for line in _remarks(text, found):
            say(line)
        say_live(asked, [row.plan for row in found.plans])
        pictures |= _pictures(text, found, asked) if figures is not None else {}
        if html is not None:
            # numpy, cattrs and rich cost 0.2 s, which the list of commands does not need.
            from headworks.report.html import comparison_page

            write_text(html, comparison_page(found, asked))
            say(f"wrote {html}")
    if len(requests) > 1 and not as_json and not front:
        tables.append(summary_table(requests, compared))
    named = zip(requests, compared, strict=True)
    write_rows([{"workload": text, **row} for text, found in named for row in found.rows], csv_file, parquet)
    if figures is not None:
        write_figures(pictures, figures)
    data = unstructure(compared[0]) if len(requests) == 1 else [unstructure(each) for each in compared]
    emit(data, *tables, as_json=as_json)
    empty = front and not all(found.plans for found in compared)
    context.exit(max((exit_code(row.plan) for found in compared for row in found.plans), default=0) or int(empty))


def _remarks(text: str, found: Comparison) -> Iterator[str]:
    """Lines on plans that are not as they should be; only a front may be empty."""
    # rich costs 60 ms, which the list of commands does not need.
    from headworks.cli.tables import reasons

    if not found.plans:
        yield f"{text}: no plan is whole; without --front you see the reasons"
    for row in found.plans:
        yield from (f"{row.name}: {row.plan.label}: {line}" for line in reasons(row.plan))


def _pictures(text: str, found: Comparison, request: Request) -> dict[str, str]:
    """Pictures of all plans against each other and of each, by the names of the request and of what made the plan."""
    # numpy costs 0.1 s, which the list of commands does not need.
    from headworks.problem import Problem
    from headworks.report.placement import placement_svg
    from headworks.report.trade_offs import trade_offs_svg

    problem, named = Problem.of(request), Path(text).stem
    drawn = {f"{named}-{row.name}": placement_svg(problem, row.plan.assignment) for row in found.plans}
    against = trade_offs_svg(found)
    return {**drawn, f"{named}-against-each-other": against} if against else drawn


def _by_scheduler(options: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, value in options.items():
        scheduler, dot, option = name.partition(".")
        if not dot:
            raise click.BadParameter(f"{name}: name the scheduler too, as in dstorm.{name}=...")
        found.setdefault(scheduler, {})[option] = value
    return found
