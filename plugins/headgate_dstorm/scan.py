"""Algorithm 1 where tasks differ in size: a scan over groups of them, or over bounds on cells of groups."""

from __future__ import annotations

from operator import add, le
from typing import TYPE_CHECKING

import numpy as np

from headgate_dstorm.availability import by_availability, residents
from headgate_dstorm.candidates import Candidates
from headgate_dstorm.cells import Cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headgate.problem import Problem
    from headgate_dstorm.groups import Groups
    from headgate_dstorm.options import Options

DENSE = 8192
"""Up to so many groups, all are candidates of every node; more are bounded by cells."""

CHUNK = 1024
"""Tasks looked at together in the search for the lowest one that fits."""


class Scan:
    """The state of Algorithm 1: what is placed, what waits, and how the open node stands to it."""

    def __init__(self, problem: Problem, options: Options, groups: Groups) -> None:
        self.problem = problem
        self.options = options
        self.room = problem.room()
        self.groups = groups
        self.candidates = Candidates(self.groups)
        self.remaining = int((problem.fixed < 0).sum())
        self._residents = residents(problem)
        self._cells: Cells | None = None
        self._lowest = 0
        self._of_topology = _by_heap(problem, groups)

    def run(self) -> NDArray[np.int64]:
        """Fill the nodes; the node of each task, -1 for those left."""
        with np.errstate(divide="ignore", invalid="ignore"):
            for node in by_availability(self.problem):
                if not self.remaining:
                    break
                self.fill(node)
        return self.room.node_of

    def fill(self, node: int) -> None:
        """Lines 9-17: place the task of highest priority on the node while one fits."""
        self._open(node)
        while (group := self._next()) is not None:
            self._place(group)

    def _open(self, node: int) -> None:
        self.node = node
        self.capacity = self.problem.capacity[node].tolist()
        self.used = (self.problem.capacity[node] - self.room.free[node]).tolist()
        self.usage = self._usage()
        self._ask_workers()
        self.both = self.groups.waiting.copy()
        self.beta = self.options.beta
        self.cursor = self._lowest
        self.opened = 0
        near = self._meet_residents()
        self._gather(near)
        if self.usage > self.options.threshold:
            self._cross()

    def _ask_workers(self, topology: int | None = None) -> None:
        """Note which groups find a worker: any that may have one of its own while a slot is free.

        Args:
            topology: Of the task that was placed, if no slot was free before either: nothing changes for others.
        """
        self.open = bool(self.room.free_slots[self.node] > 0)
        here = self.room.topologies_on(self.node) if topology is None else (topology,)
        if topology is None:
            self.takes = self.groups.opens.copy() if self.open else np.zeros(self.groups.count + 1, dtype=bool)
            self.takes[-1] = True
        for each in () if self.open else here:
            for heap, groups in self._of_topology.get(each, ()):
                self.takes[groups] = self.room.takes(each, heap, self.node)

    def _meet_residents(self) -> list[NDArray[np.int64]]:
        """Count what fixed tasks on the node exchange with those that wait; say with whom."""
        near = []
        for task in self._residents.get(self.node, ()):
            for peers, rates in self.groups.peers(task):
                np.add.at(self.both, peers, rates)
                near.append(peers)
        return near

    def _gather(self, near: list[NDArray[np.int64]]) -> None:
        """Make the candidates: every group where they are few, else the cells and those near the node."""
        groups, cells = self.groups, self._cells
        living = int(groups.alive.sum())
        if living <= DENSE:
            self._cells = None
            self.candidates.reset(None, self.beta)
            self._add(np.flatnonzero(groups.alive))
            return
        if cells is None or living * 16 < cells.built_for * 15:
            cells = self._cells = Cells(groups)
        self.candidates.reset(cells, self.beta)
        if near:
            self._add(np.unique(np.concatenate(near)))

    def _add(self, groups: NDArray[np.int64]) -> None:
        """Make those of the groups candidates that wait and fit."""
        groups = groups[self.candidates.place[groups] < 0]
        fits = self._fits(self.groups.demand[:, groups], groups)
        self.candidates.refuse(groups[~fits])
        groups = groups[fits]
        self.candidates.add(groups, self._benefit(groups))

    def _fits(self, demand: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.bool_]:
        fits: NDArray[np.bool_] = self.takes[groups]
        for row, free in zip(demand, self.room.free[self.node].tolist(), strict=True):
            fits &= row <= free
        return fits

    def _benefit(self, groups: NDArray[np.int64]) -> NDArray[np.float64]:
        """Numerator of Eq. 5.5: what a group does not wait for any more, it shares with the node."""
        rho2 = self.groups.waiting[groups]
        benefit: NDArray[np.float64] = self.options.alpha * (self.both[groups] - rho2) + self.beta * rho2
        return benefit

    def _usage(self) -> float:
        pairs = zip(self.used, self.capacity, strict=True)
        return max((float(amount / whole) for amount, whole in pairs if whole > 0), default=0.0)

    def _next(self) -> int | None:
        """The group of the task to place next, None when none fits."""
        candidates = self.candidates
        while True:
            entry, priority = candidates.best(self.used, self.capacity, self.usage)
            if priority <= 0 and self._cells is not None:
                return self._lowest_that_fits()
            if priority < 0:
                return None
            if not self._entry_fits(entry):
                everything = candidates.demand[:, : candidates.size]
                candidates.keep(self._fits(everything, candidates.group[: candidates.size]))
            elif entry < candidates.items:
                self._open_cells()
            else:
                return candidates.group.item(entry)

    def _entry_fits(self, entry: int) -> bool:
        group = self.candidates.group.item(entry)
        if not self.takes[group]:
            return False
        after = map(add, self.used, self.candidates.demand[:, entry].tolist())
        return all(map(le, after, self.capacity))

    def _open_cells(self) -> None:
        assert self._cells is not None
        cells = self.candidates.rivals()
        self.candidates.numerator[1 + cells] = -1.0
        self._add(np.concatenate([self._cells.open(cell, self.groups) for cell in cells.tolist()]))

    def _lowest_that_fits(self) -> int | None:
        """The group of the lowest task that fits; what did not fit on this node once never will."""
        groups, n = self.groups, self.problem.n
        step = CHUNK
        while self.cursor < n:
            chunk = groups.of[self.cursor : self.cursor + step]
            waits = self.room.node_of[self.cursor : self.cursor + step] < 0
            fits = waits & self._fits(groups.demand[:, chunk], chunk)
            at = int(fits.argmax())
            if fits[at]:
                self.cursor += at
                return int(chunk[at])
            self.cursor += step
            step *= 2
        return None

    def _place(self, group: int) -> None:
        groups, candidates = self.groups, self.candidates
        task = groups.take(group)
        self.room.place(task, self.node)
        self.remaining -= 1
        if self.room.free_slots[self.node] <= 0:
            self._ask_workers(None if self.open else int(groups.topology[group]))
        self.used = list(map(add, self.used, groups.demand[:, group].tolist()))
        self.usage = self._usage()
        candidates.placed(group)
        if self.beta and self.usage > self.options.threshold:
            self._cross()
        for peers, rates in groups.peers(task):
            groups.waiting[peers] -= rates
            self._touch(peers)

    def _touch(self, groups: NDArray[np.int64]) -> None:
        """Give groups their new numerator; those that are no candidates yet become it."""
        places = self.candidates.place[groups]
        if self._cells is not None and places.min() < 0:
            self._add(groups[places < 0])
            places = self.candidates.place[groups]
        self.candidates.numerator[places] = self._benefit(groups)
        self.candidates.numerator[0] = -1.0

    def _cross(self) -> None:
        """The node is nearly full: what may follow counts no more (the second line of Eq. 5.5)."""
        self.beta = 0.0
        self.candidates.revalue(self._benefit(self.candidates.listed()))


def _by_heap(problem: Problem, groups: Groups) -> dict[int, list[tuple[float, NDArray[np.int64]]]]:
    """The groups of each topology, by the heap of their tasks; all together where no limit asks for it."""
    topology = groups.topology[:-1]
    heap = np.where(np.isfinite(problem.heap_limit[topology]), groups.heap[:-1], 0.0)
    order = np.lexsort((heap, topology))
    new = (np.diff(topology[order]) != 0) | (np.diff(heap[order]) != 0)
    found: dict[int, list[tuple[float, NDArray[np.int64]]]] = {}
    for part in np.split(order, np.flatnonzero(new) + 1) if len(order) else ():
        found.setdefault(int(topology[part[0]]), []).append((float(heap[part[0]]), part))
    return found
