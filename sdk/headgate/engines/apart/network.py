"""A bridge with a network namespace for each node, made and removed over netlink by pyroute2."""

from __future__ import annotations

import contextlib
import errno
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import attrs

from headgate.engines.apart.names import ClusterName
from headgate.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headgate.engines.apart.limits import NodeLimits

NAMESPACES = Path("/run/netns")
"""Folder in which namespaces have names, as for `ip netns`."""
SUBNETS = tuple(f"198.{18 + index // 256}.{index % 256}" for index in range(512))
"""Networks of 256 addresses for benchmarks of networks (RFC 2544), of which no host on the Internet has one."""
FIRST = 11
"""Last number of the first node's address; the bridge has 1 and 2."""
INTERFACE = "eth0"
"""Name of the interface within each namespace."""
BURST = 64 * 1024
"""Bytes that pass at full speed after a pause; with less, segments of TCP are dropped at once."""
DELAY = "100ms"
"""Time that a packet may wait for its turn; with more, queues grow before TCP slows down."""
STATISTICS = Path("/sys/class/net")
"""Folder in which the kernel counts what each interface of this process's namespace carried."""
ROOT = 0xFFFFFFFF
"""Parent of the first queue of an interface."""


@attrs.define(eq=False)
class NodeNetwork:
    """The network of a cluster's nodes.

    Attributes:
        name: What its interfaces and namespaces are called after.
        subnet: The first three numbers of all addresses, once made.
    """

    name: ClusterName
    subnet: str = ""

    @property
    def gateways(self) -> tuple[str, str]:
        """Addresses of the bridge, at which processes outside of the nodes listen."""
        return f"{self.subnet}.1", f"{self.subnet}.2"

    @classmethod
    def find(cls, bridge: str) -> Self:
        """The network of a cluster that runs.

        Args:
            bridge: Name of its bridge.

        Raises:
            EngineError: There is none.
        """
        name = ClusterName.parse(bridge)
        if name is None:
            raise EngineError(f"{bridge!r} is no name of a bridge of a local cluster")
        with netlink() as system, _refusals(f"the network {bridge}"):
            index = _index(system, bridge)
            first = min(each.get_attr("IFA_ADDRESS") for each in system.get_addr(index=index, family=socket.AF_INET))
        return cls(name, first.rpartition(".")[0])

    def address(self, index: int) -> str:
        """Address of a node.

        Args:
            index: Its number, from 1.
        """
        return f"{self.subnet}.{FIRST - 1 + index}"

    def make(self, nodes: Sequence[NodeLimits]) -> None:
        """Make the bridge, and namespace and interface of each node.

        Args:
            nodes: Bounds of the nodes, whose rates are set.

        Raises:
            EngineError: No subnet is free, or the system refuses.
        """
        with netlink() as system, _refusals(f"the network of {len(nodes)} nodes"):
            self.subnet = _free_subnet(system)
            bridge = self._bridge(system)
            for index, limits in enumerate(nodes, start=1):
                self._node(system, bridge, index)
                self.set_rate(index, limits.rate)

    def between(self, count: int) -> int:
        """Bytes that went from node to node so far, headers and all, by the counters of the interfaces.

        That is what nodes sent, less what came to the bridge's own address. A node that is cut off keeps its counters.

        Args:
            count: How many nodes there are.
        """
        sent = sum(_received(self.name.node(index)) for index in range(1, count + 1))
        return max(0, sent - _received(self.name.bridge))

    def set_up(self, index: int, *, up: bool) -> None:
        """Switch the interface of a node on or off, as a cable that is put in or pulled.

        Args:
            index: Number of the node.
            up: Whether it is to carry anything.
        """
        with netlink() as system, _refusals(f"node {index}"):
            system.link("set", index=_index(system, self.name.node(index)), state="up" if up else "down")

    def set_rate(self, index: int, rate: float | None) -> None:
        """Bound what comes to a node and what leaves it, each; a token bucket at either end of its cable.

        Args:
            index: Number of the node.
            rate: Bits per second, None for no bound.
        """
        with netlink() as system, _refusals(f"the rate of node {index}"):
            _bound(system, self.name.node(index), rate)
        with netlink(self.name.node(index)) as system, _refusals(f"the rate of node {index}"):
            _bound(system, INTERFACE, rate)

    def _bridge(self, system: Any) -> int:
        system.link("add", ifname=self.name.bridge, kind="bridge")
        bridge = _index(system, self.name.bridge)
        for address in self.gateways:
            system.addr("add", index=bridge, address=address, prefixlen=24)
        system.link("set", index=bridge, state="up")
        return bridge

    def _node(self, system: Any, bridge: int, index: int) -> None:
        from pyroute2 import netns  # 0.4 s, and only clusters that are apart need it

        name = self.name.node(index)
        netns.create(name)
        system.link("add", ifname=name, kind="veth", peer={"ifname": INTERFACE, "net_ns_fd": name})
        system.link("set", index=_index(system, name), master=bridge, state="up")
        with netlink(name) as inside:
            own = _index(inside, INTERFACE)
            inside.addr("add", index=own, address=self.address(index), prefixlen=24)
            inside.link("set", index=own, state="up")
            inside.link("set", index=_index(inside, "lo"), state="up")


