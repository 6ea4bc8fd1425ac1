"""The two use cases of chapter 4 of the thesis.

Topologies, executors, workers, desired and minimum nodes are printed (Tables 6, 8, 11 and 12). What an executor needs
is not: `POINTS` is small enough that every share of Tables 8 to 13 has room for its executors.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import attrs

from headworks.model import Cluster, Component, Kind, Node, Request, Resources, Stream, Topology, Workload
from headworks_priority.options import DpsOptions
from headworks_priority.sharing import dps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

POINTS, MEMORY = 6.0, 32.0
"""CPU points and MB of one executor (assumed)."""
EVENT = ("kafka-spout", "parse", "event-detector", "event-dispatcher")
ARCHIVAL = ("kafka-spout", "archival", "batch-dispatcher")
CONTINUOUS = ("kafka-spout", "parse", "counter", "dispatcher")
BATCH_RATE = 8 * 80 / 40
"""Tuples per second of a Kafka topic in use case 1: 8 producers, batches of 80 tuples, a gap of 40 s (Table 10)."""
FEED_RATES = {"TP1": 40.0, "TP2": 10.0}
"""Tuples per second of the two feeds of use case 2 (Table 14); TP1's is its lowest high rate."""


@attrs.frozen(kw_only=True)
class TopologyRow:
    """A row of Table 8 or 12: executors per component is also the number of workers."""

    components: tuple[str, ...]
    desired: int
    minimum: int
    priority: int
    rate: float


USE_CASE_1 = {
    "EventTP1": TopologyRow(components=EVENT, desired=8, minimum=4, priority=1, rate=BATCH_RATE),
    "EventTP2": TopologyRow(components=EVENT, desired=8, minimum=4, priority=1, rate=BATCH_RATE),
    "ArchivalTP1": TopologyRow(components=ARCHIVAL, desired=4, minimum=2, priority=2, rate=BATCH_RATE),
    "ArchivalTP2": TopologyRow(components=ARCHIVAL, desired=4, minimum=2, priority=2, rate=BATCH_RATE),
}
USE_CASE_2 = {
    "TP1": TopologyRow(components=CONTINUOUS, desired=16, minimum=8, priority=1, rate=FEED_RATES["TP1"]),
    "TP2": TopologyRow(components=CONTINUOUS, desired=8, minimum=4, priority=2, rate=FEED_RATES["TP2"]),
}
ALL_EQUAL = 2
"""The priority of every topology under DPS while no trigger is on."""


def use_case(rows: Mapping[str, TopologyRow], nodes: int, triggered: Sequence[str] | None = None) -> Request:
    """A use case on c4.large nodes (2 cores, 3.75 GB, 2 workers: Table 7).

    Args:
        rows: `USE_CASE_1` or `USE_CASE_2`.
        nodes: Supervisor nodes of the cluster.
        triggered: Topologies whose trigger is on, the others having equal priority (DPS); None for the static
            priorities of SPS.
    """
    capacity = Resources(cpu=200.0, memory=3840.0)
    width = len(str(nodes))
    return Request(
        cluster=Cluster(
            nodes=tuple(
                Node(id=f"node-{number:0{width}}", capacity=capacity, slots=(6700, 6701))
                for number in range(1, nodes + 1)
            )
        ),
        topologies=tuple(_topology(name, row, triggered) for name, row in rows.items()),
    )


def _topology(name: str, row: TopologyRow, triggered: Sequence[str] | None) -> Topology:
    priority = row.priority if triggered is None else 1 if name in triggered else ALL_EQUAL
    parts = tuple(
        Component(
            id=part,
            kind=Kind.BOLT if at else Kind.SPOUT,
            parallelism=row.desired,
            demand=Resources(cpu=POINTS, memory=MEMORY),
            rate=None if at else row.rate,
        )
        for at, part in enumerate(row.components)
    )
    return Topology(
        id=name,
        components=parts,
        streams=tuple(Stream(source=source, target=target) for source, target in pairwise(row.components)),
        priority=priority,
        workers=row.desired,
        desired_nodes=row.desired,
        minimum_nodes=row.minimum,
    )


def triggered_while_running(rows: Mapping[str, TopologyRow], nodes: int, triggered: Sequence[str]) -> Request:
    """The request after a trigger came on: everything runs where DPS put it before.

    Args:
        rows: `USE_CASE_1` or `USE_CASE_2`.
        nodes: Supervisor nodes of the cluster.
        triggered: Topologies whose trigger comes on.
    """
    before = dps(use_case(rows, nodes, ()), DpsOptions())
    return attrs.evolve(use_case(rows, nodes, triggered), assignment=before.assignment)


def static_workloads() -> Sequence[Workload]:
    """For SPS."""
    found = (
        ("use-case-1", "two event and two archival topologies on 16 nodes, 24 desired", (USE_CASE_1, 16)),
        ("use-case-1-ample", "the same on 24 nodes", (USE_CASE_1, 24)),
        ("use-case-1-minima", "the same on 12 nodes, the sum of the minima", (USE_CASE_1, 12)),
        ("use-case-2", "TP1 and TP2 on 20 nodes, 24 desired", (USE_CASE_2, 20)),
    )
    return tuple(Workload(name=name, summary=text, build=partial(use_case, *how)) for name, text, how in found)


def dynamic_workloads() -> Sequence[Workload]:
    """For DPS: before a trigger, and while everything runs and a trigger comes on."""
    first, second = "four topologies of equal priority on 16 nodes", "TP1 and TP2 at equal priority on 20 nodes"
    on_1, on_2 = (USE_CASE_1, 16, ("EventTP1", "EventTP2")), (USE_CASE_2, 20, ("TP1",))
    running = "the same while they run and the trigger of"
    return (
        Workload(name="use-case-1-off", summary=first, build=partial(use_case, USE_CASE_1, 16, ())),
        Workload(
            name="use-case-1-on",
            summary=f"{running} both event topologies comes on",
            build=partial(triggered_while_running, *on_1),
        ),
        Workload(name="use-case-2-off", summary=second, build=partial(use_case, USE_CASE_2, 20, ())),
        Workload(
            name="use-case-2-on", summary=f"{running} TP1 comes on", build=partial(triggered_while_running, *on_2)
        ),
    )
