"""A request as arrays, which every step of planning reads and none writes, and an assignment by index."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.model import Request, Slot, Task
from headworks.problem.arrays.batches import Batch, batches_of
from headworks.problem.arrays.constraints import Constraints, constraints_of
from headworks.problem.arrays.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headworks.model import FrozenMap
    from headworks.problem.arrays.workers import Packing
    from headworks.problem.rules.rule import PlacementRule


STEP = 2.0**-20
"""Amounts are counted in steps of 2**-20 (rounded down), so that sums of demands are exact in any order."""


@attrs.frozen(eq=False, kw_only=True)
class Arrays:
    """n tasks, m nodes, r resources. Every array is read-only.

    Tasks are ordered by topology id, component id and index, nodes by id: "lowest index" is a tie rule that does
    not depend on the order of a document. The tasks of a component are contiguous.

    Attributes:
        request: Where it comes from.
        measured: Whether measured demands and traffic were taken where there are any.
        tasks: The tasks, length n.
        resources: Names of the resources: cpu, memory, then further ones by name.
        demand: float64 (n, r), need of each task, exact multiples of `STEP`; CPU as far as its threads can use it.
        wanted: float64 (n,), CPU points that each task would use with enough threads, exact multiples of `STEP`.
        thread_points: float64 (n,), CPU points that the threads of each task can use: of those that its component
            says, or of as many as it was measured to need, if these are more.
        capacity: float64 (m, r), capacity of each node, exact multiples of `STEP`.
        heap: float64 (n,), MB of its worker's heap that each task needs.
        heap_limit: float64 (t,), MB of heap that one worker of each topology may have, inf if unlimited.
        component: int64 (n,), index of each task's component over all topologies.
        topology: int64 (n,), index of each task's topology, by id.
        slots: int64 (m,), number of slots of each node; without `limits.restarts`, of its empty slots.
        traffic: Traffic between the tasks.
        transfer: float64 (2,), CPU points of a unit of traffic on the node that it leaves, and on the one that it comes
            to; 0 where that is unknown.
        current: int64 (n,), node on which each task runs, -1 if it does not (or its node or slot is gone).
        fixed: int64 (n,), node on which a task has to stay, -1 if it is free: it runs there and is not movable, or no
            running task may move (`limits.max_moves` is 0, or `limits.restarts` is False and its topology not live).
        closed: bool (n,), tasks in workers that none may join (those that run, without `limits.restarts`, of topologies
            that are not live): they take capacity, and none of `slots`.
    """

    request: Request
    measured: bool
    tasks: tuple[Task, ...]
    resources: tuple[str, ...]
    demand: NDArray[np.float64]
    wanted: NDArray[np.float64]
    thread_points: NDArray[np.float64]
    capacity: NDArray[np.float64]
    heap: NDArray[np.float64]
    heap_limit: NDArray[np.float64]
    component: NDArray[np.int64]
    topology: NDArray[np.int64]
    slots: NDArray[np.int64]
    traffic: Traffic
    transfer: NDArray[np.float64]
    current: NDArray[np.int64]
    fixed: NDArray[np.int64]
    closed: NDArray[np.bool_]

    @property
    def n(self) -> int:
        """Number of tasks."""
        return len(self.tasks)

    @property
    def m(self) -> int:
        """Number of nodes."""
        return len(self.capacity)

    @property
    def rules(self) -> tuple[PlacementRule, ...]:
        """Rules beyond capacity, in the order in which a decision is made to keep them; `Problem` has them."""
        return ()

    @cached_property
    def constraints(self) -> Constraints:
        """Placement constraints as arrays; false where the request has none."""
        return constraints_of(self)

    @cached_property
    def batches(self) -> tuple[Batch, ...]:
        """Micro-batches of the sequential topologies, in order of id."""
        return batches_of(self)

    @cached_property
    def bandwidth(self) -> NDArray[np.float64]:
        """Bytes/s that each node may send, and as many that it may receive, float64 (m,); inf where that is unknown."""
        nodes = sorted(self.request.cluster.nodes, key=lambda node: node.id)
        return np.array([np.inf if each.bandwidth is None else max(each.bandwidth, 1.0) for each in nodes])

    @cached_property
    def speed(self) -> NDArray[np.float64]:
        """Speed of each node's cores relative to the fastest, float64 (m,); 1 where that was not measured."""
        speed = np.ones(self.m)
        for sample in self.request.metrics.nodes:
            if sample.speed is not None:
                speed[self.node_index[sample.node]] = sample.speed
        return speed

    @cached_property
    def prices(self) -> NDArray[np.float64]:
        """Price of each node per hour, float64 (m,); 0 where none is stated."""
        nodes = sorted(self.request.cluster.nodes, key=lambda node: node.id)
        return np.array([each.price or 0.0 for each in nodes], dtype=np.float64)

    @cached_property
    def link_limit(self) -> NDArray[np.float64]:
        """Units of traffic that each node may send, and as many that it may receive, float64 (m,); inf if unknown."""
        if self.traffic.unit != "bytes/s":
            return np.full(self.m, np.inf)
        return self.bandwidth * self.traffic.scale

    @cached_property
    def node_ids(self) -> tuple[str, ...]:
        """Node ids, in index order."""
        return tuple(sorted(node.id for node in self.request.cluster.nodes))

    @cached_property
    def node_index(self) -> dict[str, int]:
        """Index of each node id."""
        return {node: index for index, node in enumerate(self.node_ids)}

    @cached_property
    def task_ids(self) -> tuple[str, ...]:
        """Task ids, in index order."""
        return tuple(task.id for task in self.tasks)

    @cached_property
    def task_index(self) -> dict[str, int]:
        """Index of each task id."""
        return {task: index for index, task in enumerate(self.task_ids)}

    @cached_property
    def packings(self) -> dict[tuple[int, tuple[float, ...], tuple[int, ...]], Packing]:
        """Packings of heaps that were made before, by topology, MB in use in held workers, and number of each heap.

        They depend on nothing else: `headworks.problem.arrays.workers` keeps them for whoever counts workers next.
        """
        return {}

    @cached_property
    def components(self) -> tuple[tuple[str, str], ...]:
        """(topology id, component id) of each component index, components without tasks included."""
        return tuple(
            (topology.id, component)
            for topology in sorted(self.request.topologies, key=lambda each: each.id)
            for component in sorted(component.id for component in topology.components)
        )

    @cached_property
    def topology_ids(self) -> tuple[str, ...]:
        """Topology ids, in index order."""
        return tuple(sorted(topology.id for topology in self.request.topologies))

    def node_of(self, assignment: FrozenMap[str, Slot]) -> NDArray[np.int64]:
        """Node index of each task in an assignment, -1 where it has none or its node is unknown."""
        index = self.node_index
        slots = map(assignment.get, self.task_ids)
        return np.array([-1 if slot is None else index.get(slot.node, -1) for slot in slots], dtype=np.int64)

    def used(self, node_of: NDArray[np.int64]) -> NDArray[np.float64]:
        """Amount of each resource that tasks need of each node, float64 (m, r); exact, as demands are whole steps."""
        placed = node_of >= 0
        nodes, demand = node_of[placed], self.demand[placed]
        used = np.zeros_like(self.capacity)
        for column in range(used.shape[1]):  # `np.add.at` of whole rows takes ten times as long
            used[:, column] = np.bincount(nodes, weights=demand[:, column], minlength=len(used))
        return used

    @property
    def is_load_bounded(self) -> bool:
        """Whether traffic between nodes can overload them: a bandwidth or the cost of transfers is known."""
        return bool(self.transfer.any() or np.isfinite(self.link_limit).any())

    def load(self, node_of: NDArray[np.int64]) -> NDArray[np.float64]:
        """Used share of each node's CPU or network, whichever is larger, float64 (m,).

        CPU counts where the cost of transfers is known: without it the capacity bounds it already.
        """
        links: NDArray[np.float64] = self.traffic.links(node_of, self.m).max(axis=0, initial=0) / self.link_limit
        if not self.transfer.any():
            return links
        cpu: NDArray[np.float64] = self.cpu(node_of) / np.maximum(self.capacity[:, 0], STEP)
        return np.maximum(links, cpu)

    def cpu(self, node_of: NDArray[np.int64]) -> NDArray[np.float64]:
        """CPU points in use on each node, float64 (m,), with those of traffic between nodes."""
        return self.used(node_of)[:, 0] + self.transfer_cpu(node_of)

    def transfer_cpu(self, node_of: NDArray[np.int64]) -> NDArray[np.float64]:
        """CPU points that traffic between nodes takes on each node, float64 (m,)."""
        if not self.transfer.any():
            return np.zeros(self.m)
        found: NDArray[np.float64] = self.transfer @ self.traffic.links(node_of, self.m)
        return found


