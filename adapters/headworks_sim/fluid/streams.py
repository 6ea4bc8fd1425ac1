"""Rates of tuples through a topology, from its spouts to each task, with any of its tasks missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks_sim.fluid.layout import Bools, Floats, Ints, summed

if TYPE_CHECKING:
    from headworks_sim.fluid.layout import StreamLink, TopologyGraph

Pairs = tuple[Ints, Ints, Floats, Floats]
"""Senders, receivers, tuples/s and bytes/s (nan where unknown); tasks are counted from the topology's first."""


@attrs.frozen(eq=False, kw_only=True)
class Current:
    """Rates of a topology of n tasks at its nominal load, with the tasks that run now; tuples/s.

    Attributes:
        received: float64 (n,), tuples that each task executes.
        emitted: float64 (n,), tuples that each task emits on one of its streams.
        work: float64 (n,), the rate that costs CPU: received tuples of a bolt, emitted ones of a spout.
        links: Rate of each stream of the topology; none where rates were measured.
    """

    received: Floats
    emitted: Floats
    work: Floats
    links: tuple[float, ...] = ()


def flow_through(graph: TopologyGraph, worker: Ints) -> Current:
    """Carry tuples from the spouts to the sinks.

    Rates follow the core's reading of streams: `copy` and `split`, selectivity, `all` (each task gets every tuple),
    `global` (the lowest task gets all), `local-or-shuffle` (tasks of the sender's worker where there are any), all
    else spread evenly over the tasks of the target. Tuples for a task that is missing are lost.

    Args:
        graph: The topology.
        worker: int64 (n,), number of the worker process in which each task runs, -1 where it does not run.

    Returns:
        Rates of tasks and streams.
    """
    if graph.flows is not None:
        return _measured(graph, worker)
    runs = worker >= 0
    received, emitted = np.zeros(graph.size), np.zeros(graph.size)
    rates = [0.0 if link.rate is None else link.rate for link in graph.links]
    taken = np.zeros(len(graph.ranges))
    # Streams with a rate of their own first: they follow from nothing else, and may close a cycle.
    for number, link in enumerate(graph.links):
        if link.rate is not None:
            rates[number] *= _alive(graph, link.source, runs)
            _pour(graph, link, rates[number], worker, received, taken)
    for component in graph.order:
        output = _output(graph, component, float(taken[component]), runs)
        first, last = graph.ranges[component]
        running = int(runs[first:last].sum())
        if running:
            emitted[first:last] = output / running
        for number, link in enumerate(graph.links):
            if link.source == component and link.rate is None:
                rates[number] = output * link.weight
                _pour(graph, link, rates[number], worker, received, taken)
    received *= runs
    emitted *= runs
    return Current(received=received, emitted=emitted, work=_work(graph, received, emitted), links=tuple(rates))


def pairs(graph: TopologyGraph, current: Current, worker: Ints) -> Pairs:
    """List the traffic of each pair of tasks; see `Pairs`. A pair has an entry for each of its streams.

    Args:
        graph: The topology.
        current: Its rates.
        worker: int64 (n,), number of the worker process in which each task runs, -1 where it does not run.
    """
    runs = worker >= 0
    if graph.flows is not None:
        sources, targets, rates, sizes = graph.flows
        there = runs[sources] & runs[targets]
        return sources[there], targets[there], rates[there], sizes[there]
    found = [pairs_of(graph, *each, worker) for each in zip(graph.links, current.links, strict=True)]
    if not found:
        none = np.zeros(0, dtype=np.int64)
        return none, none, np.zeros(0), np.zeros(0)
    senders, receivers, rates, sizes = (np.concatenate(column) for column in zip(*found, strict=True))
    keep = (senders != receivers) & (rates > 0)
    return senders[keep], receivers[keep], rates[keep], sizes[keep]


