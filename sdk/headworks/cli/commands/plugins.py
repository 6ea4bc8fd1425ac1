"""`headworks plugins`: what is installed."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

import attrs
import click

from headworks.cli.installed import plugin_names, plugins
from headworks.cli.output import emit, json_option, say, table, wide_option

if TYPE_CHECKING:
    from headworks.hooks import Description


@click.command("plugins")
@click.argument("name", required=False, shell_complete=plugin_names("headworks_describe"))
@wide_option
@json_option
def command(*, name: str | None, as_json: bool) -> None:
    """List plugins with their kind, their options and the number of their workloads.

    With NAME, list the options of that plugin, with types and defaults.
    """
    host = plugins()
    if name is not None:
        _show_options(host.describe(name), as_json=as_json)
        return
    data = [
        {
            "name": plugin.name,
            "summary": plugin.description.summary,
            "paper": plugin.description.paper,
            "roles": sorted(_roles(plugin.hooks)),
            "hooks": sorted(plugin.hooks),
            "options": {field.name: _default(field) for field in attrs.fields(plugin.description.options)},
            "workloads": [workload.name for workload in host.workloads(plugin.name)],
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
            _options(plugin.description),
            len(each["workloads"]) or "",
            f"{each['distribution']} {each['version']}",
        )
        for each, plugin in zip(data, host.plugins.values(), strict=True)
    ]
    emit(
        data,
        table(
            "",
            ("plugin", "is", "summary", "options", "workloads", "from"),
            rows,
            ("workloads",),
            spare=("from", "options"),
        ),
        as_json=as_json,
    )
    for aside in host.quarantined:
        say(f"set aside: {aside.name} ({aside.origin}): {aside.reason}")


def _show_options(described: Description, *, as_json: bool) -> None:
    # cattrs costs 60 ms, which the list of commands does not need.
    from headworks.plugins.options import describe

    types = typing.get_type_hints(described.options)
    fields = attrs.fields(described.options)
    data = [
        {
            "name": field.name,
            "takes": describe(types[field.name]),
            "default": _default(field),
            "required": field.default is attrs.NOTHING,
        }
        for field in fields
    ]
    rows = [(each["name"], each["takes"], "" if each["required"] else each["default"]) for each in data]
    emit(data, table(described.summary, ("option", "takes", "default"), rows), as_json=as_json)


def _default(field: Any) -> Any:
    """The default of an option, None if it has to be given."""
    if isinstance(field.default, attrs.Factory):  # type: ignore[arg-type]  # a class, to which the stubs give a function
        return None if field.default.takes_self else field.default.factory()
    return None if field.default is attrs.NOTHING else field.default


ROLES = {
    "headworks_schedule": "scheduler",
    "headworks_observe": "monitor",
    "headworks_execute": "executor",
    "headworks_review": "reviewer",
    "headworks_on_round": "listener",
}


def _roles(hooks: frozenset[str]) -> set[str]:
    return {role for hook, role in ROLES.items() if hook in hooks}


def _options(described: Description) -> str:
    """The options with their defaults; of one that has to be given the name alone."""
    fields = attrs.fields(described.options)
    return " ".join(each.name if each.default is attrs.NOTHING else f"{each.name}={_default(each)}" for each in fields)
