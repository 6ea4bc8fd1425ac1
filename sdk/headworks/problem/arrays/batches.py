"""Micro-batches: stages of a topology one after another, each as long as its slowest node.

A node runs the tasks of a stage in waves over its cores (list scheduling in order of the tasks, Graham 1966), and first
fetches what they read from other nodes, as fast as both send and take in.
"""

from __future__ import annotations

import heapq
from functools import cached_property
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.model.rates import depths
from headworks.model.topology import CORE
from headworks.problem.arrays.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headworks.model import Topology
    from headworks.problem.arrays.arrays import Arrays

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LEAST = 0.05
"""Part of a core's time that a batch gets at least, however busy other topologies keep it."""
MEGABYTE = 1e6
"""Bytes of a megabyte of state."""


@attrs.frozen(eq=False, kw_only=True)
class Batch:
    """The micro-batch of one sequential topology on m nodes.

    Attributes:
        topology: Index of the topology.
        interval: Seconds from one batch to the next, whose tuples a batch holds; 1 if that was not measured.
        stages: Tasks of each stage, in order; components that wait for the same ones run side by side, as one stage.
        cores: int64 (m,), tasks that each node runs at once.
        speed: float64 (m,), CPU seconds that a core of each node gets done in a second: 1 where that is not known, and
            less on a node that has a part of a core.
        bandwidth: float64 (m,), bytes/s that each node takes in, and sends, inf where that is not known.
        demand: float64 (n,), CPU points of each task on each core that it has, measured where that was done. A task has
            as many cores as the component with most threads.
        state: float64 (n,), bytes of state of each task.
        current: int64 (n,), node on which each task runs, -1 if it does not.
        traffic: Traffic between the tasks.
    """

    topology: int
    interval: float
    stages: tuple[Ints, ...]
    cores: Ints
    speed: Floats
    bandwidth: Floats
    demand: Floats
    state: Floats
    current: Ints
    traffic: Traffic

    @cached_property
    def work(self) -> list[float]:
        """CPU seconds of each task in a batch, by index of the task."""
        seconds: list[float] = (self.demand / CORE * self.interval).tolist()
        return seconds

    def seconds(self, node_of: Ints) -> float:
        """Duration of a batch: the sum over stages of the slowest node.

        Args:
            node_of: Node index of each task, int64 (n,); tasks of the topology without one take no time.
        """
        return float(sum(self.of_stage(stage, node_of).max(initial=0.0) for stage in range(len(self.stages))))

    def of_stage(self, stage: int, node_of: Ints) -> Floats:
        """Seconds for which each node is busy with a stage, float64 (m,)."""
        return self.fetch(stage, node_of) + self.run(stage, node_of)

    def run(self, stage: int, node_of: Ints) -> Floats:
        """Seconds in which each node runs the tasks of a stage, float64 (m,)."""
        found, on = np.zeros(len(self.cores)), dict[int, list[int]]()
        tasks = self.stages[stage]
        for task, node in zip(tasks.tolist(), node_of[tasks].tolist(), strict=True):
            if node >= 0:
                on.setdefault(node, []).append(task)
        for node, own in on.items():
            found[node] = self.waves(own, node)
        return found

    def beside(self, node_of: Ints) -> Batch:
        """The batch on the part of cores and links that the tasks of all other topologies leave it, as a mean.

        A task that fetches keeps its core, so others' fetching takes from the cores as their work does.

        Args:
            node_of: Node index of each task, int64 (n,), those of all topologies.
        """
        others = node_of >= 0
        for tasks in self.stages:
            others[tasks] = False
        if not others.any():
            return self
        used = np.bincount(node_of[others], weights=self.demand[others], minlength=len(self.cores))
        with np.errstate(invalid="ignore", divide="ignore"):
            busy = np.where(used > 0, used / (self.cores * CORE * self.speed), 0.0)
        left = np.maximum(1 - busy - self._taken(others, node_of), LEAST)
        return attrs.evolve(self, speed=self.speed * left, bandwidth=self.bandwidth * left)

    def waves(self, tasks: list[int], node: int) -> float:
        """Seconds in which a node's cores run some tasks, each on the core that is free first.

        Args:
            tasks: Indices of the tasks, in order.
        """
        work, cores, speed = self.work, int(self.cores[node]), float(self.speed[node])
        if len(tasks) <= cores:
            return max((work[task] for task in tasks), default=0.0) / speed
        ends = [work[task] for task in tasks[:cores]]
        heapq.heapify(ends)
        for task in tasks[cores:]:
            heapq.heapreplace(ends, ends[0] + work[task])
        return max(ends) / speed

    def state_seconds(self, node_of: Ints) -> float:
        """Further seconds of the first batch, in which nodes load the state of running tasks that move to them."""
        comes = (self.current >= 0) & (node_of >= 0) & (node_of != self.current)
        whole = 0.0
        for tasks in self.stages:
            own = tasks[comes[tasks]]
            size = np.bincount(node_of[own], weights=self.state[own], minlength=len(self.cores))
            whole += float((size / self.bandwidth).max(initial=0.0))
        return whole

    def fetch(self, stage: int, node_of: Ints) -> Floats:
        """Seconds in which each node takes in what a stage reads from other nodes, float64 (m,).

        A task reads from all tasks before it, so it waits for the node that takes longest to send.
        """
        reads = np.zeros(len(self.demand), dtype=bool)
        reads[self.stages[stage]] = True
        return self._taken(reads, node_of) * self.interval

    def _taken(self, reads: Flags, node_of: Ints) -> Floats:
        """Part of each second in which each node takes in what some tasks read from other nodes, float64 (m,)."""
        m, traffic = len(self.cores), self.traffic
        if traffic.unit != "bytes/s" or np.isinf(self.bandwidth).all():
            return np.zeros(m)
        sparse, blocks = traffic.sparse, traffic.blocks
        source, target = node_of[sparse.sources], node_of[sparse.indices]
        far = reads[sparse.indices] & (target >= 0) & (source >= 0) & (source != target)
        come, sent = np.zeros(m), np.zeros(m)
        np.add.at(come, target[far], sparse.rate[far])
        np.add.at(sent, source[far], sparse.rate[far])
        for a0, a1, b0, b1, rate in blocks:
            if b1 > b0 and reads[b0]:
                senders, readers = (_count(node_of[first:last], m) for first, last in ((a0, a1), (b0, b1)))
                come += rate * readers * (senders.sum() - senders)
                sent += rate * senders * (readers.sum() - readers)
        slowest = (sent / self.bandwidth).max(initial=0.0)
        units: Floats = np.where(come > 0, np.maximum(come / self.bandwidth, slowest), 0.0)
        return units / traffic.scale


