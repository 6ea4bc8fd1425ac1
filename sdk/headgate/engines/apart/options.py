"""Options of commands that start a local cluster, for nodes that are apart; and the command that disturbs one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

import click

from headgate.engines.apart.limits import NodeLimits, parse_cores, parse_rate
from headgate.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")

WITH = "With --apart, of each node: its"


def _read(parse: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, str | None], Any]:
    """Callback of an option that a function reads, whose `ValueError` is the message."""

    def read(_context: click.Context, _parameter: click.Parameter, value: str | None) -> Any:
        try:
            return None if value is None else parse(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return read


def apart_options(command: F) -> F:
    """Options `--apart`, `--nodes` and `--network`, which a command takes as `apart`, `nodes` and `network`.

    Args:
        command: The function of the command.
    """
    for option in (
        click.option("--network", metavar="RATE", callback=_read(parse_rate), help=f"{WITH} network, as 20mbit."),
        click.option(
            "--nodes", metavar="CORES,...", callback=_read(parse_cores), help=f"{WITH} cores, as 1.0,0.5,0.5."
        ),
        click.option("--apart", is_flag=True, help="Nodes with a network interface and processor time of their own."),
    ):
        command = option(command)
    return command


def node_limits(
    count: int, *, apart: bool, nodes: tuple[float, ...] | None, network: float | None
) -> tuple[NodeLimits, ...] | None:
    """Bounds of each node, None if nodes are not to be apart.

    Args:
        count: How many nodes the cluster has.
        apart: `--apart`.
        nodes: `--nodes`.
        network: `--network`.

    Raises:
        click.UsageError: The options do not go together.
    """
    if not apart:
        if nodes is not None or network is not None:
            raise click.UsageError("--nodes and --network bound nodes that are apart: add --apart")
        return None
    if nodes is not None and len(nodes) != count:
        raise click.UsageError(f"--nodes has {len(nodes)} numbers for {count} nodes")
    return tuple(NodeLimits(cores=each, rate=network) for each in nodes or (None,) * count)


def disturb(bridge: str, host: str, *, joined: bool | None, network: float | None, cores: float | None) -> None:
    """Disturb one node of the cluster that is left running.

    Args:
        bridge: Its bridge, "" if its nodes are not apart.
        host: Address of the node.
        joined: Whether it is on the network; None to leave it.
        network: Bits per second from now on; None to leave it.
        cores: Processor time from now on; None to leave it.

    Raises:
        EngineError: Its nodes are not apart, or the host is none of them.
    """
    # filelock, psutil and numpy cost 0.2 s, which the list of commands does not need.
    from headgate.engines.apart.nodes import ApartNodes

    if not bridge:
        raise EngineError("the nodes of this cluster are not apart: start one with `up --apart`")
    found = ApartNodes.find(bridge)
    if cores is not None:
        found.set_cores(host, cores)
    if network is not None:
        found.set_rate(host, network)
    if joined is not None:
        found.set_up(host, up=joined)


def fault_command(bridge: Callable[[], str]) -> click.Command:
    """The command `fault` of an engine.

    Args:
        bridge: Finds the bridge of the cluster that is left running.
    """

    @click.command("fault")
    @click.argument("host")
    @click.option("--cut/--join", "cut", default=None, help="Take the node off the network, or put it back.")
    @click.option("--network", callback=_read(parse_rate), metavar="RATE", help="Bound its network, as 1mbit.")
    @click.option("--cores", type=click.FloatRange(min=0.05, max=1024), help="Bound its processor time.")
    @click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
    def fault(host: str, *, cut: bool | None, network: float | None, cores: float | None, as_json: bool) -> None:
        """Disturb the node HOST of a cluster whose nodes are apart; its processes go on."""
        if cut is None and network is None and cores is None:
            raise click.UsageError("nothing to do: name --cut, --join, --network or --cores")
        disturb(bridge(), host, joined=None if cut is None else not cut, network=network, cores=cores)
        done = {"host": host, "cut": cut, "network": network, "cores": cores}
        if as_json:
            click.echo(json.dumps(done))
        words = {True: "is cut off", False: "is joined again", None: "is bounded"}
        click.echo(f"{host} {words[cut]}", err=True)

    return fault
