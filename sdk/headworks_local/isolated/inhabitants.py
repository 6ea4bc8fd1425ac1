"""Processes of a node, by the network namespace that each of them is in."""

from __future__ import annotations

from pathlib import Path

import psutil

from headworks_local.isolated.netlink import NAMESPACES


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
