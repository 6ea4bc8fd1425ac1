"""Options of commands that start a local cluster, for nodes that are apart; and the command that disturbs one."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, Self, TypeVar

import attrs
import click

from headworks.errors import EngineError, EngineUseError
from headworks_local.isolated.limits import NodeLimits, Rack, parse_cores, parse_racks, parse_rate

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")

BOUNDS = "--nodes, --network, --racks and --rack-network"


def _read(parse: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, str | None], Any]:
    """Callback of an option that a function reads, whose `ValueError` is the message."""

    def read(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return read


@attrs.frozen(kw_only=True)
class ApartOptions:
    """Values of `--apart` and of the options that bound nodes, as a command got them.

    Attributes:
        apart: Whether nodes are to be apart; None if they are to be where this machine can do that.
        nodes: Cores of each node.
        network: Bits per second of each node.
        racks: Nodes of each rack, those of the first rack first.
        rack_network: Bits per second of the link of each rack.
    """

    apart: bool | None
    nodes: tuple[float, ...] | None = None
    network: float | None = None
    racks: tuple[int, ...] | None = None
    rack_network: float | None = None

    def limits(self, count: int, network: float | None = None) -> tuple[NodeLimits, ...] | None:
        """Bounds of each node, None if nodes are not to be apart.

        Args:
            network: Bits per second of each node where the options name none.

        Raises:
            click.UsageError: The options do not go together.
        """
        if self.apart is None:
            return self._where_possible().limits(count, network)
        if not self.apart:
            if attrs.evolve(self, apart=True) != ApartOptions(apart=True):
                raise click.UsageError(f"{BOUNDS} bound nodes that are apart: add --apart")
            return None
        if self.nodes is not None and len(self.nodes) != count:
            raise click.UsageError(f"--nodes has {len(self.nodes)} numbers for {count} nodes")
        try:
            places = zip(self.nodes or (None,) * count, self._racks(count), strict=True)
            rate = network if self.network is None else self.network
            return tuple(NodeLimits(cores=cores, rate=rate, rack=rack) for cores, rack in places)
        except EngineError as error:  # a rate that is too low
            raise click.UsageError(str(error)) from None

    def _where_possible(self) -> Self:
        """These options with nodes apart, or shared where this machine cannot do more, and nothing bounds them."""
        # filelock, psutil and pyroute2 cost 0.5 s, which the list of commands does not need.
        from headworks_local.isolated.nodes import trial_problem

        bound = attrs.evolve(self, apart=None) != type(self)(apart=None)
        problem = "" if bound else trial_problem()
        if problem:
            click.echo(f"nodes share this machine, so that times do not compare: {problem}", err=True)
        return attrs.evolve(self, apart=not problem)

    def _racks(self, count: int) -> tuple[Rack | None, ...]:
        if self.racks is None:
            if self.rack_network is not None:
                raise click.UsageError("--rack-network bounds the links of racks: add --racks")
            return (None,) * count
        if sum(self.racks) != count:
            raise click.UsageError(f"--racks has room for {sum(self.racks)} nodes, and there are {count}")
        racks = (Rack(f"rack-{index}", self.rack_network) for index in range(1, len(self.racks) + 1))
        return tuple(rack for rack, size in zip(racks, self.racks, strict=True) for _ in range(size))


def apart_options(command: Callable[..., R]) -> Callable[..., R]:
    """Options `--apart`, `--nodes`, `--network`, `--racks` and `--rack-network`, which a command takes as `apart`.

    Args:
        command: The function of the command, whose argument `apart` gets `ApartOptions`.
    """
    words = "Nodes with a network interface and processor time of their own."
    return _options(command, click.option("--apart", is_flag=True, help=words))


def demo_apart_options(command: Callable[..., R]) -> Callable[..., R]:
    """The same options where nodes are apart by default, as far as this machine can do that; `--shared` has them not.

    Args:
        command: The function of the command, whose argument `apart` gets `ApartOptions`.
    """
    words = "Nodes with a network interface and processor time of their own; by default where this machine can do that."
    return _options(command, click.option("--apart/--shared", default=None, help=words))


def _options(command: Callable[..., R], switch: Callable[..., Any]) -> Callable[..., R]:

    @functools.wraps(command)
    def gathered(*arguments: Any, **others: Any) -> R:
        own = {each.name: others.pop(each.name) for each in attrs.fields(ApartOptions)}
        return command(*arguments, apart=ApartOptions(**own), **others)

    for option in (
        click.option(
            "--rack-network",
            metavar="RATE",
            callback=_read(parse_rate),
            help="With --racks: rate of the link that the nodes of a rack share, as 5mbit.",
        ),
        click.option(
            "--racks",
            metavar="NODES,...",
            callback=_read(parse_racks),
            help="With --apart: number of nodes in each rack, as 2,1.",
        ),
        click.option(
            "--network",
            metavar="RATE",
            callback=_read(parse_rate),
            help="With --apart: network of each node, as 20mbit.",
        ),
        click.option(
            "--nodes",
            metavar="CORES,...",
            callback=_read(parse_cores),
            help="With --apart: cores of each node, as 1.0,0.5,0.5.",
        ),
        switch,
    ):
        gathered = option(gathered)
    return gathered


def disturb(bridge: str, place: str, *, joined: bool | None, network: float | None, cores: float | None) -> None:
    """Disturb one node, or one rack, of the cluster that is left running.

    Args:
        bridge: Its bridge, "" if its nodes are not apart.
        joined: Whether it is on the network; None to leave it.
        network: Bits per second from now on; None to leave it.
        cores: Processor time from now on, of a node; None to leave it.

    Raises:
        EngineError: Its nodes are not apart, or the place is none of them.
    """
    # filelock, psutil and numpy cost 0.2 s, which the list of commands does not need.
    from headworks_local.isolated.nodes import ApartNodes

    if not bridge:
        raise EngineUseError("the nodes of this cluster are not apart: start one with `up --apart`")
    found = ApartNodes.find(bridge)
    if cores is not None:
        found.set_cores(place, cores)
    if network is not None:
        found.set_rate(place, network)
    if joined is not None:
        found.set_up(place, up=joined)


def fault_command(bridge: Callable[[], str]) -> click.Command:
    """The command `fault` of an engine.

    Args:
        bridge: Finds the bridge of the cluster that is left running.
    """

    @click.command("fault")
    @click.argument("host")
    @click.option("--cut/--join", "cut", default=None, help="Take it off the network, or put it back.")
    @click.option("--network", callback=_read(parse_rate), metavar="RATE", help="Bound its network, as 1mbit.")
    @click.option("--cores", type=click.FloatRange(min=0.05, max=1024), help="Bound a node's processor time.")
    @click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
    def fault(host: str, *, cut: bool | None, network: float | None, cores: float | None, as_json: bool) -> None:
        """Disturb the node HOST, or the rack of that name, of a cluster whose nodes are apart; its processes go on."""
        if cut is None and network is None and cores is None:
            raise click.UsageError("nothing to do: name --cut, --join, --network or --cores")
        disturb(bridge(), host, joined=None if cut is None else not cut, network=network, cores=cores)
        done = {"host": host, "cut": cut, "network": network, "cores": cores}
        if as_json:
            click.echo(json.dumps(done))
        words = {True: "is cut off", False: "is joined again", None: "is bounded"}
        click.echo(f"{host} {words[cut]}", err=True)

    return fault