@contextlib.contextmanager
def netlink(namespace: str | None = None) -> Iterator[Any]:
    """A connection to the kernel's tables of networks.

    Args:
        namespace: Name of a network namespace; that of this process by default.
    """
    from pyroute2 import IPRoute  # 0.4 s, and only clusters that are apart need it

    with IPRoute(netns=namespace) if namespace else IPRoute() as system:
        yield system


def remove_network(name: ClusterName) -> None:
    """Remove all namespaces and interfaces of a cluster, as far as they are there.

    Args:
        name: Name of the cluster.
    """
    from pyroute2 import netns  # 0.4 s, and only clusters that are apart need it

    for each in namespaces():
        if ClusterName.parse(each) == name:
            with contextlib.suppress(FileNotFoundError):
                netns.remove(each)
    with netlink() as system:
        # The ends of cables go with their namespaces, but not at once; they need not be waited for.
        for each in interfaces(system):
            if ClusterName.parse(each) == name:
                for index in system.link_lookup(ifname=each):
                    _forgive(errno.ENODEV, lambda index=index: system.link("del", index=index))


def namespaces() -> tuple[str, ...]:
    """Names of all network namespaces that have one, whoever made them."""
    try:
        return tuple(sorted(each.name for each in NAMESPACES.iterdir()))
    except FileNotFoundError:
        return ()


def interfaces(system: Any) -> tuple[str, ...]:
    """Names of all interfaces of this process's namespace.

    Args:
        system: From `netlink`.
    """
    return tuple(link.get_attr("IFLA_IFNAME") for link in system.get_links())


def _free_subnet(system: Any) -> str:
    """The first of `SUBNETS` in which this machine has no address and no route."""
    taken = {each.get_attr("IFA_ADDRESS") for each in system.get_addr()}
    taken |= {each.get_attr("RTA_DST") for each in system.get_routes()}
    used = {address.rpartition(".")[0] for address in taken if address}
    for subnet in SUBNETS:
        if subnet not in used:
            return subnet
    raise EngineError(f"all {len(SUBNETS)} networks from 198.18.0.0 to 198.19.255.0 are in use on this machine")


def _received(name: str) -> int:
    """Bytes that came in by an interface of this namespace: of a node's cable, what the node sent."""
    try:
        return int((STATISTICS / name / "statistics" / "rx_bytes").read_text())
    except OSError as error:
        raise EngineError(f"what the interface {name} carried is not told: {error}") from error


def _index(system: Any, name: str) -> int:
    found = system.link_lookup(ifname=name)
    if not found:
        raise EngineError(f"there is no interface {name}: the cluster has ended, or somebody removed it")
    return int(found[0])


def _bound(system: Any, name: str, rate: float | None) -> None:
    index = _index(system, name)
    _forgive(errno.ENOENT, lambda: system.tc("del", index=index, parent=ROOT))
    if rate is not None:
        bits = f"{round(rate)}bit"
        system.tc("add", "tbf", index=index, handle=0x10000, parent=ROOT, rate=bits, burst=BURST, latency=DELAY)


def _forgive(code: int, call: Any) -> None:
    """Make a netlink call, and pass over one error code of it, or an argument that is none (there is no such queue)."""
    from pyroute2.netlink.exceptions import NetlinkError  # 0.4 s, and only clusters that are apart need it

    try:
        call()
    except NetlinkError as error:
        if error.code not in (code, errno.EINVAL):
            raise


@contextlib.contextmanager
def _refusals(subject: str) -> Iterator[None]:
    """Turn what the system refuses into the one error of engines."""
    from pyroute2.netlink.exceptions import NetlinkError  # 0.4 s, and only clusters that are apart need it

    try:
        yield
    except (NetlinkError, OSError) as error:
        raise EngineError(f"{subject} cannot be made: {error}") from error
