"""The time of a batch on other cores: its tasks as Spark would begin them, with the seconds that they took."""

from __future__ import annotations

import heapq
import math
from collections import deque
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Sequence


@attrs.frozen(kw_only=True)
class StageRun:
    """A stage of a batch.

    Attributes:
        parents: Indices of the stages that have to end before it.
        seconds: Seconds of each task.
        nodes: Index of the node that each task has to run on; empty where any will do.
    """

    parents: tuple[int, ...]
    seconds: tuple[float, ...]
    nodes: tuple[int, ...] = ()


def makespan(stages: Sequence[StageRun], cores: Sequence[int]) -> float:
    """Seconds from the start of the first task to the end of the last.

    As Spark's FIFO scheduler: a stage is ready when its parents have ended; of those that are ready, the earlier one's
    tasks go first, in their order, each as soon as a core is free. Scheduling and starting take no time.

    Args:
        stages: The stages, parents before children.
        cores: Cores of each node; of one where any node will do.

    Returns:
        The seconds; infinite where a task waits for a node without cores.
    """
    batch = _Batch(stages, cores)
    while batch.step():
        pass
    return batch.clock if batch.done else math.inf


class _Batch:
    """A batch at one moment."""

    def __init__(self, stages: Sequence[StageRun], cores: Sequence[int]) -> None:
        self.clock = 0.0
        self._stages, self._free = stages, list(cores)
        self._left = [len(each.seconds) for each in stages]
        self._running: list[tuple[float, int, int]] = []  # end, stage, node
        self._waiting = [[deque[float]() for _ in cores] for _ in stages]
        for queues, stage in zip(self._waiting, stages, strict=True):
            for task, seconds in enumerate(stage.seconds):
                queues[stage.nodes[task] if stage.nodes else 0].append(seconds)

    @property
    def done(self) -> bool:
        return not any(self._left)

    def step(self) -> bool:
        """Begin what can begin, and go on to the next end; False where nothing runs."""
        for index, stage in enumerate(self._stages):
            if not any(self._left[parent] for parent in stage.parents):
                self._begin(index)
        if not self._running:
            return False
        self.clock, index, node = heapq.heappop(self._running)
        self._left[index] -= 1
        self._free[node] += 1
        return True

    def _begin(self, index: int) -> None:
        for node, queue in enumerate(self._waiting[index]):
            while queue and self._free[node]:
                self._free[node] -= 1
                heapq.heappush(self._running, (self.clock + queue.popleft(), index, node))
