"""Steady state in closed form: CPU with fixed overhead, saturation, and the rate that back-pressure settles at.

CPU of a task grows linearly with its rate: `e * rate + met` (heterogeneity paper, Eq. 5) where its component has a
profile for the machine type, else its demand scaled from its nominal rate. A topology runs at a factor of its nominal
load, the same for all its spouts, as back-pressure makes it. Topologies that share a saturated node get equal factors
(max-min fair). So do those that share the network of a node: what comes to it from others and what leaves it are two
more capacities, of bytes. A task has the capacity of its threads, a core each.
For one topology the factor is `min over nodes of (capacity - fixed) / slope`, likewise over tasks, and of
`bandwidth / bytes` each way.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import TransferCost
from headworks.model.topology import TUPLE_BYTES
from headworks_sim.fluid.layout import Floats, Ints, summed
from headworks_sim.fluid.streams import Current, flow_through, pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks_sim.fluid.layout import Layout, TopologyGraph

CROWDED = 0.95
"""Above this use of its node a task's waiting time grows no further: what has to wait, waits at the source."""
REMEMBERED = 256
"""Placements of a topology that are remembered."""
PERCENT_SECOND = 10.0
"""Milliseconds of a core in a percent-second, the unit of costs of tuples."""


@attrs.frozen(eq=False, kw_only=True)
class Share:
    """The share of one topology in the load, as it is placed now, at its nominal rates; n tasks of its own.

    Attributes:
        current: Rates of tasks and streams.
        slope: float64 (n,), CPU points of each task at a factor of 1, above `fixed`, with what it sends to other nodes.
        fixed: float64 (n,), CPU points of each task whatever the factor.
        most: Factor at which the threads of a task are full, inf where no rate costs any of them anything.
        delivered: Part of the tuples that reach the sinks, of those that would if every task ran.
        traffic: Tuples/s between different tasks.
        inter_node: Tuples/s between tasks on different nodes.
        arriving: float64 (m,), CPU points of each node for what comes to it from others, at a factor of 1.
        network: float64 (2, m), bytes/s that leave each node for others, and that come to it; none where no node has a
            bandwidth.
    """

    current: Current
    slope: Floats
    fixed: Floats
    most: float
    delivered: float
    traffic: float
    inter_node: float
    arriving: Floats
    network: Floats


@attrs.frozen(eq=False, kw_only=True)
class Steady:
    """The steady state of all topologies; n tasks, m nodes, t topologies.

    Attributes:
        factor: float64 (t,), multiple of its nominal load at which each topology runs.
        limit: float64 (t,), the multiple that its nodes would allow beside the others, and the threads of its tasks
            (inf without CPU demand).
        cpu: float64 (n,), points. node_cpu: float64 (m,), points.
        throughput: float64 (t,), tuples/s completed. latency: float64 (t,), milliseconds inside the topology.
        shares: One a topology.
        node_of, worker: int64 (n,), node and worker process of each task, -1 where it does not run.
    """

    factor: Floats
    limit: Floats
    cpu: Floats
    node_cpu: Floats
    throughput: Floats
    latency: Floats
    shares: tuple[Share, ...]
    node_of: Ints
    worker: Ints

    @property
    def there(self) -> NDArray[np.bool_]:
        """Mask of the tasks that run, shape (n,)."""
        return self.worker >= 0

    @property
    def inter_node(self) -> float:
        """Part of the tuples between tasks that cross nodes."""
        total = sum(f * each.traffic for f, each in zip(self.factor, self.shares, strict=True))
        across = sum(f * each.inter_node for f, each in zip(self.factor, self.shares, strict=True))
        return float(across / total) if total else 0.0


