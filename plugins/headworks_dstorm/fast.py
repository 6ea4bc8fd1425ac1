"""Algorithm 1 at speed: the placements of `algorithm1`, bit for bit, for every option.

The literal algorithm computes every priority anew for every placement. Most of that is known before:

- Tasks that no equation can tell apart have one priority. They are a group, and the lowest of them comes first.
- A group that exchanges nothing with the open machine keeps its numerator of Eq. 5.5 while the machine is open, and
  costs at least what it takes of the critical resource. Its priority is computed only when that bound reaches the
  highest priority of the groups that do exchange tuples with the machine.
- The group that was placed last often leads again. Priorities of the next placements are computed before any of them is
  made, up to the first one at which another group leads; then all are made at once.
"""

from __future__ import annotations

from itertools import groupby
from operator import add, truediv
from typing import TYPE_CHECKING

import numpy as np

from headworks_dstorm.availability import by_availability, residents
from headworks_dstorm.groups import Groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headworks.problem import Problem
    from headworks.problem.room.room import Room
    from headworks_dstorm.options import Options

AHEAD = 16
"""Placements that are decided before they are made, at most."""

MORE = 8
"""One group becomes a candidate where bounds of the others reach the highest priority, then so many times as many each
time until none does."""

LEAST = 2.0**-32
"""Share of a machine below which a demand counts as none in a bound; a larger one loosens bounds."""

SLACK = 1.0 + 2.0**-16
"""By how much bounds are raised: more than rounding can add to a priority whose rho3 is at least `LEAST`."""


def place(problem: Problem, options: Options) -> NDArray[np.int64]:
    """Run Algorithm 1; fixed tasks are in their places before it begins.

    Args:
        problem: The problem.
        options: Weights, threshold, and how what the paper leaves open is read.

    Returns:
        Node index of each task, -1 for those left when nodes run out (the algorithm's Failure).
    """
    groups, room, there = Groups(problem), problem.room(), residents(problem)
    with np.errstate(divide="ignore"):  # a bound without cost is infinite, and so is a priority
        # lines 1, 3-8
        for capacity, nodes in groupby(by_availability(problem), lambda node: problem.capacity[node].tolist()):
            shares = _shares(groups, capacity)
            for node in nodes:
                if not groups.waiting.any():
                    return room.node_of
                machine = _Machine(problem, options, groups, room, node, shares)
                machine.meet(there.get(node, ()))
                machine.fill()
    return room.node_of


def _shares(groups: Groups, capacity: list[float]) -> NDArray[np.float64]:
    """Share of a machine that one member of each group takes of each resource, 0 below `LEAST`: float64 (r, G + 1)."""
    # what a machine has nothing of is never its critical resource
    shares: NDArray[np.float64] = groups.demand / np.array([[each if each > 0 else np.inf] for each in capacity])
    shares[shares < LEAST] = 0.0
    return shares