def pairs_of(graph: TopologyGraph, link: StreamLink, rate: float, worker: Ints) -> Pairs:
    """List the traffic of each pair of tasks of one stream, those that exchange nothing too; see `Pairs`.

    Args:
        graph: The topology.
        link: The stream.
        rate: Its tuples/s.
        worker: int64 (n,), number of the worker process in which each task runs, -1 where it does not run.
    """
    (a0, a1), (b0, b1) = graph.ranges[link.source], graph.ranges[link.target]
    senders = np.flatnonzero(worker[a0:a1] >= 0) + a0
    weight = _shares(link, worker[senders], worker[b0:b1]) * (worker[b0:b1] >= 0)
    rates = weight * (rate / max(len(senders), 1))
    size = np.nan if link.tuple_bytes is None else link.tuple_bytes
    receivers = np.tile(np.arange(b0, b1, dtype=np.int64), len(senders))
    return np.repeat(senders, b1 - b0), receivers, rates.ravel(), rates.ravel() * size


def _shares(link: StreamLink, senders: Ints, targets: Ints) -> Floats:
    """Part of a sender's tuples that each target task gets, shape (senders, targets); given are their workers.

    A task that does not run has its part too: Storm's groupings choose among all tasks, and those tuples are lost.
    """
    n = len(targets)
    even = np.full((len(senders), n), 1.0 if link.grouping == "all" else 1.0 / max(n, 1))
    if link.grouping == "global":
        even[:] = 0.0
        even[:, :1] = 1.0
    if link.grouping == "local-or-shuffle":
        # Tasks in the sender's own worker process share its tuples; where there are none, all tasks do.
        near = (senders[:, None] == targets[None, :]).astype(np.float64)
        count = near.sum(axis=1, keepdims=True)
        return np.where(count > 0, near / np.maximum(count, 1.0), even)
    return even


def _pour(graph: TopologyGraph, link: StreamLink, rate: float, worker: Ints, received: Floats, taken: Floats) -> None:
    """Add a stream to what its target's tasks receive, and to what the target takes in all."""
    (a0, a1), (b0, b1) = graph.ranges[link.source], graph.ranges[link.target]
    n = b1 - b0
    if not n:
        return
    targets = worker[b0:b1]
    if link.grouping == "local-or-shuffle":
        senders = worker[a0:a1][worker[a0:a1] >= 0]
        share = _shares(link, senders, targets).sum(axis=0) / max(len(senders), 1)
    else:
        share = _shares(link, np.zeros(1, dtype=np.int64), targets)[0]
    received[b0:b1] += rate * share
    # A tuple that every task gets is n tuples for the tasks and one for the component, whose output follows from it.
    copies = n if link.grouping == "all" else 1
    taken[link.target] += rate * float(share[targets >= 0].sum()) / copies


def _alive(graph: TopologyGraph, component: int, runs: Bools) -> float:
    """Part of a component's tasks that run."""
    first, last = graph.ranges[component]
    return float(runs[first:last].mean()) if last > first else 0.0


def _output(graph: TopologyGraph, component: int, taken: float, runs: Bools) -> float:
    emission = float(graph.emission[component])
    if np.isnan(emission):
        return taken * float(graph.selectivity[component])
    return emission * _alive(graph, component, runs)


def _work(graph: TopologyGraph, received: Floats, emitted: Floats) -> Floats:
    work = received.copy()
    for (first, last), emission in zip(graph.ranges, graph.emission, strict=True):
        if not np.isnan(emission):
            work[first:last] = emitted[first:last]
    return work


def _measured(graph: TopologyGraph, worker: Ints) -> Current:
    """Measured rates between pairs of tasks that both run: nothing is known of how a missing task changes others."""
    assert graph.flows is not None
    sources, targets, rates, _ = graph.flows
    runs = worker >= 0
    there = rates * (runs[sources] & runs[targets])
    received = summed(targets, there, graph.size)
    emitted = summed(sources, there, graph.size)
    return Current(received=received, emitted=emitted, work=np.where(received > 0, received, emitted))