class Model:
    """The model of steady states of one layout; it remembers the shares of placements of single topologies."""

    def __init__(self, layout: Layout, hop: float = 0.5) -> None:
        """Compute the nominal rates, with every task running.

        Args:
            layout: The constants.
            hop: Milliseconds that a tuple needs from node to node.
        """
        self.layout = layout
        self.hop = hop
        self._bounded = bool(np.isfinite(layout.bandwidth).any() and layout.topologies)
        self._nominal = [flow_through(each, np.arange(each.size, dtype=np.int64)) for each in layout.topologies]
        self._share = lru_cache(maxsize=REMEMBERED * max(len(layout.topologies), 1))(self._compute)

    def steady(self, node_of: Ints, worker: Ints, demand: Floats) -> Steady:
        """Compute the steady state of a placement.

        Args:
            node_of: int64 (n,), node of each task, -1 where it does not run.
            worker: int64 (n,), number of its worker process, -1 where it does not run.
            demand: float64 (t,), multiple of the nominal load that each topology would like to run at, inf if it
                has a backlog.
        """
        layout, problem = self.layout, self.layout.problem
        shares = tuple(
            self._share(number, node_of[each.start : each.stop].tobytes(), worker[each.start : each.stop].tobytes())
            for number, each in enumerate(layout.topologies)
        )
        slope = np.concatenate([each.slope for each in shares]) if shares else np.zeros(0)
        fixed = np.concatenate([each.fixed for each in shares]) if shares else np.zeros(0)
        there = node_of >= 0
        # CPU of node j is base_j + sum of factor_i * steep_ij over topologies i (Eq. 5, summed over the tasks of j).
        steep = np.zeros((len(shares), problem.m))
        np.add.at(steep, (problem.topology[there], node_of[there]), slope[there])
        arriving = np.array([each.arriving for each in shares]).reshape(len(shares), problem.m)
        steep += arriving
        base = summed(node_of[there], fixed[there], problem.m)
        runs = np.bincount(problem.topology[there], minlength=len(shares)) > 0
        free = layout.capacity - base
        if self._bounded:
            steep = np.hstack([steep, *(np.array([each.network[way] for each in shares]) for way in (0, 1))])
            free = np.concatenate([free, layout.bandwidth, layout.bandwidth])
        most = np.array([each.most for each in shares], dtype=np.float64)
        factor, limit = fill(steep, free, np.where(runs, np.minimum(demand, most), 0.0))
        cpu = np.where(there, slope * factor[problem.topology] + fixed, 0.0)
        node_cpu = summed(node_of[there], cpu[there], problem.m) + factor @ arriving
        entering = np.array([each.throughput for each in layout.topologies])
        done = factor * entering * np.array([each.delivered for each in shares])
        latency = [self._latency(number, share, node_of, node_cpu) for number, share in enumerate(shares)]
        return Steady(
            factor=factor,
            limit=np.minimum(limit, most),
            cpu=cpu,
            node_cpu=node_cpu,
            throughput=done,
            latency=np.array(latency, dtype=np.float64),
            shares=shares,
            node_of=node_of.copy(),
            worker=worker.copy(),
        )

    def _compute(self, number: int, nodes: bytes, workers: bytes) -> Share:
        graph, layout = self.layout.topologies[number], self.layout
        node_of, worker = np.frombuffer(nodes, dtype=np.int64), np.frombuffer(workers, dtype=np.int64)
        current = flow_through(graph, worker)
        slope, fixed = _cost(layout, graph, current, self._nominal[number], node_of)
        sending, arriving = _transfer(layout, graph, current, node_of, worker)
        slope = slope + sending
        room = np.maximum(layout.problem.thread_points[graph.start : graph.stop] - fixed, 0.0)
        works = slope > 0
        traffic, inter = _crossing(graph, current, node_of, worker)
        return Share(
            current=current,
            slope=slope,
            fixed=fixed,
            most=float((room[works] / slope[works]).min(initial=np.inf)),
            delivered=_delivered(graph, current, self._nominal[number]),
            traffic=traffic,
            inter_node=inter,
            arriving=arriving,
            network=_network(graph, current, node_of, worker, layout.problem.m) if self._bounded else np.zeros((2, 0)),
        )

    def _latency(self, number: int, share: Share, node_of: Ints, node_cpu: Floats) -> float:
        """Milliseconds on the longest path: service time stretched by the load of the node, and hops between nodes."""
        graph, capacity = self.layout.topologies[number], self.layout.capacity
        own = node_of[graph.start : graph.stop]
        busy = node_cpu[own] / np.maximum(capacity[own], 1e-9) if len(capacity) else np.ones(len(own))
        work = share.current.work
        cost = np.divide(share.slope, work, out=np.zeros_like(work), where=(work > 0) & (own >= 0))
        # Response time of a queue whose server is shared by its jobs: service / (1 - load) (M/G/1, processor sharing).
        stay = cost * PERCENT_SECOND / (1.0 - np.minimum(busy, CROWDED))
        hop = self.hop * (share.inter_node / share.traffic if share.traffic else 0.0)
        # Longest path over the components in order, each with the mean stay of a tuple in its tasks.
        ready = np.zeros(len(graph.ranges))
        for component in graph.order:
            first, last = graph.ranges[component]
            total = work[first:last].sum()
            ready[component] += float((stay[first:last] * work[first:last]).sum() / total) if total else 0.0
            for link in graph.links:
                if link.source == component and link.rate is None:
                    ready[link.target] = max(ready[link.target], ready[component] + hop)
        return float(ready.max(initial=0.0))


