"""The arguments that commands on a request share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import click

from headworks.cli.installed import plugin_names, requests
from headworks.cli.output import WIDE, be_wide, say
from headworks.cli.settings import OPTIONS, settings_of
from headworks.model import FILL, Limits, Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headworks.cli.settings import Setting
    from headworks.model import Plan, Request

SCHEDULER = "dstorm"
"""The scheduler of commands that are told none."""

request_argument = click.argument("request", metavar="REQUEST", shell_complete=requests)
REQUEST_HELP = (
    "REQUEST is a request document in JSON, YAML or TOML, - for JSON from stdin, or PLUGIN:WORKLOAD "
    "(see `headworks workloads`)."
)

EXIT = {Status.OK: 0, Status.INFEASIBLE: 1, Status.HELD: 3}


def limit_settings(*names: str) -> tuple[Setting, ...]:
    """Limits of a request that a command may replace, all by default."""
    return tuple(attrs.evolve(each, default=None) for each in settings_of(Limits) if not names or each.name in names)


def say_live(request: Request, plans: Iterable[Plan]) -> None:
    """Say what a live command would plan for, where these plans leave less headroom."""
    if request.limits.fill is None and any(plan.scores.fullest_node > FILL for plan in plans):
        say(f"A live command plans for at most {FILL:.0%} of each node's CPU, as --fill {FILL:g} does here.")


def parse_options(context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """Read `name=value` options, on top of those of the command's file; `wide` is of tables.

    Args:
        context: Context of the command, whose `default_map` has the file's options.

    Raises:
        BadParameter: A text has no `=`.
    """
    found = dict((context.default_map or {}).get(OPTIONS, {}))
    for value in values:
        if value == WIDE:
            be_wide(context)
            continue
        name, equals, text = value.partition("=")
        if not equals:
            file = "; a file is written by -O" if any("-O" in each.opts for each in context.command.params) else ""
            raise click.BadParameter(f"{value!r} is not NAME=VALUE{file}")
        found[name] = text
    return found


option_option = click.option(
    "-o",
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    callback=parse_options,
    help="Set a scheduler's option; `wide` shows every column of tables.",
)
scheduler_names = plugin_names("headworks_schedule")
scheduler_option = click.option(
    *("-s", "--scheduler"),
    default=SCHEDULER,
    show_default=True,
    shell_complete=scheduler_names,
    help="Name of a scheduler.",
)


def exit_code(plan: Plan) -> int:
    """Exit code of a plan's status; a plan that starves topologies on purpose counts as a success."""
    return 0 if plan.starves else EXIT[plan.status]
