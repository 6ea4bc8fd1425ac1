"""OTD from Storm's deployment on, where the network or a processor is the bottleneck (the paper's section 5.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from headworks.control.guards import Guards
from headworks.control.loop import Control, Loop
from headworks.model import FrozenMap, Profile
from headworks_lab.storm.bench import CONF, settle, watched
from headworks_lab.storm.redeployment.run import CYCLE, NAME, NODES, SEATS, topology
from headworks_local.isolated.ability import require_times
from headworks_local.isolated.limits import NodeLimits, parse_rate
from headworks_storm.demo.experiment import experiment
from headworks_storm.local.cluster import SupervisorSpec
from headworks_storm.workers.reports import steady
from headworks_storm.workload.catalogue import ROLES
from headworks_storm.workload.describe import describe
from headworks_storm.workload.find import default_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headworks.model import Topology
    from headworks.plugins.host import PluginHost
    from headworks_storm.demo.experiment import ServedCluster

WINDOWS = 3
SECONDS = 15.0
"""Length of a window."""
ADJUSTING = 200.0
"""Seconds of adjustment after which the paper prints throughput and delay of the word count."""
COST = 0.4
"""CPU percent-seconds of a line in Bolt 1 of the computation, 4 ms of a core. With less, what Storm itself takes for a
tuple decides more of what a placement bears."""
UNEVEN = (100.0, 50.0)
"""CPU points of the two nodes of the computation."""


@attrs.frozen(kw_only=True)
class Bottleneck:
    """A word count that sends what it bears, and two nodes that are apart, one of whose bounds holds it up.

    Attributes:
        supervisors: Of the nodes.
        bounds: Of each node.
        described: The topology, as `headworks_storm.workload.describe.describe` has it.
    """

    supervisors: tuple[SupervisorSpec, ...]
    bounds: tuple[NodeLimits, ...]
    described: FrozenMap[str, Any]


@attrs.frozen(kw_only=True)
class Saturated:
    """Figures by name of each window, before OTD adjusted the topology and after.

    Attributes:
        before: As Storm deployed it.
        after: The same so much later.
        migrations: Rounds that moved a task.
    """

    before: tuple[Mapping[str, float], ...]
    after: tuple[Mapping[str, float], ...]
    migrations: int

    def pairs(self, name: str) -> list[tuple[float, float]]:
        """A figure before and after, of each pair of windows."""
        return [(one[name], two[name]) for one, two in zip(self.before, self.after, strict=True)]


def endless() -> Topology:
    """The word count, whose spout sends what the topology bears: as clients of DRPC do that wait for their answer."""
    found = topology()
    spout, *bolts = found.components
    return attrs.evolve(found, components=(attrs.evolve(spout, rate=None), *bolts))


def communication() -> Bottleneck:
    """The word count on two nodes whose network is the bottleneck (section 5.3.2)."""
    described = describe(endless(), roles=ROLES[NAME], text=default_text(), conf={**CONF, **SEATS})
    bound = NodeLimits(cores=0.75, rate=parse_rate("1mbit"))
    return Bottleneck(supervisors=NODES, bounds=(bound,) * len(NODES), described=FrozenMap(described))


def computation() -> Bottleneck:
    """A word count whose Bolt 1 computes, on two nodes of which one has half of the other's processor (5.3.1).

    In the paper keys differ in their cost, here nodes in what they can do: either way Storm's deployment is uneven.
    """
    # All tasks of a bolt get as many tuples, as those of the Storm of the paper.
    conf = {**CONF, **SEATS, "topology.disable.loadaware.messaging": True}
    profile = Profile(topology=NAME, component="split", machine_type="", e=COST, met=0.0)
    supervisors = tuple(attrs.evolve(each, cpu=cpu) for each, cpu in zip(NODES, UNEVEN, strict=True))
    bounds = tuple(NodeLimits(cores=cpu / 100) for cpu in UNEVEN)
    described = describe(endless(), (profile,), conf=conf)
    return Bottleneck(supervisors=supervisors, bounds=bounds, described=FrozenMap(described))


BOTTLENECKS = FrozenMap({"communication": communication, "computation": computation})
"""Makers of the word counts, by what is the bottleneck."""


def saturated(
    case: Bottleneck, host: PluginHost, folder: Path, say: Callable[[str], None], *, seconds: float = ADJUSTING
) -> Saturated:
    """Measure a word count as Storm places it, let OTD adjust it by seats, and measure it again.

    Args:
        case: The word count, and the nodes.
        host: The plugins.
        folder: Scratch space.
        say: Takes progress messages.
        seconds: Of adjustment.

    Raises:
        EngineError: Nodes cannot be apart here, or the cluster or the topology fail.
    """
    require_times()
    with experiment(host, case.supervisors, folder, scheduler="even", apart=case.bounds) as cluster:
        settle(cluster, case.bounds, lambda: _submit(cluster, case))
        before = tuple(_window(cluster, case, say, "Storm's deployment") for _ in range(WINDOWS))
        migrations = _adjust(cluster, say, seconds)
        after = tuple(_window(cluster, case, say, "after OTD") for _ in range(WINDOWS))
    return Saturated(before=before, after=after, migrations=migrations)


def _submit(cluster: ServedCluster, case: Bottleneck) -> None:
    cluster.run(case.described, seats={})
    cluster.settled_seats()


def _window(cluster: ServedCluster, case: Bottleneck, say: Callable[[str], None], what: str) -> dict[str, float]:
    window = watched(cluster, SECONDS)
    used = usage(window.points, [100 * (each.cores or 1.0) for each in case.bounds])
    found = {**window.figures, "usage": used}
    say(f"{what}: {found['throughput']:.0f} lines/s, {found['latency']:.0f} ms, {found['usage']:.0%} of the processors")
    return found


def usage(used: tuple[float, ...], capacity: list[float]) -> float:
    """Average CPU usage of the workers of the nodes, each by what its node has.

    Args:
        used: Points that the workers of each node used.
        capacity: Points of each node.
    """
    return sum(points / whole for points, whole in zip(used, capacity, strict=True)) / len(capacity)


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