def fill(steep: Floats, free: Floats, demand: Floats) -> tuple[Floats, Floats]:
    """Raise all topologies together until each has what it asks for or one of its nodes is full.

    Progressive filling, which gives the max-min fair factors (Bertsekas and Gallager, Data Networks, section 6.5.2).

    Args:
        steep: float64 (t, m), CPU points that each topology takes on each node at a factor of 1.
        free: float64 (m,), points that no fixed cost takes.
        demand: float64 (t,), factor that each asks for; who asks for inf and takes nothing anywhere gets 1.

    Returns:
        The factor of each topology, and the factor at which a node of it would be full, both float64 (t,).
    """
    factor, limit = np.zeros(len(demand)), np.full(len(demand), np.inf)
    left, open_ = free.astype(np.float64), demand > 0
    # Each turn raises the open topologies to the first level at which a node is full or a demand is met, and closes
    # those that it is the end for: at most t turns.
    while open_.any():
        rise = steep[open_].sum(axis=0)
        level = np.full(len(left), np.inf)
        np.divide(left, rise, out=level, where=rise > 0)
        level = np.maximum(level, 0.0)
        top = min(float(level.min(initial=np.inf)), float(demand[open_].min()))
        full = (steep[:, level <= top * (1 + 1e-12)] > 0).any(axis=1)  # nodes that fill at once may differ by rounding
        done = open_ & (full | (demand <= top))
        limit[open_ & full] = top
        factor[done] = np.minimum(top, demand[done]) if np.isfinite(top) else 1.0
        left -= factor[done] @ steep[done]
        open_ &= ~done
    # The limit of a topology that has what it asks for: what is left on its nodes, and what it takes there itself.
    spare = left[None, :] + steep * factor[:, None]
    alone = np.divide(spare, steep, out=np.full_like(steep, np.inf), where=steep > 0).min(axis=1, initial=np.inf)
    return factor, np.where(np.isfinite(limit), limit, np.maximum(alone, 0.0))


def _cost(
    layout: Layout, graph: TopologyGraph, current: Current, nominal: Current, node_of: Ints
) -> tuple[Floats, Floats]:
    """CPU points of each task of a topology: at a factor of 1, and whatever the factor."""
    own = slice(graph.start, graph.stop)
    there = node_of >= 0
    demand, most = layout.problem.wanted[own] * there, layout.problem.thread_points[own]
    # Without a profile: the demand at the nominal rate, scaled by the rate; a task without a rate takes it as it is.
    scale = np.divide(current.work, nominal.work, out=np.zeros_like(demand), where=nominal.work > 0)
    slope, fixed = demand * scale, np.where(nominal.work > 0, 0.0, np.minimum(demand, most))
    if not len(layout.capacity):
        return slope, fixed
    kind = layout.machine[node_of]
    e, met = (table[layout.problem.component[own], kind] for table in (layout.e, layout.met))
    known = there & ~np.isnan(e)
    percent = layout.capacity[node_of] / 100.0  # profiles count percent of the machine, demands CPU points
    slope = np.where(known, np.nan_to_num(e) * current.work * percent, slope)
    return slope, np.where(known, np.minimum(met * percent, most), fixed)


