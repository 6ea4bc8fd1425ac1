"""What executors use of their machines, Python workers included: read from the executor plugin in the adapter's jar.

`spark.plugins` has to name it (`session(..., usage=True)` does). Spark's own CPU metric knows the JVM alone.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import attrs

from headgate.model import NodeSample
from headgate_spark.driver.gateway import running_gateway

if TYPE_CHECKING:
    from collections.abc import Mapping

PLUGIN = "headgate.spark.UsagePlugin"
SOURCE = "processes"


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


def read_usage() -> dict[str, Usage]:
    """What each executor last said, by id; nothing without the plugin."""
    from py4j.java_gateway import JavaClass

    plugin = running_gateway().jvm.headgate.spark.UsagePlugin
    return parse_usage(plugin.read()) if isinstance(plugin, JavaClass) else {}


def parse_usage(text: str) -> dict[str, Usage]:
    """Read lines of "executor milliseconds cpu-milliseconds rss-kilobytes processes"."""
    found = {}
    for line in text.splitlines():
        executor, *figures = line.split()
        at, cpu, memory, processes = map(int, figures)
        found[executor] = Usage(time=at / 1e3, cpu=cpu / 1e3, memory=memory / 1024, processes=processes)
    return found


def node_usage(
    before: Mapping[str, Usage], after: Mapping[str, Usage], hosts: Mapping[str, str]
) -> tuple[NodeSample, ...]:
    """CPU in points and memory in MB of each host between two looks; `hosts` names the host of each live executor."""
    cpu: dict[str, float] = defaultdict(float)
    memory: dict[str, float] = defaultdict(float)
    for executor, host in hosts.items():
        first, last = before.get(executor), after.get(executor)
        if first is not None and last is not None and last.time > first.time:
            cpu[host] += 100.0 * (last.cpu - first.cpu) / (last.time - first.time)
            memory[host] += last.memory
    return tuple(NodeSample(node=host, cpu=cpu[host], memory=memory[host], source=SOURCE) for host in sorted(cpu))
