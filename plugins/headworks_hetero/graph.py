"""The execution topology graph while it grows: how many tasks of each component are on each machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from headworks.problem.arrays.profiles import FULL, OVER
from headworks_hetero.by_task import ByTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.toolbox.instance_counts import InstanceCounts


LIMIT = FULL * (1 + OVER)
"""Percent above which a machine is over-utilised; a larger one takes rates for sustained that are not."""


class Graph:
    """Counts of tasks, kept with what follows from them: a step costs O(components * machines)."""

    def __init__(self, instances: InstanceCounts, downstream: str = "components") -> None:
        """Begin with the tasks that may not move.

        Args:
            instances: Components, machines, profiles, and room for tasks.
            downstream: The reading of Eq. 6; see `headworks_hetero.options.Options`.
        """
        model = instances.profiled
        self.instances = instances
        self._gain: NDArray[np.float64] = model.gain / (model.spout_rate or 1.0)
        self._by_task = ByTask.of(instances) if downstream == "tasks" else None
        self.counts: NDArray[np.int64] = np.zeros_like(instances.floor)
        self.total: NDArray[np.int64] = np.zeros(len(self.counts), dtype=np.int64)
        self.fixed_load: NDArray[np.float64] = FULL - np.maximum(instances.free, 0.0)
        self.room: NDArray[np.float64] = instances.room.copy()
        self.slots: NDArray[np.int64] = instances.slots.copy()
        self.present: NDArray[np.bool_] = instances.present.copy()
        self._work: NDArray[np.float64] = np.zeros_like(model.e)
        self._taking: NDArray[np.bool_] = np.array([self._takes(part) for part in range(len(self.counts))], dtype=bool)
        for part, node in np.argwhere(instances.floor > 0).tolist():
            for _ in range(int(instances.floor[part, node])):
                self._count(part, node)

    def copy(self) -> Self:
        """A graph of its own with the same tasks."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        for name in ("counts", "total", "fixed_load", "room", "slots", "present", "_work", "_taking"):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    def gain(self, total: NDArray[np.int64]) -> NDArray[np.float64]:
        """Tuples/s of each component for 1 tuple/s of the busiest spout (Eq. 6), float64 (K,).

        Args:
            total: Number of tasks of each component, int64 (K,).
        """
        return self._gain if self._by_task is None else self._by_task.gains(total)

    def load(self, rate: float) -> NDArray[np.float64]:
        """Percent of each machine in use (100 - MAC) at a topology input rate."""
        return self.load_with(self.total, rate)

    def load_with(self, total: NDArray[np.int64], rate: float) -> NDArray[np.float64]:
        """The same if components had these numbers of tasks, the further ones being nowhere yet.

        Args:
            total: Number of tasks of each component, int64 (K,).
            rate: Topology input rate, tuples/s.
        """
        share = rate * self.gain(total) / np.maximum(total, 1)
        found: NDArray[np.float64] = share @ self._work + self.fixed_load
        return found

    def thread_load(self, rate: float) -> NDArray[np.float64]:
        """Largest share of what its threads can use that a task of each component needs, float64 (K,).

        Args:
            rate: Topology input rate, tuples/s.
        """
        model = self.instances.profiled
        if not model.threads_bind:
            return np.zeros(len(self.total))
        share = rate * self.gain(self.total) / np.maximum(self.total, 1)
        each = (model.e * share[:, None] + model.met) / model.limit
        found: NDArray[np.float64] = np.where(self.counts > 0, each, 0.0).max(axis=1, initial=0.0)
        return found

    def is_stable(self, load: NDArray[np.float64], rate: float) -> bool:
        """Check that no machine is over-utilised, and no task beyond its threads.

        Args:
            load: Percent of each machine in use, shape (m,).
            rate: Topology input rate, tuples/s.
        """
        return bool(load.max(initial=0.0) <= LIMIT and self.thread_load(rate).max(initial=0.0) <= LIMIT / FULL)

    def tcu(self, part: int, total: NDArray[np.int64], rate: float) -> NDArray[np.float64]:
        """Percent of each machine that one task of a component would need there (Eq. 5).

        Args:
            part: Index of the component.
            total: Number of tasks of each component, int64 (K,): its own share its input.
            rate: Topology input rate, tuples/s.
        """
        model = self.instances.profiled
        # Eq. 5: TCU = e * IR + MET, the input rate IR of the component shared by its tasks
        each = rate * self.gain(total)[part] / max(int(total[part]), 1)
        cost: NDArray[np.float64] = model.e[part] * each + model.met[part]
        return cost

    def takes(self, part: int) -> NDArray[np.bool_]:
        """Machines that have a profile for the component, and a slot and memory for one more task of it."""
        taking: NDArray[np.bool_] = self._taking[part]
        return taking

    def add(self, part: int, node: int) -> None:
        """Put one more task of a component on a machine.

        Args:
            part: Index of the component.
            node: Index of the machine.
        """
        topology = self.instances.topology[part]
        self._count(part, node)
        self.room[node] -= self.instances.need[part]
        if not self.present[topology, node]:
            self.present[topology, node] = True
            self.slots[node] -= 1
        for each in range(len(self.counts)):
            self._taking[each, node] = self._takes(each, slice(node, node + 1))[0]

    def _takes(self, part: int, nodes: slice = slice(None)) -> NDArray[np.bool_]:
        instances = self.instances
        can = instances.profiled.covers[part, nodes].copy()
        can &= self.present[instances.topology[part], nodes] | (self.slots[nodes] > 0)
        can &= (self.room[nodes] >= instances.need[part]).all(axis=1)
        return can

    def _count(self, part: int, node: int) -> None:
        model = self.instances.profiled
        self.counts[part, node] += 1
        self.total[part] += 1
        self._work[part, node] += model.e[part, node]
        self.fixed_load[node] += model.met[part, node]
