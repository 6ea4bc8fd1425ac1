"""Abilities of this machine for nodes that are apart, asked of its kernel."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import TYPE_CHECKING

from headworks.errors import EngineError, how_to_install
from headworks_local.isolated.groups import find_groups
from headworks_local.isolated.netlink import NAMESPACES

if TYPE_CHECKING:
    from headworks_local.isolated.groups import Groups

TIME = "processor time"
"""What `bounds` calls the bound without which times of nodes do not compare."""
SHELL = """unshare -Urnm sh -c 'mount -t tmpfs tmpfs /run; exec "$SHELL"'"""
"""Opens a shell in which a user without root may do it, if the kernel lets users make namespaces: on a network of its
own, with a folder of its own for the names of namespaces."""


def network_problem() -> str:
    """The reason for which no node can have a network of its own here, "" if it can."""
    if not sys.platform.startswith("linux"):
        return f"network namespaces are Linux's, and this is {sys.platform}"
    if importlib.util.find_spec("pyroute2") is None:
        return f"pyroute2 is not installed: {how_to_install('apart')}"
    if not _may_administer():
        return (
            "this process may not make network namespaces: run it as root (CAP_NET_ADMIN and CAP_SYS_ADMIN), "
            f"or in the shell of: {SHELL}"
        )
    if not os.access(NAMESPACES.parent, os.W_OK):
        return f"{NAMESPACES.parent} may not be written: in a user namespace, mount one of its own, as does: {SHELL}"
    return ""


def times_problem() -> str:
    """The reason for which times of nodes do not compare here, "" if nodes can have what they need for that."""
    if problem := network_problem():
        return problem
    return "" if TIME in bounds() else "this machine lets no control group for processor time be made"


def require_times() -> None:
    """Check that times of nodes compare here.

    Raises:
        EngineError: They do not.
    """
    if problem := times_problem():
        raise EngineError(f"times of nodes do not compare on this machine: {problem}")


def bounds(groups: Groups | None = None) -> tuple[str, ...]:
    """Resources in which nodes can be bounded here, beside their network.

    Args:
        groups: Where control groups are; looked for by default.
    """
    found = groups or find_groups()
    there = {TIME: found.cpu, "memory": found.memory}
    return tuple(name for name, folder in there.items() if folder is not None)


def _may_administer() -> bool:
    """Check the effective capabilities of this process, which a container may lack even as root."""
    net_admin, sys_admin = 12, 21  # their numbers in capabilities(7)
    try:
        with open("/proc/self/status") as status:  # noqa: PTH123 - a line of a file of the kernel
            line = next(each for each in status if each.startswith("CapEff:"))
    except (OSError, StopIteration):
        return os.geteuid() == 0
    mask = int(line.split()[1], 16)
    return all(mask >> bit & 1 for bit in (net_admin, sys_admin))
