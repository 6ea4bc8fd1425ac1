"""Remains of clusters that have ended, found by their names and by the processes in them, and removed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from headworks_local.isolated.ability import network_problem
from headworks_local.isolated.groups import Groups, find_groups
from headworks_local.isolated.names import ClusterName
from headworks_local.isolated.netlink import NAMESPACES, interfaces, namespaces, netlink
from headworks_local.isolated.network import remove_network

if TYPE_CHECKING:
    from collections.abc import Iterable


def inhabitants(namespace: str) -> frozenset[int]:
    """Pids of the processes in a network namespace; none if there is no such namespace."""
    wanted = _identity(NAMESPACES / namespace)  # None if another process has swept it
    return frozenset(pid for pid in psutil.pids() if wanted and _identity(Path(f"/proc/{pid}/ns/net")) == wanted)


def _identity(namespace: Path) -> tuple[int, int] | None:
    """Device and inode of a namespace; None if it, or the process that is asked for it, is gone."""
    try:
        found = namespace.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def sweep() -> tuple[str, ...]:
    """Remove what clusters left whose owner is gone and in whose nodes no process lives.

    Returns:
        Names of the bridges of the clusters that were removed.
    """
    groups = find_groups()
    with netlink() as system:
        names = {*namespaces(), *interfaces(system), *groups.names()}
    clusters = {found for each in names if (found := ClusterName.parse(each))}
    left = [each for each in clusters if not each.owned and not _lives(each, names, groups)]
    for each in left:
        remove(each, groups)
    return tuple(sorted(each.bridge for each in left))


def end_nodes(bridge: str) -> None:
    """Remove what nodes of a cluster, whose processes have ended, were made of; and what ended clusters left.

    Args:
        bridge: Name of its bridge, "" if its nodes were not apart.
    """
    if name := ClusterName.parse(bridge):
        remove(name, find_groups())
    # Without one there is no need to import netlink; and whoever has no right to them has left none.
    if any(ClusterName.parse(each) for each in namespaces()) and not network_problem():
        sweep()


def remove(name: ClusterName, groups: Groups) -> None:
    """Remove networks and control groups of a cluster."""
    remove_network(name)
    for each in list(groups.names()):
        if ClusterName.parse(each) == name:
            groups.remove(each)


def _lives(cluster: ClusterName, names: Iterable[str], groups: Groups) -> bool:
    """Check whether a process is in a node of a cluster, by its control groups and its network namespaces."""
    nodes = [each for each in names if ClusterName.parse(each) == cluster]
    return any(groups.members(each) for each in nodes) or any(inhabitants(each) for each in nodes)
