"""Workers, the units whose load OTD balances: all that runs on a node, or each slot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from headworks.problem import Problem

    Ints = NDArray[np.int64]

ANY = -1
"""Topology of a Worker that takes executors of every topology."""


@attrs.frozen(eq=False, kw_only=True)
class Workers:
    """The k Workers of a deployment.

    Attributes:
        of: Worker of each executor, int64 (n,), -1 for none.
        node: Node of each Worker, int64 (k,).
        topology: Topology of each Worker, int64 (k,), `ANY` for all.
        cpu: CPU that each Worker may use, in percent of a core, float64 (k,).
    """

    of: Ints
    node: Ints
    topology: Ints
    cpu: NDArray[np.float64]

    @classmethod
    def by_node(cls, problem: Problem, node_of: Ints) -> Workers:
        """One Worker a node, which has all its CPU: as Headworks deploys, with one worker process of a topology there.

        Args:
            problem: The request as arrays.
            node_of: Node of each executor, int64 (n,), -1 for none.
        """
        nodes = np.arange(problem.m)
        return cls(of=node_of, node=nodes, topology=np.full(problem.m, ANY), cpu=problem.capacity[:, 0])

    @classmethod
    def by_slot(cls, problem: Problem) -> Workers:
        """One Worker for each slot in which executors run, which has an equal part of its node's CPU with each slot.

        Args:
            problem: The request as arrays.
        """
        assignment, ids = problem.request.assignment, problem.task_ids
        running = {task: assignment[ids[task]] for task in np.flatnonzero(problem.current >= 0).tolist()}
        slots = sorted(set(running.values()), key=lambda slot: (slot.node, slot.port))
        number = {slot: at for at, slot in enumerate(slots)}
        of = np.full(problem.n, -1)
        of[list(running)] = [number[slot] for slot in running.values()]
        topology = np.full(len(slots), ANY)
        topology[of[list(running)]] = problem.topology[list(running)]
        node = np.array([problem.node_index[slot.node] for slot in slots], dtype=np.int64)
        return cls(of=of, node=node, topology=topology, cpu=problem.capacity[node, 0] / problem.slots[node].clip(1))

    @property
    def node_of(self) -> Ints:
        """Node of each executor, int64 (n,), -1 for none."""
        found: Ints = np.where(self.of >= 0, self.node[self.of], -1) if len(self.node) else self.of
        return found

    def moved(self, executor: int, worker: int) -> Workers:
        """The same Workers after an executor went to one of them.

        Args:
            executor: Index of the executor.
            worker: Index of its new Worker.
        """
        of = self.of.copy()
        of[executor] = worker
        return attrs.evolve(self, of=of)

    def serve(self, topology: int) -> NDArray[np.bool_]:
        """Workers that take executors of a topology, bool (k,)."""
        found: NDArray[np.bool_] = (self.topology == ANY) | (self.topology == topology)
        return found
