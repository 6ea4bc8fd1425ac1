"""CPU and memory of executors with their Python workers, read from the executor plugin in the adapter's jar.

`spark.plugins` has to name it (`session(..., usage=True)` does). Spark's own CPU metric knows the JVM alone.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import attrs

from headworks.model import NodeSample
from headworks_spark.driver.reach import driver_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.model import Observation

PLUGIN = "headworks.spark.UsagePlugin"
"""The SparkPlugin of the jar, whose executor side sends its figures to the driver."""
SOURCE = "processes"
"""The `source` of samples that were measured on operating-system processes."""


@attrs.frozen(kw_only=True)
class Usage:
    """One executor and all processes below it.

    Attributes:
        time: Seconds since the epoch, by the executor's clock.
        cpu: CPU seconds since its start; what a process used in its last half second is not in it.
        memory: Resident MB; pages that processes share count for each.
        processes: How many there are.
    """

    time: float
    cpu: float
    memory: float
    processes: int


def read_usage(spark: Any) -> dict[str, Usage]:
    """The last report of each executor of a session, by executor id; empty without the plugin."""
    return parse_usage(driver_of(spark).usage())


def parse_usage(text: str) -> dict[str, Usage]:
    """Parse lines of "executor milliseconds cpu-milliseconds rss-kilobytes processes"."""
    found = {}
    for line in text.splitlines():
        executor, *figures = line.split()
        at, cpu, memory, processes = map(int, figures)
        found[executor] = Usage(time=at / 1e3, cpu=cpu / 1e3, memory=memory / 1024, processes=processes)
    return found


def node_usage(
    before: Mapping[str, Usage], after: Mapping[str, Usage], hosts: Mapping[str, str]
) -> tuple[NodeSample, ...]:
    """Samples of each host between two readings: CPU in points (100 is one core), memory in MB.

    Args:
        before: Usage by executor id at the first reading.
        after: Usage by executor id at the second; one that is in only one of them does not count.
        hosts: Host of each live executor, by executor id.
    """
    cpu: dict[str, float] = defaultdict(float)
    memory: dict[str, float] = defaultdict(float)
    for executor, host in hosts.items():
        first, last = before.get(executor), after.get(executor)
        if first is not None and last is not None and last.time > first.time:
            # Each executor's own clock: readings of two executors are never subtracted from each other.
            cpu[host] += 100.0 * (last.cpu - first.cpu) / (last.time - first.time)
            memory[host] += last.memory
    return tuple(NodeSample(node=host, cpu=cpu[host], memory=memory[host], source=SOURCE) for host in sorted(cpu))


def with_usage(spark: Any, seen: Observation, before: Mapping[str, Usage], hosts: Mapping[str, str]) -> Observation:
    """The observation with what executors used since a reading, where they say it.

    Args:
        hosts: Host of each live executor, by executor id.
    """
    return _measured(seen, node_usage(before, read_usage(spark), hosts))


def _measured(seen: Observation, used: tuple[NodeSample, ...]) -> Observation:
    """The observation with other samples of nodes, whose speed stays known."""
    if not used:
        return seen
    speed = {each.node: each.speed for each in seen.metrics.nodes}
    nodes = tuple(attrs.evolve(each, speed=speed.get(each.node)) for each in used)
    return attrs.evolve(seen, metrics=attrs.evolve(seen.metrics, nodes=nodes))