@attrs.frozen(eq=False)
class Placed:
    """Tasks and their slots; there are many tasks, and few different slots.

    Attributes:
        slots: The different slots.
        tasks: int64 (k,), index of each task that has a slot.
        slot_of: int64 (k,), index of its slot among these.
    """

    slots: tuple[Slot, ...]
    tasks: NDArray[np.int64]
    slot_of: NDArray[np.int64]

    @classmethod
    def of(cls, tasks: Iterable[int], slots: Iterable[Slot]) -> Placed:
        """Number the slots."""
        numbers: dict[Slot, int] = {}
        slot_of = [numbers.setdefault(slot, len(numbers)) for slot in slots]
        return cls(tuple(numbers), np.array(list(tasks), dtype=np.int64), np.array(slot_of, dtype=np.int64))

    @classmethod
    def assigned(cls, problem: Arrays, assignment: Mapping[str, Slot]) -> Placed:
        """Number the slots of an assignment of known tasks."""
        return cls.of(map(problem.task_index.__getitem__, assignment), assignment.values())

    def nodes(self, problem: Arrays) -> NDArray[np.int64]:
        """Node index of each slot, int64 (len(slots),); every node is known."""
        return np.array([problem.node_index[slot.node] for slot in self.slots], dtype=np.int64)

    def node_of(self, problem: Arrays) -> NDArray[np.int64]:
        """Node index of each task of the request, int64 (n,), -1 for those without a slot."""
        found = np.full(problem.n, -1, dtype=np.int64)
        found[self.tasks] = self.nodes(problem)[self.slot_of]
        return found

    def heaps(self, problem: Arrays) -> dict[tuple[Slot, int], float]:
        """MB of heap in use by slot and topology."""
        width = len(problem.heap_limit)
        keys, worker_of = np.unique(self.slot_of * width + problem.topology[self.tasks], return_inverse=True)
        # sums of arrays: amounts are whole steps, so that any order gives the same
        used = np.bincount(worker_of.reshape(-1), weights=problem.heap[self.tasks], minlength=len(keys))
        pairs = ((self.slots[key // width], key % width) for key in keys.tolist())
        return dict(zip(pairs, used.tolist(), strict=True))
