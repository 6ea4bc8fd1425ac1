"""A bridge with a network namespace for each node, and racks between them, made and removed over netlink."""

from __future__ import annotations

import contextlib
import errno
import socket
from typing import TYPE_CHECKING, Any, Self

import attrs

from headworks.errors import EngineError
from headworks_local.isolated.limits import racks_of
from headworks_local.isolated.names import ClusterName
from headworks_local.isolated.netlink import (
    bound,
    forgive,
    index_of,
    interfaces,
    namespaces,
    netlink,
    received,
    refusals,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks_local.isolated.limits import NodeLimits

SUBNETS = tuple(f"198.{18 + index // 256}.{index % 256}" for index in range(512))
"""Networks of 256 addresses for benchmarks of networks (RFC 2544), of which no host on the Internet has one."""
FIRST = 11
"""Last number of the first node's address; the bridge has 1 and 2."""
INTERFACE = "eth0"
"""Name of the interface within each namespace."""


@attrs.frozen
class Cable:
    """Two interfaces of which each gets what leaves by the other.

    Attributes:
        of: What it joins to the others, for messages.
        outer: Its end at the bridge.
        inner: Its end at the node or at the rack.
        namespace: Name of the network namespace of the inner end; None if that is this process's too.
    """

    of: str
    outer: str
    inner: str
    namespace: str | None = None


@attrs.define(eq=False)
class NodeNetwork:
    """The network of a cluster's nodes.

    Attributes:
        name: What its interfaces and namespaces are called after.
        subnet: The first three numbers of all addresses, once made.
        racks: Names of its racks, once made.
        places: Name of the rack of each node, None of one at the core, once made.
    """

    name: ClusterName
    subnet: str = ""
    racks: tuple[str, ...] = ()
    places: tuple[str | None, ...] = ()

    @property
    def gateways(self) -> tuple[str, str]:
        """Addresses of the bridge, at which processes outside of the nodes listen."""
        return f"{self.subnet}.1", f"{self.subnet}.2"

    @classmethod
    def find(cls, bridge: str) -> Self:
        """The network of a cluster that runs.

        Raises:
            EngineError: There is none.
        """
        name = ClusterName.parse(bridge)
        if name is None:
            raise EngineError(f"{bridge!r} is not a name of a bridge of a local cluster")
        with netlink() as system, refusals(f"the network {bridge}"):
            index = index_of(system, bridge)
            first = min(each.get_attr("IFA_ADDRESS") for each in system.get_addr(index=index, family=socket.AF_INET))
            links = {link.get_attr("IFLA_IFNAME"): link for link in system.get_links()}
        numbers = range(1, len(links) + 1)
        bridges = [links[each] for each in (name.rack(number)[0] for number in numbers) if each in links]
        ends = [links[each] for each in map(name.node, numbers) if each in links]
        racks = {each["index"]: each.get_attr("IFLA_IFALIAS") for each in bridges}
        places = tuple(racks.get(each.get_attr("IFLA_MASTER")) for each in ends)
        return cls(name, first.rpartition(".")[0], tuple(racks.values()), places)

    def address(self, index: int) -> str:
        """Address of a node.

        Args:
            index: Its number, from 1.
        """
        return f"{self.subnet}.{FIRST - 1 + index}"

    def cable(self, index: int) -> Cable:
        """The cable of a node.

        Args:
            index: Its number, from 1.
        """
        return Cable(f"node {index}", self.name.node(index), INTERFACE, self.name.node(index))

    def link(self, rack: str) -> Cable:
        """The cable between a rack's bridge and the core, which the nodes of the rack share."""
        _bridge, core, end = self.name.rack(self.racks.index(rack) + 1)
        return Cable(rack, core, end)

    def make(self, nodes: Sequence[NodeLimits]) -> None:
        """Make the bridge, that of each rack, and namespace and interface of each node.

        Args:
            nodes: Bounds of the nodes, whose rates are set, those of their racks too.

        Raises:
            EngineError: No subnet is free, or the system refuses.
        """
        with netlink() as system, refusals(f"the network of {len(nodes)} nodes"):
            # In a namespace of its user's own this process has no loopback interface yet, which its engines need.
            system.link("set", index=index_of(system, "lo"), state="up")
            self.subnet = _free_subnet(system)
            core = self._core(system)
            bridges = {}
            for rack in racks_of(nodes):
                bridges[rack] = self._rack(system, core, rack.name)
                self.set_rate(self.link(rack.name), rack.rate)
            for index, limits in enumerate(nodes, start=1):
                self._node(system, bridges[limits.rack] if limits.rack else core, index)
                self.set_rate(self.cable(index), limits.rate)
            self.places = tuple(each.rack.name if each.rack else None for each in nodes)

    def between(self, count: int) -> int:
        """Bytes that went from node to node so far, headers and all, by the counters of the interfaces.

        That is what nodes sent, less what came to the bridge's own address. What a full queue on the way dropped is in
        it too, each time that it is sent. A node that is cut off keeps its counters.
        """
        sent = sum(received(self.name.node(index)) for index in range(1, count + 1))
        return max(0, sent - received(self.name.bridge))

    def set_up(self, cable: Cable, *, up: bool) -> None:
        """Put a cable in, or pull it out."""
        with netlink() as system, refusals(cable.of):
            system.link("set", index=index_of(system, cable.outer), state="up" if up else "down")

    def set_rate(self, cable: Cable, rate: float | None) -> None:
        """Bound what goes either way, each, by a token bucket at either end.

        Args:
            rate: Bits per second, None for no bound.
        """
        with netlink() as system, refusals(f"the rate of {cable.of}"):
            bound(system, cable.outer, rate)
        with netlink(cable.namespace) as system, refusals(f"the rate of {cable.of}"):
            bound(system, cable.inner, rate)

    def _core(self, system: Any) -> int:
        system.link("add", ifname=self.name.bridge, kind="bridge")
        bridge = index_of(system, self.name.bridge)
        for address in self.gateways:
            system.addr("add", index=bridge, address=address, prefixlen=24)
        system.link("set", index=bridge, state="up")
        return bridge

    def _rack(self, system: Any, core: int, rack: str) -> int:
        self.racks = (*self.racks, rack)
        name, *_ends = self.name.rack(len(self.racks))
        system.link("add", ifname=name, kind="bridge")
        bridge = index_of(system, name)
        # Whoever finds the network again has the rack's name from the alias. Without ARP: this machine would answer for
        # the core's address at the rack too, and what nodes send there would evade the link.
        system.link("set", index=bridge, ifalias=rack, arp=False, state="up")
        cable = self.link(rack)
        system.link("add", ifname=cable.outer, kind="veth", peer={"ifname": cable.inner})
        for end, master in ((cable.outer, core), (cable.inner, bridge)):
            system.link("set", index=index_of(system, end), master=master, state="up")
        return bridge

    def _node(self, system: Any, bridge: int, index: int) -> None:
        from pyroute2 import netns  # 0.4 s, and only clusters that are apart need it

        name = self.name.node(index)
        netns.create(name)
        system.link("add", ifname=name, kind="veth", peer={"ifname": INTERFACE, "net_ns_fd": name})
        system.link("set", index=index_of(system, name), master=bridge, state="up")
        with netlink(name) as inside:
            own = index_of(inside, INTERFACE)
            inside.addr("add", index=own, address=self.address(index), prefixlen=24)
            inside.link("set", index=own, state="up")
            inside.link("set", index=index_of(inside, "lo"), state="up")


def remove_network(name: ClusterName) -> None:
    """Remove all namespaces and interfaces of a cluster, as far as they are there."""
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
                    forgive(errno.ENODEV, lambda index=index: system.link("del", index=index))


def _free_subnet(system: Any) -> str:
    """The first of `SUBNETS` in which this machine has no address and no route."""
    taken = {each.get_attr("IFA_ADDRESS") for each in system.get_addr()}
    taken |= {each.get_attr("RTA_DST") for each in system.get_routes()}
    used = {address.rpartition(".")[0] for address in taken if address}
    for subnet in SUBNETS:
        if subnet not in used:
            return subnet
    raise EngineError(f"all {len(SUBNETS)} networks from 198.18.0.0 to 198.19.255.0 are in use on this machine")
