"""The kernel's tables of namespaces, interfaces and their queues, read and changed over netlink by pyroute2."""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headworks.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMESPACES = Path("/run/netns")
"""Folder in which namespaces have names, as for `ip netns`."""
BURST = 64 * 1024
"""Bytes that pass at full speed after a pause; with less, segments of TCP are dropped at once."""
DELAY = "100ms"
"""Time that a packet may wait for its turn; with more, queues grow before TCP slows down."""
STATISTICS = Path("/sys/class/net")
"""Folder in which the kernel counts what each interface of this process's namespace carried."""
ROOT = 0xFFFFFFFF
"""Parent of the first queue of an interface."""


@contextlib.contextmanager
def netlink(namespace: str | None = None) -> Iterator[Any]:
    """A connection to the kernel's tables of networks.

    Args:
        namespace: Name of a network namespace; that of this process by default.
    """
    from pyroute2 import IPRoute  # 0.4 s, and only clusters that are apart need it

    with IPRoute(netns=namespace) if namespace else IPRoute() as system:
        yield system


def namespaces() -> tuple[str, ...]:
    """Names of all network namespaces that have one, whoever made them."""
    try:
        return tuple(sorted(each.name for each in NAMESPACES.iterdir()))
    except FileNotFoundError:
        return ()


def interfaces(system: Any) -> tuple[str, ...]:
    """Names of all interfaces of this process's namespace."""
    return tuple(link.get_attr("IFLA_IFNAME") for link in system.get_links())


def received(name: str) -> int:
    """Bytes that came in by an interface of this namespace: of a node's cable, what the node sent.

    Raises:
        EngineError: It is not there.
    """
    try:
        return int((STATISTICS / name / "statistics" / "rx_bytes").read_text())
    except OSError as error:
        raise EngineError(f"the counters of the interface {name} cannot be read: {error}") from error


def index_of(system: Any, name: str) -> int:
    """The kernel's number of an interface.

    Raises:
        EngineError: It is not there.
    """
    found = system.link_lookup(ifname=name)
    if not found:
        raise EngineError(f"there is no interface {name}: the cluster has ended, or somebody removed it")
    return int(found[0])


def bound(system: Any, name: str, rate: float | None) -> None:
    """Bound what leaves by an interface, by a token bucket in place of the queue it has.

    Args:
        rate: Bits per second, None for no bound.
    """
    index = index_of(system, name)
    forgive(errno.ENOENT, lambda: system.tc("del", index=index, parent=ROOT))
    if rate is not None:
        bits = f"{round(rate)}bit"
        system.tc("add", "tbf", index=index, handle=0x10000, parent=ROOT, rate=bits, burst=BURST, latency=DELAY)


def forgive(code: int, call: Any) -> None:
    """Make a netlink call, and pass over one error code of it, or an argument that is none (there is no such queue)."""
    from pyroute2.netlink.exceptions import NetlinkError  # 0.4 s, and only clusters that are apart need it

    try:
        call()
    except NetlinkError as error:
        if error.code not in (code, errno.EINVAL):
            raise


@contextlib.contextmanager
def refusals(subject: str) -> Iterator[None]:
    """Turn what the system refuses into the one error of engines."""
    from pyroute2.netlink.exceptions import NetlinkError  # 0.4 s, and only clusters that are apart need it

    try:
        yield
    except (NetlinkError, OSError) as error:
        raise EngineError(f"{subject} cannot be made: {error}") from error
