"""The nodes of one local cluster that are apart: made, bounded, disturbed, and removed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self, TypeVar

import attrs
from filelock import FileLock

from headworks.errors import EngineError, EngineUseError
from headworks.interrupts import held
from headworks_local.isolated.ability import network_problem
from headworks_local.isolated.groups import Groups, find_groups
from headworks_local.isolated.limits import NodeLimits
from headworks_local.isolated.names import ClusterName
from headworks_local.isolated.netlink import NAMESPACES
from headworks_local.isolated.network import Cable, NodeNetwork
from headworks_local.isolated.sweep import inhabitants, remove, sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

TRIAL = 1e9
"""Bits per second of the network of a node that is tried."""
LOCK = NAMESPACES.parent / "headworks-apart.lock"
"""One for the machine, as subnets are; who may make namespaces may write there."""


@attrs.define(eq=False)
class ApartNodes:
    """Nodes with an interface and a control group each.

    Attributes:
        limits: Bounds of each node.
        network: Its bridge, namespaces and interfaces.
    """

    limits: tuple[NodeLimits, ...]
    network: NodeNetwork
    _groups: Groups

    @classmethod
    def make(cls, limits: Sequence[NodeLimits]) -> Self:
        """Make nodes, after what ended clusters left has been removed.

        Processor time is unbounded until `limit` is called: JVMs start in less time so.

        Raises:
            EngineError: This machine cannot do it, and why.
        """
        groups = find_groups()
        made = cls(tuple(limits), NodeNetwork(ClusterName.new()), groups)
        _check(groups, made.limits)
        try:
            with FileLock(LOCK):  # two that start at once would choose the same subnet
                sweep()
                with held():
                    made.network.make(made.limits)
            for index, each in enumerate(made.limits, start=1):
                groups.make(made.name(index))
                groups.limit_memory(made.name(index), each.memory_mb)
        except BaseException:
            made.remove()
            raise
        return made

    @classmethod
    def find(cls, bridge: str) -> Self:
        """The nodes of a cluster that runs, to be disturbed; what bounds them is not told.

        Raises:
            EngineError: There is none.
        """
        network = NodeNetwork.find(bridge)
        return cls((NodeLimits(),) * len(network.places), network, find_groups())

    @property
    def gateways(self) -> tuple[str, str]:
        """Two addresses at which processes outside of the nodes are reached from them."""
        return self.network.gateways

    @property
    def hosts(self) -> tuple[str, ...]:
        """Addresses of the nodes."""
        return tuple(self.network.address(index) for index in range(1, len(self.limits) + 1))

    @property
    def racks(self) -> dict[str, str]:
        """Names of racks by the addresses of the nodes in them."""
        return {host: rack for host, rack in zip(self.hosts, self.network.places, strict=True) if rack}

    def name(self, index: int) -> str:
        """Name of a node's namespace and control group.

        Args:
            index: Number of the node, from 1.
        """
        return self.network.name.node(index)

    def start(self, host: str, spawn: Callable[[], int]) -> int:
        """Start a process on a node.

        Args:
            spawn: Starts it, in whatever network namespace it is called, and returns its pid.
        """
        name = self.name(self._index(host))
        with held():
            pid = within(name, spawn)
            self._groups.join(name, pid)
            self._gather(name)
        return pid

    def _gather(self, name: str) -> None:
        """Put what a process started before it was in its node's groups into them too, and what that started."""
        tried: frozenset[int] = frozenset()
        while True:
            inside = self._groups.common(name)  # first: what these start from now on is inside, however late it is seen
            outside = inhabitants(name) - inside - tried
            if not outside:
                return
            for pid in outside:
                self._groups.join(name, pid)
            tried |= outside

    def limit(self) -> None:
        """Bound the processor time of each node from now on."""
        for host, each in zip(self.hosts, self.limits, strict=True):
            self.set_cores(host, each.cores)

    def bound(self, limits: Sequence[NodeLimits]) -> None:
        """Bound processor time and network of each node from now on.

        Args:
            limits: Bounds of each; its memory and its rack are left as they are.
        """
        for host, each in zip(self.hosts, limits, strict=True):
            self.set_rate(host, each.rate)
            self.set_cores(host, each.cores)

    def set_cores(self, host: str, cores: float | None) -> None:
        """Bound the processor time of a node from now on: a slow node.

        Args:
            cores: Cores, None for no bound.
        """
        self._groups.limit_cores(self.name(self._index(host)), cores)

    def set_rate(self, place: str, rate: float | None) -> None:
        """Bound the network of a node, or the link of a rack, from now on, in either direction: a slow network.

        Args:
            rate: Bits per second, None for no bound.
        """
        self.network.set_rate(self._cable(place), rate)

    def between(self) -> int:
        """Bytes that went from node to node so far, as the kernel counted them at the interfaces."""
        return self.network.between(len(self.limits))

    def set_up(self, place: str, *, up: bool) -> None:
        """Part a node or a rack from all others, or join it to them again; its processes go on."""
        self.network.set_up(self._cable(place), up=up)

    def remove(self) -> None:
        """Remove all of it, once its processes have ended."""
        with held():
            remove(self.network.name, self._groups)

    def _cable(self, place: str) -> Cable:
        if place in self.network.racks:
            return self.network.link(place)
        return self.network.cable(self._index(place))

    def _index(self, host: str) -> int:
        if host not in self.hosts:
            racks = f", and racks are {', '.join(self.network.racks)}" if self.network.racks else ""
            raise EngineUseError(f"{host} is not a node that is apart: {', '.join(self.hosts)} are{racks}")
        return self.hosts.index(host) + 1


def trial_problem() -> str:
    """The reason for which no node can be apart here, "" if one could be made and removed: kernels may lack a part."""
    if problem := network_problem():
        return problem
    try:
        ApartNodes.make([NodeLimits(rate=TRIAL)]).remove()
    except (EngineError, OSError) as error:
        return str(error)
    return ""


def within(namespace: str, call: Callable[[], T]) -> T:
    """Make a call in a network namespace, in a thread of its own: a thread is in one, and what it starts is too."""
    from pyroute2 import netns  # 0.4 s, and only clusters that are apart need it

    result: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            netns.setns(namespace, flags=0)
            result.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again by the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run, name=f"within-{namespace}")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return result[0]


def _check(groups: Groups, limits: Sequence[NodeLimits]) -> None:
    """Say before anything is made that this machine cannot do it."""
    if problem := network_problem():
        raise EngineError(f"nodes cannot be apart: {problem}; without --apart the cluster starts as ever")
    if groups.cpu is None and any(each.cores is not None for each in limits):
        raise EngineError("this machine lets no control group for processor time be made: leave out --nodes")
    if groups.memory is None and any(each.memory_mb is not None for each in limits):
        raise EngineError("this machine lets no control group for memory be made: nodes cannot bound it")
