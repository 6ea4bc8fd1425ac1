"""Algorithm 1 at speed: the placements of `algorithm1`, bit for bit, for every option.

The literal algorithm computes every priority anew for every placement. Most of that is known before:

- Tasks that no equation can tell apart have one priority. They are a group, and the lowest of them comes first.
- A group that exchanges nothing with the open machine keeps its numerator of Eq. 5.5 while the machine is open, and
  costs at least what it takes of the critical resource. Its priority is computed only when that bound reaches the
  highest priority of the groups that do exchange tuples with the machine.
- The group that was placed last often leads again. Priorities are computed for the next placements together, as if it
  always did, and hold up to the first one at which another group leads.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from headgate_dstorm.availability import by_availability, residents
from headgate_dstorm.groups import Groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headgate.problem import Problem
    from headgate.problem.room import Room
    from headgate_dstorm.options import Options

AHEAD = 8
"""Placements whose priorities are computed together; more pay off only where more tasks of one group go together."""

TURNS = np.arange(AHEAD, dtype=np.float64)
"""Placements before each of those, if all are of one group."""

NO_PRIORITIES = np.zeros((1, 0))
"""Priorities of no candidates, at one turn."""

MORE = 8
"""One group becomes a candidate where bounds of the others reach the highest priority, then so many times as many each
time until none does. The larger it is, the more priorities are computed; the smaller, the more often all of them."""

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
        for node in by_availability(problem):  # lines 1, 3-8
            if not groups.waiting.any():
                break
            machine = _Machine(problem, options, groups, room, node)
            machine.meet(there.get(node, ()))
            machine.fill()
    return room.node_of


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

    def __init__(self, problem: Problem, options: Options, groups: Groups, room: Room, node: int) -> None:
        self._options, self._groups, self._room, self._node = options, groups, room, node
        self._constrained = problem.constraints is not None
        self._whole = problem.capacity[node]
        # what a machine has nothing of is never its critical resource
        self._capacity = np.where(self._whole > 0, self._whole, np.inf)[:, None]
        self.rho1 = np.zeros(groups.count + 1)
        self.candidates = np.zeros(0, dtype=np.int64)
        self._demand = groups.demand[:, :0]
        fit = self._fitting(np.flatnonzero(groups.waiting))
        self.others = np.zeros(groups.count + 1, dtype=bool)
        self.others[fit] = True
        self.bound = np.zeros((len(self._whole), groups.count + 1))
        numerator = options.beta * groups.rho2[fit]  # of Eq. 5.5, where rho1 is 0
        rho3 = groups.demand[:, fit] / self._capacity
        rho3[rho3 < LEAST] = 0.0
        np.divide(SLACK * numerator, rho3, out=rho3, where=numerator > 0)
        self.bound[:, fit] = np.where(numerator > 0, rho3, 0.0)
        self._highest_bound = np.maximum.reduce(self.bound, axis=1)

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
            ahead = max(1, min(AHEAD, len(self._groups.left[last])))

    def _leaders(self, last: int, ahead: int) -> list[int]:
        """Lines 10-13: which groups lead in the next placements, as far as that is certain; none if nothing fits.

        Args:
            last: The group that was placed last.
            ahead: For how many placements priorities are computed, as if all were of that group.
        """
        enter = 1
        while True:
            if not len(self.candidates):
                if not np.count_nonzero(self.others):
                    return []
                ahead = 1
            priority, bound, critical = self._priorities(last, ahead)
            top = np.maximum.reduce(priority, axis=1, initial=0.0)
            if top[0] > bound[0]:
                found: list[int] = self.candidates[priority.argmax(axis=1)].tolist()
                certain = (top > bound).tolist()
                for turn, group in enumerate(found):
                    if not certain[turn]:
                        return found[:turn]
                    if group != last:
                        return found[: turn + 1]
                return found
            if bound[0] <= 0:
                return self._lowest()
            self._enter(self._nearest(self.bound[critical].min(axis=0), float(bound[0]), enter))
            enter *= MORE

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

    def _priorities(self, last: int, ahead: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
        """Eq. 5.5 for the next placements, if all are of the group placed last.

        Returns:
            Priorities of the candidates, shape (ahead, c); what those of the others do not exceed, shape (ahead,);
            and the resources that are critical now, one but for ties.
        """
        groups, options, some = self._groups, self._options, self.candidates
        rho1, rho2 = self.rho1[some], groups.rho2[some]
        used = (self._whole - self._room.free[self._node])[:, None]
        if ahead > 1:
            used = used + TURNS[:ahead] * groups.demand[:, last, None]
            gain = TURNS[:ahead, None] * groups.exchange(last, some)
            rho1, rho2 = rho1 + gain, rho2 - gain
        shares = used / self._capacity
        usage = np.maximum.reduce(shares)  # R of Eq. 5.5
        # what the others have is at most their bound for the resource that is critical at each turn
        bound = np.where(usage <= options.threshold, self._highest_bound[shares.argmax(axis=0)], 0.0)
        critical = (shares[:, 0] == usage[0]).nonzero()[0]
        if len(critical) > 1 and bound[0] > 0:  # on an empty machine all are: the dearest one counts for each group
            bound[0] = self.bound[critical].min(axis=0).max()
        if not len(some):
            return NO_PRIORITIES, bound, critical
        after = np.maximum.reduce((self._demand[:, None] + used[:, :, None]) / self._capacity[:, None])
        rho3 = after - usage[:, None]  # R with the task, less R without it
        level = usage[:, None] if options.threshold_usage == "before" else after
        # alpha rho1 + beta rho2; the second term counts while R <= D_Threshold
        numerator = options.alpha * rho1 + options.beta * (level <= options.threshold) * rho2
        if np.count_nonzero(rho3) < rho3.size:  # Eq. 5.5 divides by zero: no traffic has no priority, whatever it costs
            rho3[(rho3 == 0) & ((numerator == 0) | (options.costless == "last"))] = np.inf
        return numerator / rho3, bound, critical

    def _place(self, group: int, count: int) -> bool:
        """Lines 14-16 for the lowest tasks of a group; whether all of them had room."""
        groups, left = self._groups, self._groups.left[group]
        # lines 14 and 16, at once for tasks that follow each other
        placed = self._room.place_alike(left[: -count - 1 : -1], self._node)
        if placed:
            del left[-placed:]  # line 15
            peers, rates = groups.peers_of(group)
            groups.rho2[peers] -= placed * rates  # they wait no longer: from rho2 of their peers to rho1
            self._exchange(peers, placed * rates)
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
            self._highest_bound = np.maximum.reduce(self.bound, axis=1)

    def _compete(self, candidates: NDArray[np.int64]) -> None:
        self.candidates, self._demand = candidates, self._groups.demand[:, candidates]

    def _remove(self, group: int) -> None:
        """A group has no task left, or none that fits."""
        if self.others[group]:
            self._leave(group)
        else:
            self._compete(self.candidates[self.candidates != group])

    def _refit(self) -> None:
        """Take out what does not fit any more."""
        self._compete(self._fitting(self.candidates))
        others = self.others.nonzero()[0]
        self.others[others] = False
        self.others[self._fitting(others)] = True
        self.bound[:, ~self.others] = 0.0
        self._highest_bound = np.maximum.reduce(self.bound, axis=1)

    def _fitting(self, some: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those groups of which one more task fits (line 9)."""
        groups, room, node = self._groups, self._room, self._node
        some = some[np.logical_and.reduce(groups.demand[:, some] <= room.free[node][:, None])]
        if self._constrained:
            admitted = [room.admits(groups.heads[group], node) for group in some.tolist()]
            some = some[np.array(admitted, dtype=bool)]
        if room.free_slots[node] > 0:
            open_to: NDArray[np.int64] = some[groups.opens[some]]
            return open_to
        some = some[np.isin(groups.topology[some], room.topologies_on(node))]
        pairs = list(zip(groups.topology[some].tolist(), groups.heap[some].tolist(), strict=True))
        takes = {pair: room.takes(*pair, node) for pair in set(pairs)}
        found: NDArray[np.int64] = some[np.array([takes[pair] for pair in pairs], dtype=bool)]
        return found
