"""The plugins of this run of the command line, loaded once."""

from __future__ import annotations

import click

from headworks.plugins.host import PluginHost


def plugins(context: click.Context | None = None) -> PluginHost:
    """The plugin host that all commands of this run share; of the current context by default."""
    root = (context or click.get_current_context()).find_root()
    if root.obj is None:
        root.obj = PluginHost.load()
    host: PluginHost = root.obj
    return host
