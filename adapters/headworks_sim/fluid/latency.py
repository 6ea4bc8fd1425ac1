"""Latency inside a topology: the stays in the tasks of its longest path, and the ways between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks.model.topology import CORE
from headworks_sim.fluid.layout import summed
from headworks_sim.fluid.queues import crowding, stays, stretch

if TYPE_CHECKING:
    from headworks_sim.fluid.layout import Floats, Ints, Layout, TopologyGraph
    from headworks_sim.fluid.steady import Share
    from headworks_sim.fluid.timing import Timing

PERCENT_SECOND = 10.0
"""Milliseconds of a core in a percent-second, the unit of costs of tuples."""
MILLISECONDS = 1000.0
"""Milliseconds of a second."""

Moments = tuple[float, float]
"""Mean and variance, in milliseconds."""


def task_stays(
    layout: Layout, service: Floats, cpu: Floats, node_cpu: Floats, node_of: Ints, variation: float
) -> tuple[Floats, Floats]:
    """Mean and variance of the milliseconds that a tuple stays in each task, float64 (n,).

    Args:
        layout: The constants.
        service: float64 (n,), milliseconds of a core for a tuple.
        cpu: float64 (n,), points of each task.
        node_cpu: float64 (m,), points of each node.
        node_of: int64 (n,), node of each task, -1 where it does not run.
        variation: Squared coefficient of variation of service times.
    """
    m, there = layout.problem.m, node_of >= 0
    load, cores, threads = cpu / CORE, layout.capacity / CORE, layout.problem.thread_points / CORE
    longer, chance = stretch(load, threads)
    # Tuples that would be on each node with a core for each thread; what it does for its network is no thread's.
    inside = summed(node_of[there], (load * (longer - 1.0))[there], m) + node_cpu / CORE
    working = there & (load > 0)
    count = summed(node_of[working], threads[working], m)
    crowd = np.ones(m + 1)  # the last one is of tasks that do not run
    for node in np.flatnonzero(count > cores).tolist():
        crowd[node] = crowding(float(node_cpu[node]) / CORE, *map(float, (inside[node], count[node], cores[node])))
    part = np.append(np.clip(cores, 1e-9, 1.0), 1.0)[node_of]  # of a core, on a node that has less than one
    return stays(service / part, np.maximum(longer * crowd[node_of] * part, 1.0), chance, variation)


def passage(share: Share, used: Floats, bandwidth: Floats, timing: Timing) -> Moments:
    """Way of a tuple of a topology from one node to another: out of the one's network, and into the other's.

    Args:
        share: Of the topology.
        used: float64 (2, m), bytes/s of all topologies that leave each node, and that come to it.
        bandwidth: float64 (m,), bytes/s that each can be.
        timing: Milliseconds beside it, and the bytes that pass at full speed after a pause.
    """
    far, spread = timing.hop, 0.0
    for octets, busy in zip(share.network, used, strict=True):
        if not (whole := float(octets.sum())):
            continue
        known = np.isfinite(bandwidth) & (octets > 0)
        limit = bandwidth[known]
        sending = MILLISECONDS * whole / share.inter_node / limit
        # Sizes hardly vary within a stream, so service times are constant.
        mean, variance = stays(sending, *stretch(busy[known] / limit, np.ones(len(limit))), 0.0)
        full = np.exp(-MILLISECONDS * timing.bucket / limit / mean)  # the chance that a token bucket is empty
        weight = octets[known] / whole
        far += float(weight @ (mean * full))
        spread += float(weight @ (variance * full))
    return far, spread


def longest(graph: TopologyGraph, share: Share, stay: tuple[Floats, Floats], far: Moments, wake: float) -> Moments:
    """The longest path over the components in order, each with the stay of a tuple in its tasks.

    A tuple is completed when the last of those is that follow from it: of n exponential times that is the n-th harmonic
    number of means, so that much of a standard deviation is added to the mean.

    Args:
        graph: The topology.
        share: Its rates, and the part of each stream between nodes.
        stay: Mean and variance of the milliseconds in each task, float64 (n,).
        far: Those between nodes.
        wake: Milliseconds until a task takes what comes to its queue.
    """
    work = share.current.work
    totals = [float(work[first:last].sum()) for first, last in graph.ranges]
    # Of measured rates it is not known on which stream they are, nor how many tuples follow from one.
    streams = list(zip(graph.links, share.current.links or (0.0,) * len(graph.links), share.apart, strict=True))
    many, (ready, spread, branch) = np.ones(len(totals)), np.zeros((3, len(totals)))
    for component in graph.order:
        if total := totals[component]:
            mean, variance = _mean(work, stay, slice(*graph.ranges[component]), total)
            ready[component] += mean
            spread[component] += variance
            branch[component] += variance if many[component] > 1.0 else 0.0
        for link, rate, apart in streams:
            then = ready[component] + wake + apart * far[0]
            if link.source == component and link.rate is None and then > ready[link.target]:
                variance = wake**2 + apart * (far[1] + (1.0 - apart) * far[0] ** 2)
                tasks = np.diff(graph.ranges[link.target])[0] if link.grouping == "all" else 1
                many[link.target] = max(many[component] * tasks * rate / (total or 1.0), 1.0)
                ready[link.target], spread[link.target] = then, spread[component] + variance
                branch[link.target] = branch[component] + variance if many[link.target] > 1.0 else 0.0
    if not totals:
        return 0.0, 0.0
    harmonic = np.log(many) + np.euler_gamma + 0.5 / many - 1.0 / (12.0 * many**2)
    done = ready + np.maximum(harmonic - 1.0, 0.0) * np.sqrt(branch)
    last = int(done.argmax())
    return float(done[last]), float(spread[last])


def _mean(work: Floats, stay: tuple[Floats, Floats], tasks: slice, total: float) -> Moments:
    """Mean and variance of the stay of a tuple in one of the tasks."""
    mean = float(stay[0][tasks] @ work[tasks]) / total
    return mean, float((stay[1][tasks] + (stay[0][tasks] - mean) ** 2) @ work[tasks]) / total
