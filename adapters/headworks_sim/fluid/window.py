"""The metrics that a monitor measures over a window of simulated time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks.model import Flow, Metrics, NodeSample, TaskSample, TopologySample
from headworks_sim.fluid.layout import summed
from headworks_sim.fluid.streams import pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from headworks_sim.fluid.layout import Floats, Ints, Layout
    from headworks_sim.fluid.steady import Share
    from headworks_sim.fluid.world import SteadySpan

SOURCE = "simulated"
"""The source that every sample names."""
FLOWS = 100_000
"""Pairs of tasks that are reported one by one; of more, none is."""


def measure(layout: Layout, spans: Sequence[SteadySpan], dead: AbstractSet[str]) -> Metrics:
    """Average over spans. A task that did not run in them has no sample; a rate is that of the time in which it ran.

    Args:
        layout: The constants of the simulation that made the spans.
        spans: One after the other.
        dead: Ids of nodes that are not reported.
    """
    length = sum(span.length for span in spans)
    if length <= 0:
        return Metrics()
    problem = layout.problem
    nodes = _mean([span.length * span.steady.node_cpu for span in spans], length)
    return Metrics(
        window=length,
        tasks=tuple(_tasks(layout, spans)),
        flows=tuple(_flows(layout, spans, length)),
        nodes=tuple(
            NodeSample(node=name, cpu=float(cpu), source=SOURCE)
            for name, cpu in zip(problem.node_ids, nodes, strict=True)
            if name not in dead
        ),
        topologies=tuple(_topologies(layout, spans, length)),
    )


def _tasks(layout: Layout, spans: Sequence[SteadySpan]) -> Iterator[TaskSample]:
    problem = layout.problem
    time, cpu, received, emitted = (np.zeros(problem.n) for _ in range(4))
    for span in spans:
        steady = span.steady
        time += span.length * steady.there
        cpu += span.length * steady.cpu
        for graph, share, factor in zip(layout.topologies, steady.shares, steady.factor, strict=True):
            own = slice(graph.start, graph.stop)
            received[own] += span.length * factor * share.current.received
            emitted[own] += span.length * factor * share.current.emitted
    queue = _queues(layout, spans[-1])
    for task in np.flatnonzero(time > 0).tolist():
        yield TaskSample(
            task=problem.task_ids[task],
            cpu=float(cpu[task] / time[task]),
            memory=float(problem.demand[task, 1]),
            received=float(received[task] / time[task]),
            emitted=float(emitted[task] / time[task]),
            queue=queue.get(task),
            source=SOURCE,
        )


def _queues(layout: Layout, span: SteadySpan) -> dict[int, float]:
    """Backlog at the source of each topology, in equal parts before the tasks of its spouts; tuples by task index."""
    found: dict[int, float] = {}
    for graph, backlog in zip(layout.topologies, span.backlog, strict=True):
        spouts = graph.ranges[~np.isnan(graph.emission)]
        tasks = [graph.start + task for first, last in spouts.tolist() for task in range(first, last)]
        found |= dict.fromkeys(tasks, float(backlog) / max(len(tasks), 1))
    return found


def _topologies(layout: Layout, spans: Sequence[SteadySpan], length: float) -> Iterator[TopologySample]:
    offered = _mean([span.length * span.offered for span in spans], length)
    done = _mean([span.length * span.throughput for span in spans], 1.0)
    late = _mean([span.length * span.throughput * span.latency for span in spans], 1.0)
    for number, graph in enumerate(layout.topologies):
        yield TopologySample(
            topology=graph.id,
            offered=float(offered[number]),
            throughput=float(done[number] / length),
            latency=float(late[number] / done[number]) if done[number] > 0 else None,
            source=SOURCE,
        )


def _flows(layout: Layout, spans: Sequence[SteadySpan], length: float) -> Iterator[Flow]:
    # Spans of one placement share one `Share` object: their flows differ by a factor, and are listed once.
    weights: dict[tuple[int, int], tuple[Share, Ints, float]] = {}
    for span in spans:
        for number, share in enumerate(span.steady.shares):
            graph = layout.topologies[number]
            worker = span.steady.worker[graph.start : graph.stop]
            known = weights.get((number, id(share)), (share, worker, 0.0))
            weights[number, id(share)] = (*known[:2], known[2] + span.length * float(span.steady.factor[number]))
    if _count(layout) > FLOWS:
        return
    ids, n = layout.problem.task_ids, layout.problem.n
    keys, tuples, sizes = [], [], []
    for (number, _), (share, worker, weight) in weights.items():
        graph = layout.topologies[number]
        if weight > 0:
            senders, receivers, rates, size = pairs(graph, share.current, worker)
            keys.append((senders + graph.start) * n + receivers + graph.start)
            tuples.append(rates * (weight / length))
            sizes.append(size * (weight / length))
    if not keys:
        return
    # A pair of tasks as one number, by which its streams and placements are added up.
    key, where = np.unique(np.concatenate(keys), return_inverse=True)
    rate, octets = (summed(where, np.concatenate(column), len(key)) for column in (tuples, sizes))
    for pair, amount, each in zip(key.tolist(), rate.tolist(), octets.tolist(), strict=True):
        yield Flow(source=ids[pair // n], target=ids[pair % n], tuples=amount, bytes=None if np.isnan(each) else each)


def _mean(parts: list[Floats], length: float) -> Floats:
    return np.asarray(np.sum(parts, axis=0) / length, dtype=np.float64)


def _count(layout: Layout) -> int:
    """Pairs of tasks that may exchange tuples."""
    total = 0
    for graph in layout.topologies:
        width = graph.ranges[:, 1] - graph.ranges[:, 0]
        total += sum(int(width[link.source] * width[link.target]) for link in graph.links)
        total += 0 if graph.flows is None else len(graph.flows[0])
    return total