class _Machine:
    """The open machine, and what each group is to it.

    A group is a candidate, whose priority is computed; or it is one of the others that fit, whose priority is bounded;
    or it does not fit, and never will on this machine.

    Attributes:
        rho1: float64 (G + 1,), rho1 of Eq. 5.5 of one member of each group: units it exchanges with the machine.
        candidates: int64 (c,), ascending, so that the first of equals has the lowest task.
        others: bool (G + 1,).
        bound: float64 (r, G + 1), what the priority of each of the others does not exceed while a resource is the
            critical one; 0 for all but the others.
    """

    def __init__(
        self,
        problem: Problem,
        options: Options,
        groups: Groups,
        room: Room,
        node: int,
        shares: NDArray[np.float64],
    ) -> None:
        self._options, self._groups, self._room, self._node = options, groups, room, node
        self._constrained = bool(problem.constraints)
        self._whole = problem.capacity[node]
        self._capacity: list[float] = np.where(self._whole > 0, self._whole, np.inf).tolist()
        self.rho1 = np.zeros(groups.count + 1)
        self.candidates = np.zeros(0, dtype=np.int64)
        self._demand: list[NDArray[np.float64]] | None = None
        self.others = self._fitting(groups.waiting)
        self.bound = np.zeros((len(self._whole), groups.count + 1))
        numerator = SLACK * options.beta * groups.rho2  # of Eq. 5.5, where rho1 is 0
        np.divide(numerator, shares, out=self.bound, where=self.others & (numerator > 0))
        self._highest_bound: list[float] = np.maximum.reduce(self.bound, axis=1).tolist()

    def meet(self, tasks: Sequence[int]) -> None:
        """Count what waits against tasks that were on the machine before."""
        for task in tasks:
            self._exchange(*self._groups.peers(task))

    def fill(self) -> None:
        """Place tasks while any fits (lines 9-17)."""
        last, ahead = 0, 1
        while leaders := self._leaders(last, ahead):
            for group, turns in groupby(leaders):
                if not self._place(group, len(list(turns))):
                    break
            last = leaders[-1]
            ahead = self._room_for(last)

    def _room_for(self, group: int) -> int:
        """Placements of one group that are worth deciding ahead: it has so many tasks left, and the machine room."""
        most = min(AHEAD, len(self._groups.left[group]))
        if most < 2:
            return 1
        free = self._room.free[self._node].tolist()
        fit = [int(each // need) for each, need in zip(free, self._groups.needs[group], strict=True) if need > 0]
        return max(1, min([most, *fit]))

    def _leaders(self, last: int, ahead: int) -> list[int]:
        """Lines 10-13: which groups lead in the next placements, as far as that is certain; none if nothing fits.

        Args:
            last: The group that was placed last.
            ahead: For how many placements priorities are computed, as if all were of that group.
        """
        enter = 1
        while True:
            used = (self._whole - self._room.free[self._node]).tolist()
            usage, bound, critical = self._bound(used)
            if len(self.candidates):
                if found := self._ahead(last, ahead, used, usage, bound):
                    return found
            elif not np.count_nonzero(self.others):
                return []
            if bound <= 0:
                return self._lowest()
            self._enter(self._nearest(self.bound[critical].min(axis=0), bound, enter))
            enter *= MORE

    def _ahead(self, last: int, ahead: int, used: list[float], usage: float, bound: float) -> list[int]:
        """Leaders of the next placements among the candidates, up to the first that is of another group than the last.

        Args:
            last: The group that was placed last.
            ahead: Placements, at most.
            used: Amount of each resource in use on the machine.
            usage: R of Eq. 5.5, the share of the critical one.
            bound: What no priority of the others exceeds now.
        """
        groups, some = self._groups, self.candidates
        rho1, rho2 = self.rho1[some], groups.rho2[some]
        found: list[int] = []
        for turn in range(ahead):
            if turn:
                gain = groups.exchange(last, some)
                rho1, rho2, used = rho1 + gain, rho2 - gain, list(map(add, used, groups.needs[last]))
                usage, bound, _ = self._bound(used)
            priority = self._priority(rho1, rho2, used, usage)
            first = int(priority.argmax())
            if not priority[first] > bound:
                break
            found.append(int(some[first]))
            if found[-1] != last:
                break
        return found

    def _bound(self, used: list[float]) -> tuple[float, float, list[int]]:
        """R of Eq. 5.5, the bound of the priorities of the others, and the critical resources where it is above 0.

        Args:
            used: Amount of each resource in use on the machine.
        """
        shares = list(map(truediv, used, self._capacity))
        usage = max(shares)
        if usage > self._options.threshold:
            return usage, 0.0, []
        critical = [resource for resource, share in enumerate(shares) if share == usage]
        if len(critical) > 1:  # on an empty machine all are: the dearest one counts for each group
            return usage, float(self.bound[critical].min(axis=0).max()), critical
        return usage, self._highest_bound[critical[0]], critical

    def _nearest(self, bound: NDArray[np.float64], highest: float, count: int) -> NDArray[np.int64]:
        """The groups of the highest bounds, so many and those that equal the last of them, or all from `highest` on.

        Any number is right, for candidates are compared by their priorities. One at a time would take a comparison of
        all candidates for each, where tasks are all different and their bounds are close.
        """
        some = np.flatnonzero(bound > 0)
        bounds = bound[some]
        least = min(highest, float(np.partition(bounds, -count)[-count])) if count < len(some) else 0.0
        found: NDArray[np.int64] = some[bounds >= least]
        return found

    def _lowest(self) -> list[int]:
        """The group of the lowest task, where no task has a priority; again and again if nothing waits for it."""
        other = int(self.others.argmax())
        if not self.others[other]:
            only: list[int] = self.candidates[:1].tolist()
            return only
        if len(self.candidates):
            return [min(other, int(self.candidates[0]))]
        return [other] * (1 if self._groups.rho2[other] else len(self._groups.left[other]))

    def _priority(
        self, rho1: NDArray[np.float64], rho2: NDArray[np.float64], used: list[float], usage: float
    ) -> NDArray[np.float64]:
        """Eq. 5.5 for one member of each candidate, float64 (c,).

        Args:
            rho1: Units that it exchanges with the machine, float64 (c,).
            rho2: Units that it exchanges with unplaced tasks, float64 (c,).
            used: Amount of each resource in use on the machine.
            usage: R of Eq. 5.5.
        """
        options = self._options
        if self._demand is None:
            self._demand = list(self._groups.demand[:, self.candidates])
        after = (self._demand[0] + used[0]) / self._capacity[0]
        for demand, amount, capacity in zip(self._demand[1:], used[1:], self._capacity[1:], strict=True):
            np.maximum(after, (demand + amount) / capacity, out=after)
        # alpha rho1 + beta rho2; the second term counts while R <= D_Threshold
        level = usage if options.threshold_usage == "before" else after
        numerator = options.alpha * rho1 + options.beta * (level <= options.threshold) * rho2
        rho3 = after - usage  # R with the task, less R without it
        if np.count_nonzero(rho3) < len(rho3):  # Eq. 5.5 divides by zero: no traffic has no priority, whatever it costs
            rho3[(rho3 == 0) & ((numerator == 0) | (options.costless == "last"))] = np.inf
        priority: NDArray[np.float64] = numerator / rho3
        return priority

    def _place(self, group: int, count: int) -> bool:
        """Lines 14-16 for the lowest tasks of a group; whether all of them had room."""
        groups, left = self._groups, self._groups.left[group]
        # lines 14 and 16, at once for tasks that follow each other
        placed = self._room.place_alike(left[: -count - 1 : -1], self._node)
        if placed:
            del left[-placed:]  # line 15
            peers, rates = groups.peers_of(group)
            units = placed * rates
            groups.rho2[peers] -= units  # they wait no longer: from rho2 of their peers to rho1
            self._exchange(peers, units)
        if not left:
            groups.waiting[group] = False
        if placed < count or not left:
            self._remove(group)
        if placed < count:
            self._refit()
        return placed == count

    def _exchange(self, peers: NDArray[np.int64], units: NDArray[np.float64]) -> None:
        """Groups exchange that much with the machine now."""
        self.rho1[peers] += units
        self._enter(peers[self.others[peers]])

    def _enter(self, groups: NDArray[np.int64]) -> None:
        """Make some of the others candidates."""
        if len(groups):
            self._leave(groups)
            self._compete(np.sort(np.concatenate([self.candidates, groups])))

    def _leave(self, groups: NDArray[np.int64] | int) -> None:
        """Take groups out of the others."""
        self.others[groups] = False
        highest = np.count_nonzero(self._highest_bound <= self.bound[:, groups].T)
        self.bound[:, groups] = 0.0
        if highest:
            self._highest_bound = np.maximum.reduce(self.bound, axis=1).tolist()

    def _compete(self, candidates: NDArray[np.int64]) -> None:
        self.candidates, self._demand = candidates, None

    def _remove(self, group: int) -> None:
        """A group has no task left, or none that fits."""
        if self.others[group]:
            self._leave(group)
        else:
            self._compete(self.candidates[self.candidates != group])

    def _refit(self) -> None:
        """Take out what does not fit any more."""
        some = self.others.copy()
        some[self.candidates] = True
        fits = self._fitting(some)
        self._compete(self.candidates[fits[self.candidates]])
        self.others &= fits
        np.copyto(self.bound, 0.0, where=~self.others)
        self._highest_bound = np.maximum.reduce(self.bound, axis=1).tolist()

    def _fitting(self, some: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Those groups of which one more task fits (line 9), bool (G + 1,), of some of them."""
        groups, room, node = self._groups, self._room, self._node
        fits: NDArray[np.bool_] = some & np.logical_and.reduce(groups.demand <= room.free[node][:, None])
        if self._constrained:
            at = np.flatnonzero(fits)
            fits[at] = [room.admits(groups.heads[group], node) for group in at.tolist()]
        if room.free_slots[node] > 0:
            fits &= groups.opens
            return fits
        fits &= np.isin(groups.topology, room.topologies_on(node))
        at = np.flatnonzero(fits)
        pairs = list(zip(groups.topology[at].tolist(), groups.heap[at].tolist(), strict=True))
        takes = {pair: room.takes(*pair, node) for pair in set(pairs)}
        fits[at] = [takes[pair] for pair in pairs]
        return fits
