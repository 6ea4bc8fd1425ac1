"""`headgate plugins`: what is installed."""

from __future__ import annotations

from typing import Any

import attrs
import click

from headgate.cli.host import plugins
from headgate.cli.output import emit, json_option, say, table


@click.command("plugins")
@json_option
def command(*, as_json: bool) -> None:
    """List plugins: what each one is, its options, and the workloads it names."""
    host = plugins()
    data = [
        {
            "name": plugin.name,
            "summary": plugin.description.summary,
            "paper": plugin.description.paper,
            "roles": sorted(_roles(plugin.hooks)),
            "hooks": sorted(plugin.hooks),
            "options": {
                field.name: None if field.default is attrs.NOTHING else field.default
                for field in attrs.fields(plugin.description.options)
            },
            "workloads": [workload.name for workload in host.evidence(plugin.name).workloads],
            "capabilities": sorted(plugin.description.capabilities),
            "distribution": plugin.distribution,
            "version": plugin.version,
        }
        for plugin in host.plugins.values()
    ]
    rows = [
        (
            each["name"],
            ", ".join(each["roles"]),
            each["summary"],
            _options(each["options"]),
            f"{each['distribution']} {each['version']}",
        )
        for each in data
    ]
    emit(data, table("", ("plugin", "is", "summary", "options", "from"), rows), as_json=as_json)
    for aside in host.quarantined:
        say(f"set aside: {aside.name} ({aside.origin}): {aside.reason}")


ROLES = {
    "headgate_schedule": "scheduler",
    "headgate_observe": "monitor",
    "headgate_execute": "executor",
    "headgate_review": "reviewer",
    "headgate_on_round": "listener",
}


def _roles(hooks: frozenset[str]) -> set[str]:
    return {role for hook, role in ROLES.items() if hook in hooks}


def _options(options: Any) -> str:
    return " ".join(f"{name}={value}" for name, value in options.items())
