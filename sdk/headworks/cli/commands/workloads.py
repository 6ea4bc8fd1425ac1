"""`headworks workloads`: the requests that plugins name, to try schedulers on."""

from __future__ import annotations

import click

from headworks.cli.installed import plugin_names, plugins
from headworks.cli.output import emit, json_option, table


@click.command("workloads")
@click.argument("plugin", required=False, shell_complete=plugin_names("headworks_workloads"))
@json_option
@click.pass_context
def command(context: click.Context, /, *, plugin: str | None, as_json: bool) -> None:
    """List the workloads of PLUGIN, of all plugins by default: requests that a command takes as PLUGIN:WORKLOAD."""
    host = plugins(context)
    names = [plugin] if plugin else host.having("headworks_workloads")
    data = [
        {"name": f"{name}:{workload.name}", "summary": workload.summary}
        for name in names
        for workload in host.workloads(name)
    ]
    rows = [(each["name"], each["summary"]) for each in data]
    emit(data, table("", ("workload", "summary"), rows), as_json=as_json)
