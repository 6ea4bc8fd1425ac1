"""The arguments that commands on a request share."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from headgate.documents import loads, read
from headgate.errors import DocumentError
from headgate.model import Request, Status

if TYPE_CHECKING:
    from headgate.model import Plan
    from headgate.plugins.host import PluginHost

request_argument = click.argument("request", metavar="REQUEST")
REQUEST_HELP = "REQUEST is a request document, - for stdin, or PLUGIN:WORKLOAD (see `headgate plugins`)."

EXIT = {Status.OK: 0, Status.INFEASIBLE: 1, Status.HELD: 3}


def find_request(text: str, host: PluginHost) -> Request:
    """The request that an argument names.

    Raises:
        DocumentError: It is no file and no workload, or not a valid request.
    """
    if text == "-":
        return loads(sys.stdin.buffer.read(), Request)
    plugin, colon, name = text.partition(":")
    if colon and plugin in host and not os.path.exists(text):  # noqa: PTH110 - a long text is no error here
        return _workload(host, plugin, name)
    return read(text, Request)


def _workload(host: PluginHost, plugin: str, name: str) -> Request:
    known = {workload.name: workload for workload in host.evidence(plugin).workloads}
    if name not in known:
        raise DocumentError("", f"{plugin} has no workload {name!r}; there are: {', '.join(sorted(known)) or 'none'}")
    return known[name].build()


def pairs(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, Any]:
    """Read `name=value` options."""
    found = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals:
            raise click.BadParameter(f"{value!r} is not NAME=VALUE")
        found[name] = text
    return found


option_option = click.option(
    "-o", "--option", "options", multiple=True, metavar="NAME=VALUE", callback=pairs, help="Set a scheduler's option."
)
deadline_option = click.option("--deadline", type=click.FloatRange(min=0, min_open=True), help="Seconds to plan.")


def exit_code(plan: Plan) -> int:
    """What a plan's status means to the shell; one that starves topologies on purpose does what it is to do."""
    return 0 if plan.starves else EXIT[plan.status]
