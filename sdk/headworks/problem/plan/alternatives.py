"""Slots that one task could have while every other task stays where a plan puts it, and what speaks against each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import attrs
import numpy as np
from numpy.typing import NDArray

from headworks.model import THREADS, Plan, Reason, Slot
from headworks.problem.arrays.arrays import Arrays
from headworks.problem.arrays.profiles import FULL, OVER, Profiled, counts_of, load_with

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Heaps = dict[Slot, float]


@attrs.frozen(eq=False, kw_only=True)
class Seats:
    """Workers of some tasks in an assignment, by number: tens of thousands of tasks are looked at once, as arrays.

    Attributes:
        worker_of: int64, number of the worker of each of the tasks, -1 for those without one.
        workers: Slot of each worker.
    """

    worker_of: NDArray[np.int64]
    workers: tuple[Slot, ...]

    @classmethod
    def of(cls, assignment: Mapping[str, Slot], names: Iterable[str]) -> Seats:
        """Number the workers of some tasks.

        Args:
            assignment: Slots by the ids of tasks.
        """
        slots = list(map(assignment.get, names))
        # A plan shares the values of its slots, and hashing each is most of the time: what is one object is one worker.
        _, first, object_of = np.unique(
            np.fromiter(map(id, slots), dtype=np.int64, count=len(slots)), return_index=True, return_inverse=True
        )
        numbers: dict[tuple[str, int], int] = {}
        workers: list[Slot] = []
        number_of = []
        for slot in map(slots.__getitem__, first.tolist()):
            if slot is None:
                number_of.append(-1)
                continue
            number_of.append(number := numbers.setdefault((slot.node, slot.port), len(numbers)))
            if number == len(workers):
                workers.append(slot)
        return cls(worker_of=np.array(number_of, dtype=np.int64)[object_of], workers=tuple(workers))


@attrs.frozen(eq=False, kw_only=True)
class Others:
    """A plan without one of its tasks.

    Attributes:
        problem: The request as arrays, with the demands that the plan was made with.
        plan: The plan.
        task: Index of the task.
        node_of: int64 (n,), node of each task, -1 for the task itself and for those without one.
        seats: Workers of all tasks in the plan, that of the task included.
        heaps: MB of heap in use in each worker of the task's topology, by slot.
        taken: Ports in use on each node that has a worker, by its id.
    """

    problem: Arrays
    plan: Plan
    task: int
    node_of: NDArray[np.int64]
    seats: Seats
    heaps: Mapping[Slot, float]
    taken: Mapping[str, set[int]]

    @classmethod
    def of(cls, problem: Arrays, plan: Plan, task: int) -> Others:
        """Take a task out of a plan.

        Args:
            problem: The request as arrays, with the demands that the plan was made with.
        """
        seats = Seats.of(plan.assignment, problem.task_ids)
        worker_of = seats.worker_of.copy()
        worker_of[task] = -1
        nodes = np.array([problem.node_index.get(slot.node, -1) for slot in seats.workers] + [-1], dtype=np.int64)
        taken: dict[str, set[int]] = {}
        for worker in np.unique(worker_of[worker_of >= 0]).tolist():
            slot = seats.workers[worker]
            taken.setdefault(slot.node, set()).add(slot.port)
        mine = np.flatnonzero(problem.topology == problem.topology[task])
        heaps = _heaps(seats.workers, worker_of[mine], problem.heap[mine])
        there = nodes[worker_of]
        return cls(problem=problem, plan=plan, task=task, node_of=there, seats=seats, heaps=heaps, taken=taken)

    @property
    def id(self) -> str:
        """Id of the task."""
        return self.problem.task_ids[self.task]

    @cached_property
    def planned(self) -> Slot | None:
        """Slot that the plan gives the task."""
        return self.plan.assignment.get(self.id)

    @cached_property
    def ran(self) -> Slot | None:
        """Slot in which the task runs."""
        return self.problem.request.assignment[self.id] if self.problem.current[self.task] >= 0 else None

    def slots(self) -> tuple[Slot, ...]:
        """Slots to choose from: on each node the workers of the task's topology and one that is free.

        On the node of the plan it is the planned one alone.
        """
        found = [slot for slot in self.heaps if self.planned is None or slot.node != self.planned.node]
        for node in self.problem.request.cluster.nodes:
            if self.planned is not None and node.id == self.planned.node:
                found.append(self.planned)
                continue
            taken = () if self.problem.request.cluster.shared_slots else self.taken.get(node.id, ())
            free = [port for port in node.slots if port not in taken] if taken else node.slots
            if self.ran is not None and self.ran.node == node.id and self.ran.port in free:
                found.append(self.ran)
            elif free:
                found.append(Slot(node.id, min(free)))
        return tuple(found)

    def reasons(self, slots: tuple[Slot, ...]) -> list[list[Reason]]:
        """Reasons why the task cannot be in each of some slots.

        Args:
            slots: The slots, of `slots()`.
        """
        by_node = self._capacity()
        found = [[*self._stays(slot), *by_node.get(slot.node, ()), *self._heap(slot)] for slot in slots]
        for rule in self.problem.rules:
            others = {name: slot for name, slot in self.plan.assignment.items() if name != self.id}
            for all_of_them, more in zip(found, rule.obstacles(others, self.task, slots), strict=True):
                all_of_them += more
        return found

    def _capacity(self) -> Mapping[str, list[Reason]]:
        """Resources that each node is short of, by its id; none for the others."""
        problem, runs = self.problem, self.problem.current >= 0
        need = problem.used(self.node_of) + problem.demand[self.task]
        have = problem.capacity.copy()
        if self.ran is not None:  # a node that was overloaded before may stay so, but takes nothing
            here = problem.current[self.task]
            have[here] = np.maximum(have[here], problem.demand[runs & (problem.current == here)].sum(axis=0))
        found: dict[str, list[Reason]] = defaultdict(list)
        for node, resource in np.argwhere(need > have).tolist():
            each = float(need[node, resource]), float(have[node, resource])
            found[problem.node_ids[node]].append(_short(problem.node_ids[node], problem.resources[resource], *each))
        for reason in self._profiled():
            found[reason.subject].append(reason)
        return found

    def _profiled(self) -> Iterator[Reason]:
        """Nodes that profiles say are too slow for the task, or say nothing of, at the plan's input rate."""
        problem, rate = self.problem, self.plan.input_rate
        if rate is None or not problem.request.profiles:
            return
        profiled, part = Profiled.of(problem.request), int(problem.component[self.task])
        without, load = load_with(problem, self.node_of, self.task, rate)
        mine = bool(profiled.covered[part])
        there = counts_of(problem, self.node_of)[profiled.covered].sum(axis=0) > 0
        for node, name in enumerate(problem.node_ids):
            if mine and not profiled.covers[part, node]:
                message = f"{'/'.join(problem.components[part])} has no profile for it"
                yield Reason(code="profile", subject=name, message=message)
            elif (mine or there[node]) and load[node] > FULL * (1 + OVER):
                yield _short(name, "cpu", float(load[node]), FULL, unit=" %")
            elif mine and load[node] - without[node] > profiled.limit[part, node] * (1 + OVER):
                need, have = float(load[node] - without[node]), float(profiled.limit[part, node])
                message = f"it would need {need:g} % of it, and its threads can use {have:g} %"
                yield Reason(code=THREADS, subject=name, message=message, resource="cpu", need=need, have=have)

    def _heap(self, slot: Slot) -> Iterator[Reason]:
        problem, topology = self.problem, int(self.problem.topology[self.task])
        need = self.heaps.get(slot, 0.0) + float(problem.heap[self.task])
        have = float(problem.heap_limit[topology])
        if need > have and need > self._ran_heaps.get(slot, 0.0):
            yield _short(slot.node, "heap", need, have, unit=" MB", where=f"the worker in {slot}")

    @cached_property
    def _ran_heaps(self) -> Heaps:
        return _heaps(self._live.workers, self._live.worker_of, self.problem.heap[self._of_topology])

    def _stays(self, slot: Slot) -> Iterator[Reason]:
        """Limits of the round that keep the task from a slot."""
        problem, limits = self.problem, self.problem.request.limits
        fixed = int(problem.fixed[self.task])
        if fixed >= 0 and problem.node_ids[fixed] != slot.node:
            message = f"it runs on {problem.node_ids[fixed]} and may not move"
            yield Reason(code="fixed", subject=slot.node, message=message)
        elif not (limits.restarts or self.live) and slot != self.ran and slot in self.running:
            yield Reason(code="restart", subject=slot.node, message=f"the worker in {slot} may not restart")
        elif self.ran is not None and limits.max_moves is not None and slot != self.ran:
            moves = self._moves + 1
            if moves > limits.max_moves:
                message = f"{moves} running tasks would move, the limit is {limits.max_moves}"
                need, have = float(moves), float(limits.max_moves)
                yield Reason(code="move-limit", subject=slot.node, message=message, need=need, have=have)

    @cached_property
    def live(self) -> bool:
        """True if workers run on while tasks of the topology move."""
        name = self.problem.tasks[self.task].topology
        return any(each.live for each in self.problem.request.topologies if each.id == name)

    @property
    def _moves(self) -> int:
        """Running tasks that the plan moves, without this one."""
        return self.plan.scores.moves - (self.ran is not None and self.planned != self.ran)

    @cached_property
    def _live(self) -> Seats:
        """Workers in which the tasks of the topology run."""
        problem, running = self.problem, self.problem.request.assignment
        ids, lives = problem.task_ids, problem.current >= 0
        live = {ids[at]: running[ids[at]] for at in self._of_topology if lives[at]}
        return Seats.of(live, [ids[at] for at in self._of_topology])

    @cached_property
    def _of_topology(self) -> list[int]:
        found: list[int] = np.flatnonzero(self.problem.topology == self.problem.topology[self.task]).tolist()
        return found

    @cached_property
    def running(self) -> dict[Slot, set[int]]:
        """Other tasks of the topology that run in each of its workers, by slot, that of the task included."""
        return self._tasks_in(self._live)

    @cached_property
    def unchanged(self) -> set[Slot]:
        """Running workers of the topology whose tasks are as planned, but for the task itself."""
        mine = self.seats.worker_of[self._of_topology]
        after = self._tasks_in(attrs.evolve(self.seats, worker_of=mine))
        return {slot for slot, tasks in self.running.items() if tasks == after.get(slot, set())}

    def _tasks_in(self, seats: Seats) -> dict[Slot, set[int]]:
        found: dict[int, set[int]] = defaultdict(set)
        for at, worker in zip(self._of_topology, seats.worker_of.tolist(), strict=True):
            if worker >= 0:
                tasks = found[worker]  # empty for the worker of the task alone
                if at != self.task:
                    tasks.add(at)
        return {seats.workers[worker]: tasks for worker, tasks in found.items()}


