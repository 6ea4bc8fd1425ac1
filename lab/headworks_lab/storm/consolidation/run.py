"""The measurements: five topologies at two rates by Storm and by D-Storm, and the latency of two of them.

Half of the paper's nodes have half of its load: six supervisors, two of each type. Each topology is placed by Storm's
own scheduler, measured, placed anew by `dstorm` from what was measured, and measured again. Tasks really use a part of
the processor time that they declare; measured CPU is multiplied to be what they declare in all at the high rate, and
by the same factor when the input has fallen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from headworks.api import workload
from headworks.model import Cluster, Resources
from headworks.model.scaling import scaled
from headworks_lab.measure.sizing import fed
from headworks_lab.storm.bench import OWN, StormBench
from headworks_local.isolated.limits import parse_rate
from headworks_storm.demo.experiment import Measured, ServedCluster, experiment
from headworks_storm.local.cluster import SupervisorSpec
from headworks_storm.workload.describe import Load, describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from headworks.model import Node, Request, Topology
    from headworks.plugins.host import PluginHost

SHAPES = ("linear", "star", "diamond")
HIGH, LOW = "-ps10000", ""
"""Ends of the names of workloads at 10,000 and at 2,500 tuples/s."""
HALF = 0.5
"""Part of the paper's nodes of each type, and of what tasks declare."""
LOAD = Load(rate=0.05, cpu=0.6)
"""Part of the declared rate, and of the processor time of a tuple, that is real: two cores are no twenty-eight."""
HEAP = 48.0
"""MB of a real task, which does nothing with the 256 that are declared."""
CONF = {"topology.acker.executors": 0, "topology.disable.loadaware.messaging": True}
"""Nothing but the topology's own traffic; Storm 2 sends shuffled tuples to the same worker, the paper's did not."""
WINDOW = 10.0
WINDOWS = 3
"""Windows of each placement."""
APPLICATIONS = ("url-converter", "twitter-sentiment")
FULL = 900.0
"""Points that all tasks of an application declare at the high rate, about as much as those of the micro-benchmark. At
the low one it is a quarter of that."""
RATE = 600.0
"""Tuples/s of an application, which every placement bears. With more, its latency is that of queues."""
NETWORK = "5mbit"
"""Of each node on which latency is measured: Storm's own placement takes a part of it."""
SECONDS = 15.0
"""Length of a window of latency."""
REPETITIONS = 3


@attrs.frozen(kw_only=True)
class Packed:
    """A topology at one rate by one scheduler.

    Attributes:
        shape: Of the topology.
        falls: Whether the rate is the low one.
        scheduler: `storm` or `dstorm`.
        shares: Part of the tuples that went between nodes, in each window.
        cost: Prices of the nodes used, dollars an hour.
    """

    shape: str
    falls: bool
    scheduler: str
    shares: tuple[float, ...]
    cost: float


@attrs.frozen(kw_only=True)
class Latency:
    """Mean milliseconds from a spout to the last ack, in each repetition, by Storm and by D-Storm."""

    application: str
    storm: tuple[float, ...]
    dstorm: tuple[float, ...]


def nodes() -> tuple[Node, ...]:
    """Half of the paper's nodes of each type."""
    found: dict[str, list[Node]] = {}
    for each in workload("dstorm:linear").cluster.nodes:
        found.setdefault(each.machine_type or "", []).append(each)
    return tuple(each for kind in found.values() for each in kind[: int(HALF * len(kind))])


def topology(shape: str, end: str) -> Topology:
    """A topology with half of its demands, a worker for each node, and tasks of little heap.

    Args:
        shape: One of `SHAPES` or of `APPLICATIONS`.
        end: `HIGH` or `LOW`.
    """
    asked, part = (_application(shape, end), 1.0) if shape in APPLICATIONS else (workload(f"dstorm:{shape}{end}"), HALF)
    (found,) = asked.topologies
    parts = (attrs.evolve(each, demand=Resources(cpu=part * each.demand.cpu, memory=HEAP)) for each in found.components)
    return attrs.evolve(found, components=tuple(parts), workers=len(nodes()), worker_heap=4096.0)


def _application(name: str, end: str) -> Request:
    asked = workload(f"storm:{name}")
    (found,) = asked.topologies
    usual = sum(each.rate or 0.0 for each in found.components)
    return fed(asked, (1.0 if end == HIGH else 0.25) * FULL / declared(found) * usual)


