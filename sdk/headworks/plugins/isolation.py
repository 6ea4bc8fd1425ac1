"""Isolation of schedulers: the same plugins, asked in processes of their own for as long as a block lasts."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from headworks.plugins.host import PluginHost
from headworks.plugins.processes import SchedulerProcesses

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def isolated(host: PluginHost, *, wanted: bool = True) -> Iterator[PluginHost]:
    """The host with processes for its schedulers, which end with the block; those of no entry point stay in threads.

    Args:
        wanted: Whether there are to be any; without, it is the host as it is.
    """
    if not wanted:
        yield host
        return
    processes = SchedulerProcesses()
    try:
        yield PluginHost(host.registry, processes)
    finally:
        processes.close()
