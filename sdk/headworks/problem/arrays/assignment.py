"""An assignment by index: which tasks are in which slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.model import Slot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from headworks.problem.arrays.arrays import Arrays


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
        """Number the slots.

        Args:
            tasks: Index of each task, k of them.
            slots: Slot of each task.
        """
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
