"""The demo's question without an engine: who would send how many rows to whom, known from the data alone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from headworks.errors import DocumentError
from headworks.model import (
    Cluster,
    Flow,
    FrozenMap,
    Limits,
    Metrics,
    Node,
    Request,
    Resources,
    Scores,
    Slot,
    Task,
    TaskSample,
)
from headworks.model.scaling import at_load, declared_from_measured
from headworks.problem import Problem
from headworks.problem.plan.score import score
from headworks_spark.demo.dataset import DAYS, FEEDS, feeds_by_carrier, flights
from headworks_spark.demo.murmur import partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headworks_spark.demo.flights import FlightsQuery
    from headworks_spark.local.cluster import WorkerSpec

ALONE = "Spark alone"
"""Name of the placement that nobody planned."""
SECONDS_A_DAY = 86_400.0
"""Turns the days of the data into rates per second."""


def offline_request(query: FlightsQuery, workers: Sequence[WorkerSpec], load: float) -> Request:
    """The flights query on a cluster of these Workers, at a load, every row taken to cost the same.

    Traffic is in rows per second at the speed of the year 2013, times the factor that gives the load.

    Args:
        query: The query, of which only the topology counts.
        load: Share of all CPU that the tasks need together, 0 to 1.
    """
    topology = query.topology()
    table = flights()
    carriers, airports = table["carrier"].to_pylist(), table["dest"].to_pylist()
    feed_of = feeds_by_carrier(Counter(carriers))
    # The partition that Spark's hash gives each destination: the traffic is that of the real query, row for row.
    airport_of = {name: partition(name, FEEDS) for name in set(airports)}
    pairs = Counter((feed_of[carrier], airport_of[name]) for carrier, name in zip(carriers, airports, strict=True))
    rate = 1.0 / (DAYS * SECONDS_A_DAY)
    flows = tuple(
        Flow(
            source=Task(topology.id, "feeds", source).id,
            target=Task(topology.id, "airports", target).id,
            tuples=float(rows) * rate,
        )
        for (source, target), rows in sorted(pairs.items())
    )
    request = Request(
        cluster=Cluster(nodes=tuple(_node(worker) for worker in workers), shared_slots=True),
        topologies=(topology,),
        metrics=Metrics(window=DAYS * SECONDS_A_DAY, tasks=_tasks(flows), flows=flows),
    )
    return declared_from_measured(at_load(request, load))


def _node(worker: WorkerSpec) -> Node:
    return Node(id=worker.host, capacity=Resources(cpu=100.0 * worker.cores, memory=worker.memory_mb))


def _tasks(flows: tuple[Flow, ...]) -> tuple[TaskSample, ...]:
    rows: dict[str, float] = {}
    for flow in flows:
        for end in (flow.source, flow.target):
            rows[end] = rows.get(end, 0.0) + (flow.tuples or 0.0)
    return tuple(TaskSample(task=task, cpu=rows[task], source="rows") for task in sorted(rows))


def without_assignment(request: Request) -> Request:
    """The request as if nothing ran: what a scheduler that never moves running tasks has to be asked."""
    return attrs.evolve(request, assignment=type(request.assignment)())


def free_scores(request: Request) -> Scores:
    """Scores of the placement that Spark's own scheduler makes: each task on the core that is free first.

    Args:
        request: With one topology, for whose tasks there is room.

    Raises:
        DocumentError: There is no room for them.
    """
    problem = Problem.of(attrs.evolve(request, assignment=FrozenMap(), limits=Limits()))
    if problem.slowdown is None:
        raise DocumentError("/cluster/nodes", "have no room for every task")
    free = zip(problem.task_ids, problem.slowdown.free.tolist(), strict=True)
    return score(problem, FrozenMap({task: Slot(problem.node_ids[node], 0) for task, node in free}))