def _transfer(
    layout: Layout, graph: TopologyGraph, current: Current, node_of: Ints, worker: Ints
) -> tuple[Floats, Floats]:
    """CPU points of what each task sends to other nodes, float64 (n,), and of what comes to each node, float64 (m,)."""
    cost, m = layout.problem.request.transfer, layout.problem.m
    if cost == TransferCost():
        return np.zeros(graph.size), np.zeros(m)
    senders, receivers, rates, _ = pairs(graph, current, worker)
    away = node_of[senders] != node_of[receivers]
    come = summed(node_of[receivers[away]], rates[away], m)
    return cost.send * summed(senders[away], rates[away], graph.size), cost.receive * come


def _delivered(graph: TopologyGraph, current: Current, nominal: Current) -> float:
    """Part of the tuples that reach the sinks, of those that would if every task ran."""
    sinks = np.ones(graph.size, dtype=bool)
    if graph.flows is not None:
        sinks[graph.flows[0]] = False
    else:
        for link in graph.links:
            sinks[slice(*graph.ranges[link.source])] = False
    if not sinks.any():  # a cycle: every task stands for the others
        sinks[:] = True
    whole = float(nominal.work[sinks].sum())
    return float(current.work[sinks].sum()) / whole if whole else 0.0


def _crossing(graph: TopologyGraph, current: Current, node_of: Ints, worker: Ints) -> tuple[float, float]:
    """Tuples/s between different tasks, and between those on different nodes."""
    if graph.flows is not None or any(link.grouping == "local-or-shuffle" for link in graph.links):
        senders, receivers, rates, _ = pairs(graph, current, worker)
        return float(rates.sum()), float(rates[node_of[senders] != node_of[receivers]].sum())
    total = inter = 0.0
    # A stream spreads evenly over pairs of tasks, so numbers of tasks by node suffice, and no pair is listed.
    for link, rate in zip(graph.links, current.links, strict=True):
        (a0, a1), (b0, b1) = graph.ranges[link.source], graph.ranges[link.target]
        stop = b1 if link.grouping != "global" else min(b0 + 1, b1)
        here, there = _count(node_of[a0:a1]), _count(node_of[b0:stop])
        copies = stop - b0 if link.grouping == "all" else 1
        pair = rate * copies / max(sum(here.values()) * (stop - b0), 1)
        # Tasks that send to themselves, where a component is its own target: their tuples go to no other task.
        itself = int((node_of[max(a0, b0) : max(min(a1, stop), max(a0, b0))] >= 0).sum())
        every = sum(here.values()) * sum(there.values())
        near = sum(count * there.get(node, 0) for node, count in here.items())
        total += pair * (every - itself)
        inter += pair * (every - near)
    return total, inter


def _network(graph: TopologyGraph, current: Current, node_of: Ints, worker: Ints, m: int) -> Floats:
    """Bytes/s from each of m nodes to others, and from others to it, shape (2, m)."""
    senders, receivers, rates, sizes = pairs(graph, current, worker)
    octets = np.where(np.isnan(sizes), rates * TUPLE_BYTES, sizes)
    apart = node_of[senders] != node_of[receivers]
    return np.stack([summed(node_of[ends][apart], octets[apart], m) for ends in (senders, receivers)])


def _count(node_of: Ints) -> dict[int, int]:
    """Number of running tasks by node."""
    nodes, count = np.unique(node_of[node_of >= 0], return_counts=True)
    return dict(zip(nodes.tolist(), count.tolist(), strict=True))
