"""Placement constraints as a rule of a request, the repair of a decision that breaks them, and reasons where none is.

What breaks a hard constraint goes to an allowed node, or is left: with a reason, and the smallest relaxation that gives
it one. What breaks a soft constraint goes to a node with room where it breaks less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import ConstraintKind, FrozenMap, Reason
from headworks.problem.arrays.constraints import CountRule, binds
from headworks.problem.room.room import Room
from headworks.problem.rules.domain_counts import DomainCounts
from headworks.problem.rules.violations import breaches_by, breaks_on_nodes, broken_on_nodes, new_breaches
from headworks.problem.rules.worker_rules import WorkerNeeds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from headworks.model import Slot
    from headworks.problem.arrays.arrays import Arrays
    from headworks.problem.arrays.constraints import Constraints, LabelRule
    from headworks.problem.rules.rule import Cause, Flags, Ints


TRIALS = 128
"""Placed tasks tried for making way for one that finds no node: each trial looks at all nodes."""

ALL_TRIALS = 16 * TRIALS
"""Such trials for all tasks together."""

EFFORT = 2_000
"""Steps of the depth-first search, at most: each step looks at all nodes."""

PASSES = 2
"""Passes over the tasks: a later one finds what moves of an earlier one made possible."""

FURTHER = 16
"""Limits above its own that are tried for `at_most`; beyond them it is left out as a whole."""


class ConstraintRule:
    """The hard constraints, which every plan keeps, and the soft ones as far as there is room; see `PlacementRule`."""

    def __init__(self, problem: Arrays, constraints: Constraints | None = None) -> None:
        """Take the constraints of a request, or others in their place."""
        self._problem = problem
        self._constraints = problem.constraints if constraints is None else constraints

    def tallies(self) -> tuple[DomainCounts, ...]:
        """Tasks by domain."""
        return (DomainCounts(self._constraints, self._problem.component),)

    def needs(self) -> tuple[WorkerNeeds, ...]:
        """Workers that constraints within them divide."""
        return (WorkerNeeds(self._problem),) if self._constraints.workers else ()

    def worsens(self, _before: Ints, _after: Ints) -> bool:
        """Never: a room refuses what breaks a hard constraint."""
        return False

    def breaches(self, assignment: Mapping[str, Slot]) -> Iterator[Reason]:
        """Hard constraints that an assignment breaks and the running one does not."""
        return new_breaches(self._problem, assignment)

    def obstacles(self, others: Mapping[str, Slot], task: int, slots: Sequence[Slot]) -> list[list[Reason]]:
        """Hard constraints that one task would newly break in each of some slots."""
        found = breaches_by(self._problem, FrozenMap(others), task, slots)
        return [
            [Reason(code="constraint", subject=slot.node, message=each) for each in broken]
            for slot, broken in zip(slots, found, strict=True)
        ]

    def repair(self, node_of: Ints, left_out: Flags) -> Iterator[tuple[Ints, Cause]]:
        """Hard constraints first, then soft ones."""
        kept = repair_hard(self._problem, node_of, left_out)
        yield kept, self._cause(node_of, hard=True)
        yield repair_soft(self._problem, kept), self._cause(kept, hard=False)

    def _cause(self, decided: Ints, *, hard: bool) -> Cause:
        known: list[list[tuple[str, int]]] = []

        def cause(task: int) -> str:
            if not known:  # only a decision that is changed is looked at
                parts = range(len(self._problem.components))
                rules = broken_on_nodes(self._problem, decided, hard=hard)
                known.append([(str(each.constraint), part) for each in rules for part in parts if binds(each, part)])
            part = int(self._problem.component[task])
            if mine := [text for text, of in known[0] if of == part]:
                return f"{'' if hard else 'soft '}constraint: {'; '.join(mine)}"
            if decided[task] < 0 and self._constraints.bound[part]:
                return "it had no node, and constraints leave it this one"
            if decided[task] < 0:
                return "it had no node, and this one serves its topology by now"
            return "it makes way for a task that constraints bind"

        return cause


def repair_hard(problem: Arrays, node_of: Ints, left_out: Flags | None = None) -> Ints:
    """Move what breaks a hard constraint to the best allowed node.

    What runs stays where it is rather than nowhere; what is new and finds no node has none. A placement that breaks
    nothing is returned as it is.

    Args:
        left_out: Tasks that the scheduler left out on purpose, bool (n,); nobody looks for a node for them.
    """
    constraints = problem.constraints
    lost = (node_of < 0) & constraints.bound[problem.component]
    if left_out is not None:
        lost &= ~left_out
    if breaks_on_nodes(problem, node_of, fresh=True) or lost.any():
        found = _repaired(problem, constraints, node_of, lost)
        came = np.isin(problem.topology, problem.topology[lost & (found >= 0)])
        waits = (found < 0) & (node_of < 0) & (problem.current < 0) & came
        return _joined(problem, found, waits if left_out is None else waits & ~left_out)
    return node_of


def _joined(problem: Arrays, node_of: Ints, waits: Flags) -> Ints:
    """Place tasks beside their topologies as far as there is room: it may serve nodes only since the repair."""
    if not waits.any():
        return node_of
    work = _Placement(problem, node_of)
    for task in np.flatnonzero(node_of >= 0).tolist():
        work.room.place(task, int(node_of[task]))
    for task in np.flatnonzero(waits).tolist():
        serves = np.unique(node_of[(problem.topology == problem.topology[task]) & (node_of >= 0)])
        work.settle(task, np.isin(np.arange(problem.m), serves))
    return work.room.node_of.copy()


def keep_running(problem: Arrays, node_of: Ints) -> Ints:
    """Leave what runs where it is; what is new goes where it was decided, if that is allowed and there is room."""
    work = _Placement(problem, node_of)
    for task in np.flatnonzero((problem.current >= 0) & (problem.fixed < 0)).tolist():
        work.room.place(task, int(problem.current[task]))
    new = np.flatnonzero((problem.current < 0) & (node_of >= 0))
    return work.place(new.tolist())


def _repaired(problem: Arrays, constraints: Constraints, node_of: Ints, lost: Flags) -> Ints:
    wanted = np.flatnonzero((node_of >= 0) | lost)
    found = _keep(problem, constraints, node_of, lost)
    if problem.request.limits.max_moves is None or not (problem.current >= 0).any():
        for wishes in (True, False):  # where nodes are all but full, a decision on nodes may be what is in the way
            if (found[wanted] < 0).any():
                anew = _anew(problem, constraints, node_of, lost, wishes=wishes)
                if (anew[wanted] < 0).sum() < (found[wanted] < 0).sum():
                    found = anew
    if (problem.current[wanted] >= 0)[found[wanted] < 0].any():  # nothing that runs is stopped for a constraint
        return keep_running(problem, node_of)
    return found


def _keep(problem: Arrays, constraints: Constraints, node_of: Ints, lost: Flags) -> Ints:
    """Repair with as few changes as possible."""
    work = _Placement(problem, node_of)
    for rule in constraints.counted:
        if rule.kind is ConstraintKind.TOGETHER:
            work.gather(rule, lost)
    stays = np.flatnonzero((node_of >= 0) & (node_of == problem.current) & (work.room.node_of < 0)).tolist()
    reluctant = []
    for task in stays:
        node = int(node_of[task])
        if work.room.admits(task, node):
            work.room.place(task, node)
        else:
            reluctant.append(task)
    for task in reluctant:  # these run and break a constraint: away if possible, before anybody else comes
        if not work.settle(task):
            work.room.place(task, int(node_of[task]))
    rest = np.flatnonzero(((node_of >= 0) | lost) & (work.room.node_of < 0))
    return work.place(rest.tolist())


def _anew(problem: Arrays, constraints: Constraints, node_of: Ints, lost: Flags, *, wishes: bool) -> Ints:
    """Place what constraints bind first, the most bound first, by depth-first search; then all others.

    With `wishes` the search tries the node that was decided first, else those of a task's own component.
    """
    bound = constraints.bound[problem.component]
    work = _Placement(problem, node_of if wishes else np.where(bound, -1, node_of))
    tasks = np.flatnonzero(((node_of >= 0) | lost) & (problem.fixed < 0) & bound)
    choice = constraints.allowed[problem.component[tasks]].sum(axis=1)
    rules = np.array([len(each) for each in constraints.of], dtype=np.int64)[problem.component[tasks]]
    # most bound first, as Storm's constraint solver: fewest nodes, most constraints, then a component at a time
    order = tasks[np.lexsort((tasks, problem.component[tasks], -rules, choice))]
    work.search(order.tolist())
    rest = np.flatnonzero(((node_of >= 0) | lost) & (work.room.node_of < 0))
    return work.place(rest.tolist())


class _Placement:
    """A room that is filled with a decision as far as constraints allow."""

    def __init__(self, problem: Arrays, node_of: Ints) -> None:
        self.problem, self.wanted, self.room = problem, node_of, Room(problem)
        still = problem.request.limits.max_moves is not None
        self._trials = ALL_TRIALS
        self._may_give_way = (problem.fixed < 0) & ((problem.current < 0) | (not still))

    def place(self, tasks: Iterable[int]) -> Ints:
        """Place tasks where they are wanted or else on the best node; return where all are."""
        lost = []
        for task in tasks:
            node = int(self.wanted[task])
            if node >= 0 and self.room.fits_on(task, node):
                self.room.place(task, node)
            else:
                lost.append(task)
        for task in lost:
            if not self.settle(task):
                self._exchange(task)
        return self.room.node_of.copy()

    def settle(self, task: int, nodes: Flags | None = None) -> bool:
        """Place a task on the best of the nodes that fit, of some or of all, if there is one."""
        fits = self.room.fits(task) if nodes is None else self.room.fits(task) & nodes
        if not fits.any():
            return False
        self.room.place(task, self._best(task, fits))
        return True

    def _best(self, task: int, fits: Flags) -> int:
        """Of some nodes the one whose tasks the task exchanges most with; the lowest of equals."""
        units = self.problem.traffic.of_task(task, self.room.node_of, self.problem.m)
        return int(np.where(fits, units, -1).argmax())

    def _exchange(self, task: int) -> bool:
        """Put a task in the place of one that finds another node, on a node that constraints leave open to it."""
        room, trials = self.room, min(TRIALS, self._trials)
        if not trials:
            return False
        opened = np.flatnonzero(room.open_to(task) & (self.problem.slots > 0))
        for node in opened.tolist():
            for other in np.flatnonzero((room.node_of == node) & self._may_give_way).tolist():
                if not trials:
                    return False
                trials, self._trials = trials - 1, self._trials - 1
                room.remove(other)
                if room.fits_on(task, node):
                    room.place(task, node)
                    if self.settle(other):
                        return True
                    room.remove(task)
                room.place(other, node)
        return False

    def gather(self, rule: CountRule, lost: Flags) -> None:
        """Place all tasks of a set in one domain, if one has room for them."""
        problem, room = self.problem, self.room
        member = np.array(rule.group, dtype=np.int64)[problem.component] >= 0
        tasks = np.flatnonzero(member & ((self.wanted >= 0) | lost) & (room.node_of < 0))
        nodes = self.wanted[np.flatnonzero(member)]
        if not len(tasks) or (nodes.min() >= 0 and len(np.unique(rule.domain[nodes])) == 1):
            return
        votes = np.zeros(len(rule.names))
        for places, weight in ((self.wanted, 1.0), (problem.current, 1.0 if problem.request.limits.max_moves else 0.0)):
            at = places[tasks][places[tasks] >= 0]
            votes += weight * np.bincount(rule.domain[at], minlength=len(votes))
        largest_first = tasks[np.lexsort((tasks, -problem.demand[tasks].sum(axis=1)))].tolist()
        for domain in np.argsort(-votes, kind="stable").tolist():
            if self._gather_in(largest_first, rule.domain == domain):
                return

    def _gather_in(self, tasks: list[int], nodes: Flags) -> bool:
        """Place all of some tasks on some nodes, or none."""
        for number, task in enumerate(tasks):
            fits = self.room.fits(task) & nodes
            if not fits.any():
                for placed in tasks[:number]:
                    self.room.remove(placed)
                return False
            wanted = int(self.wanted[task])
            self.room.place(task, wanted if wanted >= 0 and fits[wanted] else self._best(task, fits))
        return True

    def search(self, tasks: list[int]) -> None:
        """Place tasks one by one, depth first with backtracking; the deepest placement found stays."""
        ways: list[list[int]] = []
        deepest: list[int] = []
        for _ in range(EFFORT):
            if len(ways) == len(tasks) and all(self.room.node_of[task] >= 0 for task in tasks):
                return
            if len(ways) < len(tasks) and (not ways or self.room.node_of[tasks[len(ways) - 1]] >= 0):
                ways.append(self._ways(tasks[len(ways)]))
            task = tasks[len(ways) - 1]
            if ways[-1]:
                self.room.place(task, ways[-1].pop())
                if len(ways) > len(deepest):
                    deepest = [int(self.room.node_of[each]) for each in tasks[: len(ways)]]
                continue
            ways.pop()  # a dead end: the task before it is placed anew
            if not ways:
                break
            self.room.remove(tasks[len(ways) - 1])
        for task in tasks[: len(ways)]:
            if self.room.node_of[task] >= 0:
                self.room.remove(task)
        for task, node in zip(tasks, deepest, strict=False):
            self.room.place(task, node)

    def _ways(self, task: int) -> list[int]:
        """Nodes to try for a task, the best one last: where it is wanted, where its own component is, by traffic."""
        fits = self.room.fits(task)
        nodes = np.flatnonzero(fits)
        units = self.problem.traffic.of_task(task, self.room.node_of, self.problem.m)[nodes]
        own = (self.problem.component == self.problem.component[task]) & (self.room.node_of >= 0)
        beside = np.isin(nodes, self.room.node_of[own])
        ways: list[int] = nodes[np.lexsort((-nodes, units, beside, nodes == self.wanted[task]))].tolist()
        return ways


def repair_soft(problem: Arrays, node_of: Ints) -> Ints:
    """Move tasks that break soft constraints to nodes that fit and weigh less, the heaviest first.

    No hard constraint is broken for it, and no batch takes longer than it may. Where the number of moves is limited,
    what runs stays.
    """
    constraints = problem.constraints
    if not constraints.soft:
        return node_of
    work = _SoftPlacement(problem, constraints, node_of)
    for _ in range(PASSES):
        if not work.improve():
            break
    return work.room.node_of.copy()


class _SoftPlacement:
    def __init__(self, problem: Arrays, constraints: Constraints, node_of: Ints) -> None:
        self.problem, self.room = problem, Room(problem)
        size = constraints.allowed.shape
        self._rules = constraints.soft_counted
        # soft rules counted as if they were hard, each by itself, tell where one is broken
        plain = attrs.evolve(constraints, allowed=np.ones(size, dtype=bool))
        self._each = [
            DomainCounts(attrs.evolve(plain, counted=(rule,), of=_of(rule.group)), problem.component)
            for rule in self._rules
        ]
        self._labels = np.zeros(size)
        for label in constraints.soft_labels:
            self._labels[np.ix_(label.member, ~label.nodes)] += label.constraint.weight
        still = problem.request.limits.max_moves is not None
        self._free = (problem.fixed < 0) & ((problem.current < 0) | (not still))
        for task in np.flatnonzero(node_of >= 0).tolist():
            self._change(task, int(node_of[task]), 1)
            if problem.fixed[task] < 0:
                self.room.place(task, int(node_of[task]))

    def improve(self) -> bool:
        """Move each task that breaks a constraint, if another node weighs less; say whether any moved."""
        here = self.room.node_of
        tasks = np.flatnonzero((here >= 0) & self._free)
        costs = np.array([self._cost(task)[here[task]] for task in tasks.tolist()])
        moved = False
        for task in tasks[np.lexsort((tasks, -costs))][: int((costs > 0).sum())].tolist():
            moved |= self._move(task)
        return moved

    def _cost(self, task: int) -> NDArray[np.float64]:
        """Weight of what the task breaks on each node, itself taken away first, float64 (m,)."""
        node = int(self.room.node_of[task])
        cost: NDArray[np.float64] = self._labels[self.problem.component[task]].copy()
        for rule, counts in zip(self._rules, self._each, strict=True):
            if rule.group[self.problem.component[task]] >= 0:
                counts.change(task, node, -1)
                cost += rule.constraint.weight * ~counts.open_to(task, self.room.free)
                counts.change(task, node)
        return cost

    def _move(self, task: int) -> bool:
        here, cost = int(self.room.node_of[task]), self._cost(task)
        if not cost[here]:
            return False
        self.room.remove(task)
        fits = np.flatnonzero(self.room.fits(task))
        units = self.problem.traffic.of_task(task, self.room.node_of, self.problem.m)
        there = min(fits.tolist(), key=lambda node: (cost[node], -units[node], node), default=here)
        if cost[there] >= cost[here]:
            there = here
        self.room.place(task, there)
        if there != here and self._breaks_another(task, here):
            self.room.remove(task)
            self.room.place(task, here)
            there = here
        if there != here:
            self._change(task, here, -1)
            self._change(task, there, 1)
        return there != here

    def _breaks_another(self, task: int, here: int) -> bool:
        """Check whether a task breaks another rule where it is now, as a batch that takes too long."""
        before = self.room.node_of.copy()
        before[task] = here
        return any(rule.worsens(before, self.room.node_of) for rule in self.problem.rules)

    def _change(self, task: int, node: int, sign: int) -> None:
        for counts in self._each:
            counts.change(task, node, sign)


def _of(group: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    return tuple((0,) if each >= 0 else () for each in group)


def constraint_reason(problem: Arrays, task: int, node_of: NDArray[np.int64]) -> Reason:
    """Reason for a task that would have room, but only where hard constraints forbid it."""
    name, part, constraints = problem.task_ids[task], int(problem.component[task]), problem.constraints
    binding = [rule for rule in constraints.hard if binds(rule, part)]
    alike = np.flatnonzero((problem.component == part) & (node_of < 0)).tolist()
    for rule in binding:
        found = _relaxed(problem, rule, alike, node_of)
        if found is not None:
            limit, node = found
            where = f"{name} fits on {problem.node_ids[node]}"
            what = f"with {limit} in place of {_limit(rule)}" if limit is not None else "without this constraint"
            message = f"{name} has room only where a constraint forbids it: {rule.constraint}{_short(problem, rule)}"
            return Reason(
                code="constraint",
                subject=name,
                message=f"{message}; {what} {where}",
                resource=str(rule.constraint),
                need=1.0 if limit is None else float(limit),
                have=0.0 if limit is None else float(_limit(rule) or 0),
            )
    named = "; ".join(str(rule.constraint) for rule in binding)
    message = f"{name} has room only where constraints forbid it: {named}; to relax one is not enough"
    return Reason(code="constraint", subject=name, message=message, resource=named, need=1.0, have=0.0)


def _limit(rule: LabelRule | CountRule) -> int | None:
    counts = isinstance(rule, CountRule) and rule.kind is ConstraintKind.AT_MOST
    return rule.limit if counts and isinstance(rule, CountRule) else None


def _short(problem: Arrays, rule: LabelRule | CountRule) -> str:
    """For a set that has to be together, the resource of which the largest domain has too little."""
    if not isinstance(rule, CountRule) or rule.kind is not ConstraintKind.TOGETHER:
        return ""
    most = np.zeros((len(rule.names), len(problem.resources)))
    np.add.at(most, rule.domain, problem.capacity)
    lacking = np.flatnonzero(rule.need > most.max(axis=0, initial=0.0)).tolist()
    amounts = [f"{rule.need[at]:g} {problem.resources[at]} of {most[:, at].max():g}" for at in lacking]
    return f" (they need {', '.join(amounts)} that one {rule.constraint.scope} has)" if amounts else ""


def _relaxed(
    problem: Arrays,
    rule: LabelRule | CountRule,
    tasks: list[int],
    node_of: NDArray[np.int64],
) -> tuple[int | None, int] | None:
    """The smallest limit in place of a constraint's own, None for none, with which all of some tasks find nodes.

    Returns:
        The limit, and the node of the first task; None if it is not this constraint alone that keeps them out.
    """
    own = _limit(rule)
    limits: list[int | None] = [] if own is None else [own + more for more in range(1, min(FURTHER, len(tasks)) + 1)]
    for limit in [*limits, None]:
        room = Room(problem, node_of, (ConstraintRule(problem, problem.constraints.without(rule, limit=limit)),))
        nodes = [_place(room, task) for task in tasks]
        if nodes and min(nodes) >= 0:
            return limit, nodes[0]
    return None


def _place(room: Room, task: int) -> int:
    """Place a task on the first node that fits; its index, -1 if there is none."""
    fits = room.fits(task)
    if not fits.any():
        return -1
    room.place(task, int(fits.argmax()))
    return int(fits.argmax())
