"""The node order of Storm's resource-aware scheduler (NodeSorterHostProximity), and first fit over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headworks_baselines.start import counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks.problem.room.room import Room
    from headworks_baselines.rules import Racks

BASE = 2
"""Number of resources that come first and that every task asks for, CPU and memory; a larger one would let generic
resources that a task does not ask for attract it."""


class Proximity:
    """First fit over nodes that are sorted by rack, then host, then node.

    At each level, most tasks of the topology come first, then the largest mean of the shares that are free, then
    the largest least share, then the id. A share is of what is free in the whole: of the cluster for a rack, of
    the rack for a host, of the host for a node. A generic resource that the task does not ask for counts negative.

    Storm sorts anew only for the first task and for one of the *same* component as the task before it; for any
    other the old order stands. So does this.
    """

    def __init__(self, problem: Problem, room: Room, topology: int, racks: Racks) -> None:
        self._problem = problem
        self._room = room
        self._racks = racks
        self._count = counts(problem, room, topology)
        self._order = np.arange(problem.m)
        self._prior = self._last = -1
        self._first_in_order = False
        self._sort_is_due = False

    def choose(self, task: int) -> int:
        """Choose the first node in order that has room; see `NodeSelection`."""
        again = self._prior < 0 or self._problem.component[task] == self._problem.component[self._prior]
        if again and self._stays_first(task):
            self._sort_is_due = True
        else:
            if again:
                self._order = self._sorted(task, self._room.free, self._count)
            elif self._sort_is_due:
                self._order = self._sorted_before_last()
            self._sort_is_due = False
            fits = self._room.fits(task)[self._order]
            self._last = int(self._order[fits.argmax()]) if fits.any() else -1
        self._first_in_order = again
        self._prior = task
        if self._last >= 0:
            self._count[self._last] += 1
        return self._last

    def _stays_first(self, task: int) -> bool:
        """Check whether a new order would lead to the node of the task before, which spares the sorting.

        It does for an equal task (both need the heap of their component): racks, hosts and nodes that had no room
        have none now, and among the others that node has gained a task, so at every level it is first by the first
        key.
        """
        problem = self._problem
        return (
            self._first_in_order
            and self._last >= 0
            and bool((problem.demand[task] == problem.demand[self._prior]).all())
            and self._room.fits_on(task, self._last)
        )

    def _sorted_before_last(self) -> NDArray[np.int64]:
        """The order that was due before the task before took its node."""
        free, count = self._room.free.copy(), self._count.copy()
        free[self._last] += self._problem.demand[self._prior]
        count[self._last] -= 1
        return self._sorted(self._prior, free, count)

    def _sorted(self, task: int, free: NDArray[np.float64], count: NDArray[np.int64]) -> NDArray[np.int64]:
        racks = self._racks
        # a generic resource that the task leaves unused makes a node worse the more it has of it
        sign = np.where(self._problem.demand[task] > 0, 1.0, -1.0)
        sign[:BASE] = 1.0
        by_host = _sums(racks.host, free, len(racks.rack_of_host))
        by_rack = _sums(racks.rack_of_host, by_host, racks.count)
        cluster = by_rack.sum(axis=0, keepdims=True)
        host_count = np.bincount(racks.host, weights=count, minlength=len(by_host))
        rack_count = np.bincount(racks.rack_of_host, weights=host_count, minlength=len(by_rack))
        # racks, then hosts within racks, then nodes within hosts: the rank of each level is the first key of the next
        level = _ranks(by_rack, cluster, rack_count, sign, np.zeros(len(by_rack), dtype=np.int64))
        level = _ranks(by_host, by_rack[racks.rack_of_host], host_count, sign, level[racks.rack_of_host])
        level = _ranks(free, by_host[racks.host], count, sign, level[racks.host])
        return np.argsort(level)


def _sums(group: NDArray[np.int64], amounts: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    sums = np.zeros((size, amounts.shape[1]))
    np.add.at(sums, group, amounts)
    return sums


def _ranks(
    free: NDArray[np.float64],
    whole: NDArray[np.float64],
    count: NDArray[np.float64] | NDArray[np.int64],
    sign: NDArray[np.float64],
    parent: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Position of each object of a level: by the rank of what it is part of, then by the keys of this level."""
    whole = np.broadcast_to(whole, free.shape)
    share = sign * np.divide(free, whole, out=np.zeros_like(free), where=whole > 0)
    order = np.lexsort((-share.min(axis=1), -share.sum(axis=1), -count, parent))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return ranks
