"""A placement that is changed task by task, with the time that each node takes for each stage of a batch."""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING

import numpy as np

from headworks.problem.room.room import Room

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem.arrays.arrays import Arrays
    from headworks.problem.arrays.batches import Batch

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


class TimedPlacement:
    """Every task on a node, the room that is left, and how long each stage takes.

    Attributes:
        problem: The request as arrays.
        batch: The batch of its sequential topology.
        room: What is left of each node; `room.node_of` is the placement.
        on: Movable and fixed tasks of each stage on each node, ascending.
        times: Seconds that each node takes for each stage, float64 (m,) for each of them.
        stage_of: Stage of each task of the batch.
    """

    def __init__(self, problem: Arrays, batch: Batch, node_of: Ints) -> None:
        """Place all tasks.

        Args:
            node_of: Node index of each task, int64 (n,).
        """
        self.problem, self.batch, self.room = problem, batch, Room(problem)
        for task in np.flatnonzero(problem.fixed < 0).tolist():
            self.room.place(task, int(node_of[task]))
        stages = range(len(batch.stages))
        self.on: list[list[list[int]]] = [[[] for _ in range(problem.m)] for _ in stages]
        self.stage_of: dict[int, int] = {}
        for stage in stages:
            for task in batch.stages[stage].tolist():
                self.on[stage][int(self.room.node_of[task])].append(task)
                self.stage_of[task] = stage
        self.times: list[Floats] = [batch.of_stage(stage, node_of) for stage in stages]

    @property
    def longest(self) -> list[float]:
        """Seconds that each stage takes: those of its slowest node."""
        return [float(times.max()) for times in self.times]

    def move(self, task: int, target: int) -> None:
        """Put a task on another node, whether it fits or not.

        Args:
            task: Index of the task, which is not fixed.
        """
        stage, node = self.stage_of[task], int(self.room.node_of[task])
        self.room.remove(task)
        self.room.place(task, target)
        self.on[stage][node].remove(task)
        insort(self.on[stage][target], task)
        self._measure(stage, node, target)

    def _measure(self, stage: int, *nodes: int) -> None:
        """Look again at what has changed: with bandwidths, readers on any node wait for the task that went."""
        if np.isfinite(self.batch.bandwidth).any():
            self.times = [self.batch.of_stage(each, self.room.node_of) for each in range(len(self.times))]
            return
        for node in nodes:
            self.times[stage][node] = self.batch.waves(self.on[stage][node], node)