def _count(nodes: Ints, m: int) -> Floats:
    return np.bincount(nodes[nodes >= 0], minlength=m).astype(np.float64)


def batches_of(problem: Arrays) -> tuple[Batch, ...]:
    """The micro-batches of the sequential topologies whose tasks have work, in order of id."""
    return tuple(_batches(problem))


def _batches(problem: Arrays) -> Iterator[Batch]:
    request = problem.request
    topologies = sorted(request.topologies, key=lambda each: each.id)
    if not any(each.sequential for each in topologies) or not problem.m:
        return
    interval = {each.topology: each.interval for each in request.metrics.topologies}
    demand, state = problem.wanted.copy(), np.zeros(problem.n)
    # Measured, also for a scheduler that plans on declarations: a batch takes what it takes.
    for sample in request.metrics.tasks:
        task = problem.task_index[sample.task]
        demand[task] = demand[task] if sample.cpu is None else sample.cpu
        state[task] = (sample.state or 0.0) * MEGABYTE
    for index, topology in enumerate(topologies):
        stages = _stages(problem, topology) if topology.sequential else ()
        # Of tasks that profiles price the work is not known here.
        if any(demand[tasks].any() for tasks in stages):
            threads = max(part.threads for part in topology.components)
            cores = problem.capacity[:, 0] / CORE
            whole = np.maximum(np.ceil(cores), 1)
            yield Batch(
                topology=index,
                interval=interval.get(topology.id) or 1.0,
                stages=stages,
                cores=np.maximum(whole // threads, 1).astype(np.int64),
                # Headroom leaves parts of cores, as quotas do: tasks share what there is.
                speed=problem.speed * np.where(cores > 0, cores / whole, 1.0),
                bandwidth=problem.bandwidth,
                demand=demand / threads,
                state=state,
                current=problem.current,
                traffic=problem.traffic,
            )


def _stages(problem: Arrays, topology: Topology) -> tuple[Ints, ...]:
    depth = depths(topology)
    level = [depth[part] if of == topology.id else -1 for of, part in problem.components]
    of_task = np.array(level, dtype=np.int64)[problem.component]
    return tuple(np.flatnonzero(of_task == each) for each in sorted(set(of_task.tolist()) - {-1}))


def batch_seconds(batches: Sequence[Batch], node_of: Ints) -> tuple[float | None, float | None]:
    """Longest duration of a batch of any sequential topology, beside the others, and of loading state before the first.

    Returns:
        Seconds; (None, None) where no sequential topology has work, or such a one has a task without a node.
    """
    if not batches or any((node_of[tasks] < 0).any() for batch in batches for tasks in batch.stages):
        return None, None
    return max(each.beside(node_of).seconds(node_of) for each in batches), max(
        each.state_seconds(node_of) for each in batches
    )
