"""The limit on batches of sequential topologies: how long the engine's own scheduler would take, and who is slower.

An engine without a plan gives each task to the core that is free first. Tasks that are bound to nodes wait for theirs,
so a plan makes a batch longer unless nodes are given work by their cores, stage by stage. The traffic that a decision
had saved is saved again after it was changed: tasks move, or change places with one of their stage, as long as batches
stay short enough. A decision that saved none gets none: its scheduler is judged by what it decided.

Several topologies share cores. The batch of each then runs on the part of every core that the others leave it, as a
mean: their batches begin when they do.
"""

from __future__ import annotations

import heapq
from bisect import insort
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.model import FrozenMap, Reason
from headworks.problem.arrays.batches import Batch
from headworks.problem.room.room import Room
from headworks.problem.rules.violations import breaks_on_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from headworks.model import Slot
    from headworks.problem.arrays.arrays import Arrays
    from headworks.problem.rules.rule import Cause, Flags, PlacementRule

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

OVER = 1e-9
"""Relative excess that counts as rounding."""
LESS = 0.05
"""Part of the traffic between nodes that a placement which had to be changed has to save, for tasks to move."""
TRIED = 8
"""Tasks of the slowest node that are looked at for each step, those with the most work."""
PARTNERS = 8
"""Tasks of a node that an exchange is tried with, those that gain most by it."""
LOOKS = 10_000
"""Times that the peers of a task are looked at, or a change is tried: one costs some 50 microseconds."""


@attrs.frozen(eq=False)
class Slowdown:
    """The longest batches that a plan may make.

    Attributes:
        batches: The batch of each topology.
        goals: The longest duration of each for what is placed anew.
        bounds: The longest duration of each for what runs or is placed anew: what runs may be slower.
        free: int64 (n,), a placement that keeps to it: each task where a core is free first and has room.
    """

    batches: tuple[Batch, ...]
    goals: tuple[float, ...]
    bounds: tuple[float, ...]
    free: Ints

    def seconds(self, node_of: Ints) -> tuple[float, ...]:
        """Duration of each batch, on the cores that other topologies leave it."""
        return _seconds(self.batches, node_of)

    def slow(self, node_of: Ints, more: float = OVER) -> bool:
        """Check whether a batch takes longer than by the engine's own scheduler, times the limit; see `exceeded`.

        Args:
            more: Part of the goal by which it may be longer.
        """
        return bool((node_of >= 0).all()) and _any_over(self.seconds(node_of), self.goals, more)

    def exceeded(self, node_of: Ints) -> bool:
        """Check whether a batch takes longer than it may; not while tasks have no node."""
        return bool((node_of >= 0).all()) and _any_over(self.seconds(node_of), self.bounds, OVER)

    @property
    def said(self) -> str:
        """The goals in words."""
        return ", ".join(f"{each:.3g}" for each in self.goals) + " s"


def _seconds(batches: tuple[Batch, ...], node_of: Ints) -> tuple[float, ...]:
    return tuple(each.beside(node_of).seconds(node_of) for each in batches)


def _any_over(seconds: Sequence[float], limits: Sequence[float], more: float) -> bool:
    return any(each > limit * (1 + more) for each, limit in zip(seconds, limits, strict=True))


def slowdown_of(problem: Arrays, rules: tuple[PlacementRule, ...]) -> Slowdown | None:
    """The limit on the batches of a request, None where it has none.

    There is none where a topology does not work in batches, or its work is not known; where several claim nodes, which
    one is to have and others not; where the engine would find no room for every task; and where some tasks run and may
    not all move, others being new.

    Args:
        rules: Rules that the engine's own scheduler keeps as well.
    """
    limits, batches, topologies = problem.request.limits, problem.batches, problem.request.topologies
    if limits.slowdown is None or not batches or len(batches) != len(topologies):
        return None
    if len(topologies) > 1 and any(each.claims_nodes for each in topologies):
        return None
    runs = problem.current >= 0
    if runs.any() and not runs.all() and (limits.max_moves is not None or not limits.restarts):
        return None
    free = _free(problem, batches, rules)
    if free is None:
        return None
    goals = tuple(limits.slowdown * each for each in _seconds(batches, free))
    running = _seconds(batches, problem.current) if runs.all() else (0.0,) * len(batches)
    return Slowdown(batches, goals, tuple(map(max, goals, running)), free)


def _free(problem: Arrays, batches: tuple[Batch, ...], rules: tuple[PlacementRule, ...]) -> Ints | None:
    """List scheduling of each stage over the cores of all nodes that have room; None where a task finds none.

    Of several topologies a task goes, of the nodes that are free first, to that which has least to do in all.
    """
    room, load = Room(problem, rules=rules), np.zeros(problem.m)
    for batch in batches:
        work, speed = batch.work, batch.speed.tolist()
        for tasks in batch.stages:
            ends = [[0.0] * cores for cores in batch.cores.tolist()]
            first = np.zeros(problem.m)
            for task in tasks.tolist():
                node = int(problem.fixed[task])
                if node < 0:
                    open_to = room.fits(task)
                    if not open_to.any():
                        return None
                    soonest = np.where(open_to, first, np.inf)
                    node = int(np.where(soonest == soonest.min(), load, np.inf).argmin())
                    room.place(task, node)
                heapq.heapreplace(ends[node], ends[node][0] + work[task] / speed[node])
                first[node] = ends[node][0]
                load[node] += 0.0 if len(batches) == 1 else batch.demand[task] / batch.cores[node]
    return room.node_of.copy()


