"""The catalogue of queries to run on a real cluster: Nexmark's, which do real work.

Rows and bytes from stage to stage, and processor time, are what was measured on a small machine; on a real cluster a
pilot run measures them.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise, product
from typing import TYPE_CHECKING

import attrs

from headworks.errors import EngineError
from headworks.model import Cluster, Component, Kind, Node, Request, Resources, Stream, Topology, Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

RATE = 10_000.0
"""Events per second, as in Nexmark's own configuration."""
TASKS = 4
"""Tasks of each stage. With more, what a task costs by itself is a larger part of a micro-batch; with fewer, there is
less to place."""
CORES = (4, 2, 1)
"""Cores of the nodes: those of the Workers that `headworks spark up` starts."""
PREFIX = "nexmark-"
"""Before the query's name, `q1` to `q11`, in that of its topology."""


@attrs.frozen
class _Stage:
    """One component of a query: a stage of Spark's.

    Attributes:
        points: CPU of one of its tasks.
        rows: Rows per second that it sends on, all tasks together.
        size: Bytes of one of them.
    """

    id: str
    points: float
    rows: float = 0.0
    size: float = 0.0


def q1() -> Topology:
    """Nexmark query 1, currency conversion: a map over all bids."""
    return _query("q1", [_Stage("bids", 4)])


def q2() -> Topology:
    """Nexmark query 2, selection: a filter of all bids."""
    return _query("q2", [_Stage("bids", 4)])


def q3() -> Topology:
    """Nexmark query 3, local item suggestion: people and auctions joined, without a window."""
    return _query("q3", [_Stage("auctions", 5, 120, 24), _Stage("people", 5, 100, 24)], [_Stage("join", 4)])


def q4() -> Topology:
    """Nexmark query 4, average price for a category: auctions joined with bids, the highest of each, their average."""
    sources = [_Stage("auctions", 6, 600, 12), _Stage("bids", 6, 9200, 12)]
    return _query("q4", sources, [_Stage("join", 5, 580, 21)], [_Stage("highest", 2, 12, 62)], [_Stage("average", 2)])


def q5() -> Topology:
    """Nexmark query 5, hot items: bids of each auction counted in sliding windows, and the most of each window."""
    return _query("q5", [_Stage("bids", 5, 3830, 10)], [_Stage("count", 3, 2, 15_700)], [_Stage("hottest", 2)])


def q7() -> Topology:
    """Nexmark query 7, highest bid: all bids grouped by window and price, and the highest of each window."""
    return _query("q7", [_Stage("bids", 7, 8460, 22)], [_Stage("prices", 8, 0.4, 126)], [_Stage("highest", 2)])


def q8() -> Topology:
    """Nexmark query 8, monitor new users: people joined with the auctions of their window, each of them once."""
    sources = [_Stage("auctions", 5, 600, 8), _Stage("people", 5, 200, 8)]
    return _query("q8", sources, [_Stage("join", 4, 104, 30)], [_Stage("once", 1)])


def q11() -> Topology:
    """Nexmark query 11, user sessions: bids of each bidder counted in session windows."""
    return _query("q11", [_Stage("bids", 4, 3270, 13)], [_Stage("sessions", 3)])


BUILDERS = (q1, q2, q3, q4, q5, q7, q8, q11)
"""Makers of the topologies."""


def query_name(topology: Topology) -> str:
    """Name of the query, such as `q5`, that a topology stands for.

    Args:
        topology: The topology; its rate and its parallelism, and what it declares of its demands, may be others.

    Returns:
        The name; "" if it is not one of this catalogue, whatever its id.

    Raises:
        EngineError: It is one, and asks for what the query cannot be: sources that differ, or stages that do.
    """
    own = next((each for build in BUILDERS if (each := build()).id == topology.id), None)
    if own is None or _shape(own) != _shape(topology):
        return ""
    for kind in Kind:
        alike = {(each.rate, each.parallelism) for each in topology.components if each.kind is kind}
        if len(alike) > 1:
            raise EngineError(
                f"the {kind}s of {topology.id!r} differ in rate or parallelism, and are one number on Spark: give all "
                "of them the same"
            )
    return topology.id.removeprefix(PREFIX)


def workloads() -> Sequence[Workload]:
    """The workloads of this catalogue, each a request with one topology on three nodes of different size."""
    return tuple(
        Workload(name=made.id, summary=(build.__doc__ or "").partition("\n")[0], build=partial(_request, made))
        for build, made in ((each, each()) for each in BUILDERS)
    )


def _request(topology: Topology) -> Request:
    nodes = tuple(
        Node(id=f"node-{number}", capacity=Resources(cpu=100.0 * cores), slots=(0,))
        for number, cores in enumerate(CORES, start=1)
    )
    return Request(cluster=Cluster(nodes=nodes, shared_slots=True), topologies=(topology,))


def _query(name: str, sources: Sequence[_Stage], *others: Sequence[_Stage]) -> Topology:
    """Stages in a row, each with a shuffle to the next."""
    spouts = tuple(_component(each, Kind.SPOUT) for each in sources)
    bolts = tuple(_component(each, Kind.BOLT) for stage in others for each in stage)
    streams = tuple(
        Stream(source=one.id, target=two.id, grouping="fields", rate=one.rows, tuple_bytes=one.size)
        for before, after in pairwise((sources, *others))
        for one, two in product(before, after)
    )
    return Topology(id=f"{PREFIX}{name}", components=(*spouts, *bolts), streams=streams, sequential=True)


def _component(stage: _Stage, kind: Kind) -> Component:
    rate = RATE if kind is Kind.SPOUT else None
    return Component(id=stage.id, kind=kind, parallelism=TASKS, rate=rate, demand=Resources(cpu=stage.points))


def _shape(topology: Topology) -> tuple[object, ...]:
    streams = {(each.source, each.target, each.grouping) for each in topology.streams}
    return {(each.id, each.kind) for each in topology.components}, streams
