"""What a monitor measures of a stretch of simulated time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headgate.model import Flow, Metrics, NodeSample, TaskSample, TopologySample
from headgate_sim.layout import summed
from headgate_sim.streams import pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from headgate_sim.layout import Floats, Ints, Layout
    from headgate_sim.steady import Share
    from headgate_sim.world import Span

SOURCE = "simulated"
FLOWS = 100_000
"""Pairs of tasks that are reported one by one; of more, none is."""


def measure(layout: Layout, spans: Sequence[Span], dead: AbstractSet[str]) -> Metrics:
    """Average over spans. What did not run in them has no sample; a rate is that of the time in which a task ran.

    Args:
        layout: Of the world that made the spans.
        spans: One after the other.
        dead: Nodes that are not reported.
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


def _tasks(layout: Layout, spans: Sequence[Span]) -> Iterator[TaskSample]:
    problem = layout.problem
    time, cpu, received, emitted = (np.zeros(problem.n) for _ in range(4))
    for span in spans:
        steady = span.steady
        time += span.length * steady.there
        cpu += span.length * steady.cpu
        for plumbing, share, factor in zip(layout.topologies, steady.shares, steady.factor, strict=True):
            own = slice(plumbing.start, plumbing.stop)
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


def _queues(layout: Layout, span: Span) -> dict[int, float]:
    """What waits at the source of each topology, in equal parts before the tasks of its spouts."""
    found: dict[int, float] = {}
    for plumbing, backlog in zip(layout.topologies, span.backlog, strict=True):
        spouts = plumbing.ranges[~np.isnan(plumbing.emission)]
        tasks = [plumbing.start + task for first, last in spouts.tolist() for task in range(first, last)]
        found |= dict.fromkeys(tasks, float(backlog) / max(len(tasks), 1))
    return found


def _topologies(layout: Layout, spans: Sequence[Span], length: float) -> Iterator[TopologySample]:
    offered = _mean([span.length * span.offered for span in spans], length)
    done = _mean([span.length * span.throughput for span in spans], 1.0)
    late = _mean([span.length * span.throughput * span.latency for span in spans], 1.0)
    for number, plumbing in enumerate(layout.topologies):
        yield TopologySample(
            topology=plumbing.id,
            offered=float(offered[number]),
            throughput=float(done[number] / length),
            latency=float(late[number] / done[number]) if done[number] > 0 else None,
            source=SOURCE,
        )


def _flows(layout: Layout, spans: Sequence[Span], length: float) -> Iterator[Flow]:
    weights: dict[tuple[int, int], tuple[Share, Ints, float]] = {}
    for span in spans:
        for number, share in enumerate(span.steady.shares):
            plumbing = layout.topologies[number]
            worker = span.steady.worker[plumbing.start : plumbing.stop]
            known = weights.get((number, id(share)), (share, worker, 0.0))
            weights[number, id(share)] = (*known[:2], known[2] + span.length * float(span.steady.factor[number]))
    if _count(layout) > FLOWS:
        return
    ids, n = layout.problem.task_ids, layout.problem.n
    keys, tuples, sizes = [], [], []
    for (number, _), (share, worker, weight) in weights.items():
        plumbing = layout.topologies[number]
        if weight > 0:
            senders, receivers, rates, size = pairs(plumbing, share.current, worker)
            keys.append((senders + plumbing.start) * n + receivers + plumbing.start)
            tuples.append(rates * (weight / length))
            sizes.append(size * (weight / length))
    if not keys:
        return
    key, where = np.unique(np.concatenate(keys), return_inverse=True)
    rate, octets = (summed(where, np.concatenate(column), len(key)) for column in (tuples, sizes))
    for pair, amount, each in zip(key.tolist(), rate.tolist(), octets.tolist(), strict=True):
        yield Flow(source=ids[pair // n], target=ids[pair % n], tuples=amount, bytes=None if np.isnan(each) else each)


def _mean(parts: list[Floats], length: float) -> Floats:
    return np.asarray(np.sum(parts, axis=0) / length, dtype=np.float64)


def _count(layout: Layout) -> int:
    """Pairs of tasks that may exchange tuples."""
    total = 0
    for plumbing in layout.topologies:
        width = plumbing.ranges[:, 1] - plumbing.ranges[:, 0]
        total += sum(int(width[link.source] * width[link.target]) for link in plumbing.links)
        total += 0 if plumbing.flows is None else len(plumbing.flows[0])
    return total