def shorten_batches(problem: Arrays, limit: Slowdown, node_of: Ints) -> Ints:
    """Move tasks off the slowest nodes of stages until a batch is no longer than it may be.

    A placement within the limit is returned as it is. Of the moves that shorten a stage, those come first that leave
    a task where it runs, then those that add the least traffic between nodes. What was added is saved elsewhere, as far
    as the limit lets it.
    """
    if not limit.slow(node_of) or (node_of == problem.current).all():
        return node_of
    found = (_changed if len(limit.batches) == 1 else _changed_together)(problem, limit, node_of)
    # What runs keeps to the limit by its definition. It stays where it is as fast, or few tasks may move.
    few = problem.request.limits.max_moves is not None
    stays = bool((problem.current >= 0).all()) and (few or not limit.slow(problem.current, LESS))
    worse = limit.slow(found) or _as_good(problem, problem.current, found)
    return problem.current if stays and worse else found


def _changed(problem: Arrays, limit: Slowdown, node_of: Ints) -> Ints:
    """A placement that keeps to the limit, with the traffic of the decision if single changes find it.

    They begin at the decision, where each task is on the core that is free first, and at what runs.
    """
    enough = problem.traffic.inter_node(node_of)
    (batch,), (goal,) = limit.batches, limit.goals
    decided = TimedPlacement(problem, batch, node_of)
    _Balancing(decided, goal, limit.free).run()
    starts = [decided, TimedPlacement(problem, batch, limit.free)]
    if (problem.current >= 0).all() and not _breaks(problem, problem.current):
        starts.append(TimedPlacement(problem, batch, problem.current))
    best: tuple[int, int] | None = None
    found = limit.free
    for start in starts:
        if limit.slow(start.room.node_of):
            continue
        save_traffic(start, goal * (1 + OVER), enough, LOOKS // len(starts))
        node_of = start.room.node_of
        rank = max(problem.traffic.inter_node(node_of), enough), int((node_of != problem.current).sum())
        if best is None or rank < best:
            best, found = rank, node_of.copy()
    return found


def _changed_together(problem: Arrays, limit: Slowdown, node_of: Ints) -> Ints:
    """The same of several topologies; those that are still slow go where cores are free first."""
    enough = problem.traffic.inter_node(node_of)
    decided = mixed = _balanced_together(problem, limit, node_of)
    for batch, seconds, goal in zip(limit.batches, limit.seconds(decided), limit.goals, strict=True):
        if seconds > goal * (1 + OVER):
            mixed = np.where(problem.topology == batch.topology, limit.free, mixed)
    starts = [mixed, limit.free, *([problem.current] if (problem.current >= 0).all() else [])]
    allowed = [each for each in starts if not limit.slow(each) and not _breaks(problem, each)]
    saved = [_saved_together(problem, limit, each, enough, LOOKS // len(starts)) for each in allowed]
    return min(saved, key=lambda each: max(problem.traffic.inter_node(each), enough), default=limit.free)


def _balanced_together(problem: Arrays, limit: Slowdown, node_of: Ints) -> Ints:
    """The decision, where tasks leave the slowest nodes of stages, one topology after the other."""
    for batch, goal in zip(limit.batches, limit.goals, strict=True):
        placement = TimedPlacement(problem, batch.beside(node_of), node_of)
        _Balancing(placement, goal, limit.free).run()
        node_of = placement.room.node_of.copy()
    return node_of


def _saved_together(problem: Arrays, limit: Slowdown, node_of: Ints, enough: int, looks: int) -> Ints:
    """A placement that keeps to the limit, with less traffic, one topology after the other."""
    for batch, goal in zip(limit.batches, limit.goals, strict=True):
        placement = TimedPlacement(problem, batch.beside(node_of), node_of)
        save_traffic(placement, goal * (1 + OVER), enough, looks // len(limit.batches))
        found = placement.room.node_of.copy()
        # The others' cores have changed: what was saved counts only if they bear it.
        node_of = node_of if limit.slow(found) else found
    return node_of


def _breaks(problem: Arrays, node_of: Ints) -> bool:
    """Check whether a placement is over the capacity of a node, or breaks a hard constraint on nodes."""
    return bool((problem.used(node_of) > problem.capacity).any() or breaks_on_nodes(problem, node_of, fresh=True))


def _as_good(problem: Arrays, running: Ints, found: Ints) -> bool:
    """Check whether what runs may stay: measurements that differ a little would else move tasks in every round."""
    if _breaks(problem, running):
        return False
    traffic = problem.traffic
    return traffic.inter_node(found) >= (1 - LESS) * traffic.inter_node(running)


class BatchRule:
    """The limit on batches as a rule of a request; see `PlacementRule`. No node is closed by it."""

    def __init__(self, problem: Arrays, limit: Slowdown) -> None:
        self._problem, self.limit = problem, limit

    def tallies(self) -> tuple[()]:
        """None."""
        return ()

    def needs(self) -> tuple[()]:
        """None."""
        return ()

    def worsens(self, before: Ints, after: Ints) -> bool:
        """Check whether a batch takes too long after a change, and took less before it."""
        longer = zip(self.limit.seconds(after), self.limit.seconds(before), strict=True)
        return self.limit.slow(after) and any(one > two for one, two in longer)

    def breaches(self, assignment: Mapping[str, Slot]) -> Iterator[Reason]:
        """The reason why an assignment may not be carried out whose batches take too long."""
        limit, node_of = self.limit, self._problem.node_of(FrozenMap(assignment))
        if not limit.exceeded(node_of):
            return
        for batch, need, have in zip(limit.batches, limit.seconds(node_of), limit.bounds, strict=True):
            name = self._problem.topology_ids[batch.topology]
            message = (
                f"a batch of {name} would take {need:.3g} s, {have:.3g} s are allowed: limits.slowdown is "
                f"{self._problem.request.limits.slowdown:g} times what it takes where each task runs on the core that "
                "is free first"
            )
            if need > have * (1 + OVER):
                yield Reason(code="slowdown", subject=name, message=message, resource="seconds", need=need, have=have)

    def obstacles(self, others: Mapping[str, Slot], task: int, slots: Sequence[Slot]) -> list[list[Reason]]:
        """The same for one task in each of some slots."""
        name = self._problem.task_ids[task]
        return [
            [attrs.evolve(each, subject=slot.node) for each in self.breaches({**others, name: slot})] for slot in slots
        ]

    def repair(self, node_of: Ints, _left_out: Flags) -> Iterator[tuple[Ints, Cause]]:
        """Shorter batches."""
        yield shorten_batches(self._problem, self.limit, node_of), self.cause

    def cause(self, _task: int) -> str:
        """Cause of every change that the limit asks for."""
        return f"limits.slowdown: a batch may take {self.limit.said}"


class _Balancing:
    """A placement that is changed task by task; each step shortens a stage on its slowest node."""

    def __init__(self, placement: TimedPlacement, goal: float, free: Ints) -> None:
        self._placement, self._goal = placement, goal
        self._problem, self._batch = placement.problem, placement.batch
        stages = range(len(self._batch.stages))
        self._least = [float(self._batch.of_stage(stage, free).max(initial=0.0)) for stage in stages]

    def run(self) -> None:
        """Go on until the limit is kept, or no step shortens a stage that is slower than the engine's own."""
        for _ in range(4 * self._problem.n):
            longest = self._placement.longest
            if sum(longest) <= self._goal:
                break
            order = sorted(range(len(longest)), key=lambda stage: self._least[stage] - longest[stage])
            if not any(self._step(stage) for stage in order):
                break

    def _step(self, stage: int) -> bool:
        """Move one task off the slowest node of a stage, if that shortens what the node takes."""
        times, work = self._placement.times[stage], self._batch.work
        node = int(times.argmax())
        free = [task for task in self._placement.on[stage][node] if self._problem.fixed[task] < 0]
        best: tuple[tuple[bool, float], int, int] | None = None
        for task in sorted(free, key=lambda task: (-work[task], task))[:TRIED]:
            found = self._target(stage, task, node, float(times[node]))
            if found is not None:
                cost, target = found
                ranked = (bool(self._problem.current[task] != target), cost)
                if best is None or ranked < best[0]:
                    best = ranked, task, target
        if best is None:
            return False
        _, task, target = best
        self._placement.move(task, target)
        return True

    def _target(self, stage: int, task: int, node: int, slowest: float) -> tuple[float, int] | None:
        """Units of traffic for each second less, and the node to which they are the fewest; None if nothing helps."""
        room, on = self._placement.room, self._placement.on[stage]
        times, work = self._placement.times[stage], self._batch.work[task] / self._batch.speed
        # A node that has a free core takes the task beside its others, any other after some of them.
        ends = np.maximum(times + work / self._batch.cores, work)
        open_to = (ends < slowest * (1 - OVER)) & (np.arange(self._problem.m) != node)
        if not open_to.any():
            return None
        open_to &= room.fits(task)
        peers = self._problem.traffic.of_task(task, room.node_of, self._problem.m)
        left = self._batch.waves([each for each in on[node] if each != task], node)
        runs = int(self._problem.current[task])
        nodes = np.flatnonzero(open_to).tolist()
        for target in sorted(nodes, key=lambda each: (each != runs, float(ends[each]), each)):
            end = self._batch.waves(sorted([*on[target], task]), target)
            gain = slowest - max(end, left)
            if gain > slowest * OVER:
                return float(peers[node] - peers[target]) / gain, target
        return None


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
        """Put a task that is not fixed on another node, whether it fits or not."""
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

    def _peers(self, task: int) -> Ints:
        self._left -= 1
        problem, node_of = self._placement.problem, self._placement.room.node_of
        return problem.traffic.of_task(task, node_of, problem.m)
