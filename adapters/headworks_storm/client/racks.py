"""The supervisors of Storm's large test clusters.

The data set in Storm's test jar holds topologies only; the racks are constants of its class
`org.apache.storm.scheduler.resource.strategies.scheduling.TestLargeCluster$SupervisorDistribution` (2.8.3).
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import attrs

from headworks.model import Cluster, Node, Resources

if TYPE_CHECKING:
    from collections.abc import Iterator

NETWORK_UNITS = 50.0
"""Units of the generic resource `network.resource.units` that every supervisor offers."""


@attrs.frozen
class Batch:
    """Equal supervisors of one rack; CPU in points, memory in MB."""

    rack: int
    count: int
    slots: int
    memory: float
    cpu: float


def _generations() -> tuple[Batch, ...]:
    """largeCluster01: 82 supervisors a rack, half of them with 100 points less than the other half."""
    kinds = ((range(12), 178_000, 3_600), (range(12, 14), 118_100, 2_400), (range(14, 16), 42_480, 1_200))
    return tuple(
        Batch(rack, 41, 50, memory, cpu - less)
        for racks, memory, cpu in kinds
        for rack, less in product(racks, (0, 100))
    )


BATCHES = {
    "largeCluster01": _generations(),
    "largeCluster02": (
        Batch(1, 78, 12, 42_461, 1_100),
        Batch(2, 146, 36, 181_362, 3_500),
        Batch(3, 18, 36, 181_362, 3_500),
        Batch(4, 120, 36, 181_362, 3_500),
        Batch(5, 24, 36, 181_362, 3_500),
        Batch(5, 16, 48, 177_748, 4_700),
        Batch(6, 12, 18, 88_305, 1_800),
        Batch(6, 368, 36, 181_205, 3_500),
        Batch(7, 62, 48, 177_748, 4_700),
        Batch(8, 50, 36, 181_348, 3_500),
        Batch(8, 64, 48, 177_748, 4_700),
        Batch(9, 74, 48, 177_748, 4_700),
        Batch(10, 74, 48, 177_748, 4_700),
        Batch(11, 10, 48, 177_748, 4_700),
        Batch(12, 78, 24, 120_688, 2_300),
        Batch(13, 150, 48, 177_748, 4_700),
        Batch(14, 76, 36, 181_362, 3_500),
        Batch(15, 38, 48, 174_431, 4_700),
        Batch(16, 78, 36, 181_375, 3_500),
        Batch(17, 72, 36, 181_362, 3_500),
        Batch(18, 80, 36, 181_362, 3_500),
        Batch(19, 76, 36, 181_362, 3_500),
        Batch(20, 78, 24, 120_696, 2_300),
        Batch(21, 80, 24, 120_696, 2_300),
    ),
    "largeCluster03": (Batch(1, 40, 12, 58_829, 1_100), Batch(2, 40, 12, 58_829, 1_100)),
}
"""Every supervisor of each cluster, by the name of its folder in the jar."""


def cluster_of(name: str) -> Cluster:
    """The nodes of one of `BATCHES`, named and racked as the test does."""
    return Cluster(nodes=tuple(_nodes(BATCHES[name])))


def _nodes(batches: tuple[Batch, ...]) -> Iterator[Node]:
    seen: Counter[int] = Counter()
    for batch in batches:
        capacity = Resources({"cpu": batch.cpu, "memory": batch.memory, "network.resource.units": NETWORK_UNITS})
        for _ in range(batch.count):
            number = seen[batch.rack]
            seen[batch.rack] += 1
            yield Node(
                id=f"r{batch.rack:03}s{number:03}",
                host=f"host-{number:03}-rack-{batch.rack:03}",
                rack=f"r{batch.rack:03}",
                slots=tuple(range(batch.slots)),
                capacity=capacity,
            )
