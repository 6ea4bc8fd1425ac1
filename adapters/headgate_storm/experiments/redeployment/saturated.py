"""OTD from Storm's deployment on, where the network is the bottleneck: what the paper's section 5.3.2 measures."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from headgate.control.guards import Guards
from headgate.control.loop import Control, Loop
from headgate.engines.apart.ability import times_problem
from headgate.engines.apart.limits import NodeLimits, parse_rate
from headgate.errors import EngineError
from headgate_storm.demo.experiment import experiment
from headgate_storm.experiments.bench import CONF, SETTLE, WARM_UP, window
from headgate_storm.experiments.redeployment.run import CYCLE, NAME, NODES, SEATS, topology
from headgate_storm.workers.clock import steady
from headgate_storm.workload.catalogue import ROLES
from headgate_storm.workload.describe import describe
from headgate_storm.workload.find import default_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headgate.model import Topology
    from headgate.plugins.host import PluginHost
    from headgate_storm.demo.experiment import ServedCluster

BOUND = NodeLimits(cores=0.75, rate=parse_rate("1mbit"))
"""Of each node: the word count uses little of the processor (section 5.3), and more than the network has."""
WINDOWS = 3
SECONDS = 15.0
"""Length of a window."""
ADJUSTING = 200.0
"""Seconds of adjustment after which the paper prints throughput and delay."""


@attrs.frozen(kw_only=True)
class Saturated:
    """Throughput and mean complete latency of each window, before OTD adjusted the topology and after.

    Attributes:
        throughput: Tuples/s of the spouts that were completed: before, after.
        latency: Milliseconds: before, after.
        migrations: Rounds that moved a task.
    """

    throughput: tuple[tuple[float, ...], tuple[float, ...]]
    latency: tuple[tuple[float, ...], tuple[float, ...]]
    migrations: int


def endless() -> Topology:
    """The word count, whose spout sends what the topology bears: as clients of DRPC do that wait for their answer."""
    found = topology()
    spout, *bolts = found.components
    return attrs.evolve(found, components=(attrs.evolve(spout, rate=None), *bolts))


def saturated(host: PluginHost, folder: Path, say: Callable[[str], None], *, seconds: float = ADJUSTING) -> Saturated:
    """Measure the word count as Storm places it, let OTD adjust it by seats, and measure it again.

    Args:
        host: The plugins.
        folder: Scratch space.
        say: Takes progress messages.
        seconds: Of adjustment.

    Raises:
        EngineError: Nodes cannot be apart here, or the cluster or the topology fail.
    """
    if problem := times_problem():
        raise EngineError(f"times of nodes do not compare on this machine: {problem}")
    with experiment(host, NODES, folder, fill="even", apart=(BOUND,) * len(NODES)) as cluster:
        _begin(cluster)
        before = [_window(cluster, say, "Storm's deployment") for _ in range(WINDOWS)]
        migrations = _adjust(cluster, say, seconds)
        after = [_window(cluster, say, "after OTD") for _ in range(WINDOWS)]
    pairs = {
        name: (tuple(each[name] for each in before), tuple(each[name] for each in after))
        for name in ("throughput", "latency")
    }
    return Saturated(throughput=pairs["throughput"], latency=pairs["latency"], migrations=migrations)


def _begin(cluster: ServedCluster) -> None:
    apart = cluster.storm.nodes
    assert apart is not None
    apart.bound([NodeLimits()] * len(NODES))  # JVMs and their jars take long with little of either
    described = describe(endless(), roles=ROLES[NAME], text=default_text(), conf={**CONF, **SEATS})
    cluster.run(described, seats={})
    cluster.settled_seats()
    time.sleep(WARM_UP)
    apart.bound([BOUND] * len(NODES))
    time.sleep(SETTLE)


def _window(cluster: ServedCluster, say: Callable[[str], None], what: str) -> dict[str, float]:
    found = window(cluster, SECONDS)
    say(f"{what}: {found['throughput']:.0f} lines/s, {found['latency']:.0f} ms")
    return found


def _adjust(cluster: ServedCluster, say: Callable[[str], None], seconds: float) -> int:
    # The paper's algorithm has no least gain but its own threshold.
    control = Control(scheduler="otd", engine="storm", window=CYCLE, guards=Guards(cooldown=0.0, gain=0.0))
    loop = Loop(cluster.host, control, cluster.service.target)
    outcomes, until = list[str](), steady() + seconds
    while steady() < until:
        done = loop.round()
        outcomes.append(done.outcome)
        say(f"OTD, adjustment {len(outcomes)}: {done.outcome}, {outcomes.count('executed')} migrations so far")
    return outcomes.count("executed")
