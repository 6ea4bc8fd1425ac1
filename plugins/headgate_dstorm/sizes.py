"""Sizes of tasks, and the queues in which groups of one size wait."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate_dstorm.groups import Groups


class Sizes:
    """K sizes, each a demand and a heap, and Q queues: one for each size, then one for each size of each topology.

    A group that no new worker could hold fits nowhere and is in no queue.

    Attributes:
        count: K.
        demand: float64 (r, Q), what a task of each queue needs.
        heap, topology: Q values, heap of a task and its topology, which is -1 for the first K.
        homes: The two queues of each group.
        of_topology: The queues of each topology that has any.
    """

    def __init__(self, groups: Groups) -> None:
        keys = _keys(groups)
        self.count = int(keys.max(initial=-1)) + 1
        able = groups.opens[:-1]
        pairs = np.stack([groups.topology[:-1], keys], axis=1)[able]
        queues, inverse = np.unique(pairs, axis=0, return_inverse=True)
        own = self.count + inverse.reshape(-1)
        self.homes: list[tuple[int, ...]] = [()] * (groups.count + 1)
        members: list[list[int]] = [[] for _ in range(self.count + len(queues))]
        for group, homes in zip(
            np.flatnonzero(able).tolist(), zip(pairs[:, 1].tolist(), own.tolist(), strict=True), strict=True
        ):
            self.homes[group] = homes
            for queue in homes:
                members[queue].append(group)
        _, heads = np.unique(keys, return_index=True)
        kinds = np.concatenate([np.arange(self.count), queues[:, 1]]).astype(np.int64)
        self.demand = groups.demand[:, heads[kinds]]
        self.heap: list[float] = groups.heap[heads[kinds]].tolist()
        self.topology = [-1] * self.count + queues[:, 0].tolist()
        self.of_topology: dict[int, list[int]] = defaultdict(list)
        for queue, topology in enumerate(self.topology):
            self.of_topology[topology].append(queue)
        self._members, self._groups = members, groups

    def __len__(self) -> int:
        return len(self.heap)

    def tasks(self, queue: int) -> list[int]:
        """The tasks of a queue that wait, ascending."""
        return sorted(chain.from_iterable(self._groups.left[group] for group in self._members[queue]))


def count_sizes(groups: Groups) -> int:
    """Number of different sizes."""
    return int(_keys(groups).max(initial=-1)) + 1


def _keys(groups: Groups) -> NDArray[np.int64]:
    """Number each group by its size."""
    size = np.concatenate([groups.demand, groups.heap[None]])[:, :-1].T
    return np.unique(size, axis=0, return_inverse=True)[1].reshape(-1)