def restarts(others: Others, slot: Slot | None) -> int:
    """Running workers whose tasks change because of the task alone, if it goes to a slot."""
    if slot == others.ran or others.live or not others.unchanged:
        return 0
    return len({slot, others.ran} & others.unchanged)


def no_slot(others: Others, node: str) -> Reason:
    """The reason why a node has no slot for the task."""
    count = len(others.taken.get(node, ()))
    message = f"no slot is free: workers of other topologies are in all {count}" if count else "it has no slots"
    return Reason(code="slots", subject=node, message=message, resource="slots", need=1.0, have=0.0)


def _heaps(workers: Sequence[Slot], worker_of: NDArray[np.int64], heap: NDArray[np.float64]) -> Heaps:
    """MB of heap in each worker of some tasks, by slot."""
    placed = worker_of >= 0
    found = np.bincount(worker_of[placed], weights=heap[placed], minlength=len(workers))
    return {workers[at]: float(found[at]) for at in np.unique(worker_of[placed]).tolist()}


def _short(node: str, what: str, need: float, have: float, *, unit: str = "", where: str = "it") -> Reason:
    message = f"{where} would carry {need:g}{unit} {what} and has {have:g}{unit}"
    return Reason(code="capacity", subject=node, message=message, resource=what, need=need, have=have)
