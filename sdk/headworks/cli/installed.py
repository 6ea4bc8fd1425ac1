"""The installed plugins, loaded once a run, and their names for the shell to complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from headworks.plugins.host import PluginHost


def plugins(context: click.Context | None = None) -> PluginHost:
    """The plugin host that all commands of this run share; of the current context by default."""
    root = (context or click.get_current_context()).find_root()
    if root.obj is None:
        root.obj = root.with_resource(PluginHost.load().isolated(built_in=False))
    host: PluginHost = root.obj
    return host


if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

FILES = CompletionItem("", type="file")
"""What a shell completes by itself."""


def plugin_names(*hooks: str) -> Completer:
    """Complete the names of the plugins that have one of some hooks."""

    def complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        host = plugins(context)
        return _beginning(begun, sorted({name for hook in hooks for name in host.having(hook)}))

    return complete


def requests(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete PLUGIN:WORKLOAD, or else leave the shell to complete a file."""
    host = plugins(context)
    having = host.having("headworks_workloads")
    names = [f"{plugin}:{workload.name}" for plugin in having for workload in host.workloads(plugin)]
    return _beginning(begun, names) or [FILES]


def rules(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the names of the rules of schedulers and engines."""
    # numpy and cattrs cost 0.2 s, which the list of commands does not need.
    from headworks.testing.engines.rules import ENGINE_RULES
    from headworks.testing.rules import RULES

    return _beginning(begun, [*(each.id for each in RULES), *(each.id for each in ENGINE_RULES)])


def _beginning(begun: str, names: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(begun)]
