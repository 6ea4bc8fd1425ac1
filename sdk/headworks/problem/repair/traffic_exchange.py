"""The traffic that a decision had saved, saved again after it was changed for shorter batches.

Tasks move, or change places with one of their stage, as long as batches stay short enough. A decision that saved none
gets none: its scheduler is judged by what it decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem.room.stage_times import TimedPlacement

PARTNERS = 8
"""Tasks of a node that an exchange is tried with, those that gain most by it."""


def save_traffic(placement: TimedPlacement, goal: float, enough: int, looks: int) -> None:
    """Move tasks to their peers, or exchange two of a stage, until nothing saves traffic or enough is saved.

    Args:
        placement: A placement in which everything fits; it is changed.
        goal: Seconds that a batch may take.
        enough: Units of traffic between nodes with which there is no need to go on.
        looks: Times that the peers of a task may be looked at, or a change be tried, before it ends in any case.
    """
    surplus = placement.problem.traffic.inter_node(placement.room.node_of) - enough
    saving = _TrafficExchange(placement, goal, surplus, looks)
    tasks = sorted(task for task in placement.stage_of if placement.problem.fixed[task] < 0)
    while sum(saving.improve(task) for task in tasks):
        pass


class _TrafficExchange:
    def __init__(self, placement: TimedPlacement, goal: float, surplus: int, looks: int) -> None:
        self._placement, self._goal, self._surplus = placement, goal, surplus
        self._free = placement.problem.fixed < 0
        self._left = looks

    def improve(self, task: int) -> bool:
        """Let a task go where it exchanges more than where it is, the best node first: whether it went."""
        if self._left <= 0 or self._surplus <= 0:
            return False
        here, peers = int(self._placement.room.node_of[task]), self._peers(task)
        better = np.flatnonzero(peers > peers[here]).tolist()
        for target in sorted(better, key=lambda node: (-int(peers[node]), node)):
            gain = int(peers[target] - peers[here])
            if not (self._placement.room.fits_on(task, target) and self._keep((task, target))):
                gain = self._exchange(task, target, gain)
            if gain > 0:
                self._surplus -= gain
                return True
        return False

    def _exchange(self, task: int, target: int, gain: int) -> int:
        """Exchange a task with one of its stage on the target, if both together gain: units that they do, else 0."""
        here = int(self._placement.room.node_of[task])
        partners: list[tuple[int, int]] = []
        for other in self._placement.on[self._placement.stage_of[task]][target]:
            if self._free[other] and self._left > 0:
                peers = self._peers(other)
                # Tasks of one stage exchange nothing, so that what each of them gains is as if it went alone.
                whole = gain + int(peers[here] - peers[target])
                if whole > 0:
                    partners.append((-whole, other))
        for loss, other in sorted(partners)[:PARTNERS]:
            if self._fit(task, other) and self._keep((task, target), (other, here)):
                return -loss
        return 0

    def _fit(self, task: int, other: int) -> bool:
        """Check whether each of two tasks has room in place of the other."""
        room = self._placement.room
        here, there = int(room.node_of[task]), int(room.node_of[other])
        room.remove(task)
        room.remove(other)
        fit = room.fits_on(task, there)
        if fit:
            room.place(task, there)
            fit = room.fits_on(other, here)
            room.remove(task)
        room.place(task, here)
        room.place(other, there)
        return fit

    def _keep(self, *moves: tuple[int, int]) -> bool:
        """Carry moves out, and take them back if batches get too long: whether they stay."""
        placement = self._placement
        back = [(task, int(placement.room.node_of[task])) for task, _ in moves]
        for task, target in moves:
            placement.move(task, target)
        self._left -= 1
        if sum(placement.longest) <= self._goal:
            return True
        for task, node in back:
            placement.move(task, node)
        return False

    def _peers(self, task: int) -> NDArray[np.int64]:
        self._left -= 1
        problem, node_of = self._placement.problem, self._placement.room.node_of
        return problem.traffic.of_task(task, node_of, problem.m)
