"""Steady state in closed form: CPU with fixed overhead, saturation, and the rate that back-pressure settles at.

CPU of a task grows linearly with its rate: `e * rate + met` (heterogeneity paper, Eq. 5) where its component has a
profile for the machine type, else its demand scaled from its nominal rate. A topology runs at a factor of its nominal
load, the same for all its spouts, as back-pressure makes it. Topologies that share a saturated node get equal factors
(max-min fair). So do those that share the network of a node: what comes to it from others and what leaves it are two
more capacities, of bytes. A task has the capacity of its threads, a core each.
For one topology the factor is `min over nodes of (capacity - fixed) / slope`, likewise over tasks, and of
`bandwidth / bytes` each way. A topology that works in batches completes no more than its batches do.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import TransferCost
from headworks.model.topology import TUPLE_BYTES
from headworks_sim.fluid.batches import batch_seconds
from headworks_sim.fluid.latency import MILLISECONDS, PERCENT_SECOND, longest, passage, task_stays
from headworks_sim.fluid.layout import Floats, Ints, summed
from headworks_sim.fluid.streams import Current, flow_through, pairs, pairs_of
from headworks_sim.fluid.timing import Timing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks_sim.fluid.layout import Layout, StreamLink, TopologyGraph

REMEMBERED = 256
"""Placements of a topology that are remembered."""
BACKLOG = 1e6
"""Multiple of its nominal tuples that a batch holds where nothing bounds them."""


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
        apart: Part of each stream that is between nodes.
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
    apart: tuple[float, ...]
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
        throughput: float64 (t,), tuples/s completed. latency: float64 (t,), mean milliseconds inside the topology.
        spread: float64 (t,), variance of these milliseconds.
        shares: One a topology.
        node_of, worker: int64 (n,), node and worker process of each task, -1 where it does not run.
    """

    factor: Floats
    limit: Floats
    cpu: Floats
    node_cpu: Floats
    throughput: Floats
    latency: Floats
    spread: Floats
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
    """The model of steady states of one layout; it remembers the shares of placements of single topologies.

    Attributes:
        under_way: float64 (t,), tuples that each topology has under way at most.
    """

    def __init__(self, layout: Layout, timing: Timing | None = None) -> None:
        """Compute the nominal rates, with every task running.

        Args:
            layout: The constants.
            timing: Times of tuples and batches on their way, and what networks carry.
        """
        self.layout = layout
        self.timing = timing or Timing()
        tasks = [int(np.diff(each.ranges[~np.isnan(each.emission)]).sum()) for each in layout.topologies]
        self.under_way = np.array([self.timing.pending * spouts if spouts else np.inf for spouts in tasks], np.float64)
        self._bandwidth = layout.bandwidth * self.timing.goodput
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
            free = np.concatenate([free, self._bandwidth, self._bandwidth])
        batches = self._batches(node_of, demand)
        most = np.array([each.most for each in shares], dtype=np.float64)
        for topology, (most_of_batch, _) in batches.items():
            most[topology] = min(most[topology], most_of_batch)
        factor, limit = fill(steep, free, np.where(runs, np.minimum(demand, most), 0.0))
        cpu = np.where(there, slope * factor[problem.topology] + fixed, 0.0)
        node_cpu = summed(node_of[there], cpu[there], problem.m) + factor @ arriving
        entering = np.array([each.throughput for each in layout.topologies])
        done = factor * entering * np.array([each.delivered for each in shares])
        latency, spread = self._latency(shares, factor, cpu, node_cpu, node_of)
        for topology, (_, seconds) in batches.items():
            latency[topology], spread[topology] = MILLISECONDS * seconds, 0.0
        return Steady(
            factor=factor,
            limit=np.minimum(limit, most),
            cpu=cpu,
            node_cpu=node_cpu,
            throughput=done,
            latency=latency,
            spread=spread,
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
        crossing = _crossing(graph, current, node_of, worker)
        traffic, inter = crossing.sum(axis=0).tolist()
        apart = np.divide(crossing[:, 1], crossing[:, 0], out=np.zeros(len(crossing)), where=crossing[:, 0] > 0)
        return Share(
            current=current,
            slope=slope,
            fixed=fixed,
            most=float((room[works] / slope[works]).min(initial=np.inf)),
            delivered=_delivered(graph, current, self._nominal[number]),
            traffic=traffic,
            inter_node=inter,
            # Of measured rates it is not known on which stream they are.
            apart=tuple(apart.tolist()) if graph.flows is None else tuple(apart.tolist()) * len(graph.links),
            arriving=arriving,
            network=_network(graph, current, node_of, worker, layout.problem.m) if self._bounded else np.zeros((2, 0)),
        )

    def _batches(self, node_of: Ints, demand: Floats) -> dict[int, tuple[float, float]]:
        """Of each topology that works in batches: its highest factor, and the seconds of a batch."""
        found = {}
        for batch in self.layout.problem.batches:
            load = min(float(demand[batch.topology]), BACKLOG)
            seconds = batch_seconds(batch, node_of, load, self.timing)
            found[batch.topology] = load * batch.interval / max(seconds, 1e-9), seconds
        return found

    def _latency(
        self, shares: tuple[Share, ...], factor: Floats, cpu: Floats, node_cpu: Floats, node_of: Ints
    ) -> tuple[Floats, Floats]:
        """Mean and variance of the milliseconds inside each topology, float64 (t,)."""
        found = np.zeros((2, len(shares)))
        if not shares:
            return found[0], found[1]
        work, slope = (np.concatenate(part) for part in zip(*((s.current.work, s.slope) for s in shares), strict=True))
        cost = np.divide(slope, work, out=np.zeros_like(work), where=(work > 0) & (node_of >= 0))
        layout, variation = self.layout, self.timing.variation
        stay = task_stays(layout, cost * PERCENT_SECOND, cpu, node_cpu, node_of, variation)
        used = sum((f * each.network for f, each in zip(factor, shares, strict=True)), np.zeros_like(shares[0].network))
        for number, (graph, share) in enumerate(zip(layout.topologies, shares, strict=True)):
            own = slice(graph.start, graph.stop)
            far = passage(share, used, self._bandwidth, self.timing)
            found[:, number] = longest(graph, share, (stay[0][own], stay[1][own]), far, self.timing.wake)
        return found[0], found[1]


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


def _crossing(graph: TopologyGraph, current: Current, node_of: Ints, worker: Ints) -> Floats:
    """Tuples/s between different tasks, and between those on different nodes, of each stream: float64 (streams, 2).

    Where rates were measured there is one row, of all of them.
    """
    if graph.flows is not None:
        senders, receivers, rates, _ = pairs(graph, current, worker)
        return np.array([[rates.sum(), rates[node_of[senders] != node_of[receivers]].sum()]])
    found = [_across(graph, *each, node_of, worker) for each in zip(graph.links, current.links, strict=True)]
    return np.array(found, dtype=np.float64).reshape(-1, 2)


def _across(graph: TopologyGraph, link: StreamLink, rate: float, node_of: Ints, worker: Ints) -> tuple[float, float]:
    if link.grouping == "local-or-shuffle":
        senders, receivers, rates, _ = pairs_of(graph, link, rate, worker)
        return float(rates[senders != receivers].sum()), float(rates[node_of[senders] != node_of[receivers]].sum())
    # A stream spreads evenly over pairs of tasks, so numbers of tasks by node suffice, and no pair is listed.
    (a0, a1), (b0, b1) = graph.ranges[link.source], graph.ranges[link.target]
    stop = b1 if link.grouping != "global" else min(b0 + 1, b1)
    here, there = _count(node_of[a0:a1]), _count(node_of[b0:stop])
    copies = stop - b0 if link.grouping == "all" else 1
    pair = rate * copies / max(sum(here.values()) * (stop - b0), 1)
    # Tasks that send to themselves, where a component is its own target: their tuples go to no other task.
    itself = int((node_of[max(a0, b0) : max(min(a1, stop), max(a0, b0))] >= 0).sum())
    every = sum(here.values()) * sum(there.values())
    near = sum(count * there.get(node, 0) for node, count in here.items())
    return pair * (every - itself), pair * (every - near)


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