def declared(found: Topology) -> float:
    """Points that all tasks of a topology declare.

    Args:
        found: The topology.
    """
    return sum(each.demand.cpu * each.parallelism for each in found.components)


def micro_benchmark(host: PluginHost, folder: Path, say: Callable[[str], None]) -> tuple[Packed, ...]:
    """Run each topology of the micro-benchmark, and both applications, at both rates, by both schedulers.

    Args:
        host: Has `dstorm`.
        folder: Scratch space.
        say: Takes progress messages.

    Raises:
        EngineError: The cluster does not start, or there is no plan.
    """
    types = nodes()
    supervisors = tuple(
        SupervisorSpec(
            host=f"127.0.0.{last}",
            cpu=each.capacity.cpu,
            memory_mb=each.capacity.memory,
            slots=1,
            conf={"supervisor.scheduler.meta": {"headworks.machine.type": each.machine_type or ""}},
        )
        for last, each in enumerate(types, start=51)
    )
    prices = {each.machine_type: each.price or 0.0 for each in types}
    with experiment(host, supervisors, folder, scheduler="dstorm") as cluster:
        say(f"{len(supervisors)} supervisors are up")
        return tuple(found for shape in (*SHAPES, *APPLICATIONS) for found in _shape(cluster, shape, prices, say))


def _shape(
    cluster: ServedCluster, shape: str, prices: dict[str | None, float], say: Callable[[str], None]
) -> Iterator[Packed]:
    factor = 0.0
    for end in (HIGH, LOW):
        asked = topology(shape, end)
        cluster.run(describe(asked, load=LOAD, conf=CONF))
        cluster.warm_up()
        before = [cluster.measure(WINDOW) for _ in range(WINDOWS)]
        factor = factor or declared(asked) / before[-1].cpu
        request = scaled(cluster.question(before[-1], before[-1], None), factor)
        plan, seconds = cluster.plan("dstorm", request, {})
        if plan.moves:
            cluster.change(plan, request, seconds)
        after = [cluster.measure(WINDOW) for _ in range(WINDOWS)]
        for scheduler, windows in ((OWN, before), ("dstorm", after)):
            found = packed(windows, prices)
            shares = ", ".join(f"{share:.1%}" for share in found.shares)
            say(f"{asked.id}{end}, {scheduler}: {windows[-1].nodes} nodes, {shares} of the tuples between them")
            yield attrs.evolve(found, shape=shape, falls=end == LOW, scheduler=scheduler)
        cluster.end(asked.id)


def packed(windows: list[Measured], prices: dict[str | None, float]) -> Packed:
    """Read windows of one placement.

    Args:
        windows: The windows.
        prices: Dollars an hour by machine type.
    """
    seen = windows[-1].seen
    types = {each.id: each.machine_type for each in seen.cluster.nodes}
    used = {slot.node for slot in seen.assignment.values()}
    shares = tuple(each.tuples_between / each.tuples if each.tuples else 0.0 for each in windows)
    return Packed(shape="", falls=False, scheduler="", shares=shares, cost=sum(prices[types[node]] for node in used))


def latencies(say: Callable[[str], None], repetitions: int = REPETITIONS) -> tuple[Latency, ...]:
    """Measure both applications on nodes that are apart, by both schedulers in turn.

    Args:
        say: Takes progress messages.
        repetitions: Windows of each scheduler.

    Raises:
        EngineError: The cluster does not start, or nodes cannot be apart.
    """
    found = []
    with StormBench.of_times() as bench:
        for name in APPLICATIONS:
            asked = fed(workload(f"storm:{name}"), RATE)
            connected = tuple(attrs.evolve(each, bandwidth=parse_rate(NETWORK) / 8) for each in asked.cluster.nodes)
            asked = attrs.evolve(asked, cluster=Cluster(nodes=connected))
            by: dict[str, list[float]] = {OWN: [], "dstorm": []}
            for number in range(repetitions):
                for scheduler, values in by.items():
                    values.append(bench.run(asked, scheduler, number, SECONDS)["latency"])
                    say(f"{name}, {scheduler}, {number + 1} of {repetitions}: {values[-1]:.1f} ms")
            found.append(Latency(application=name, storm=tuple(by[OWN]), dstorm=tuple(by["dstorm"])))
    return tuple(found)
