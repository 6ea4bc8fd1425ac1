"""The order in which tasks move, such that no node is overloaded on the way."""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush
from operator import add, le, sub
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import Move, MoveKind, Slot
from headworks.problem.arrays.arrays import Placed

if TYPE_CHECKING:
    from headworks.problem.arrays.arrays import Arrays


@attrs.frozen(kw_only=True)
class Route:
    """Ordered moves, the slots that they lead to, and how many migrations the limit left undone."""

    moves: tuple[Move, ...]
    slots: dict[int, Slot]
    dropped: int = 0


def order_moves(problem: Arrays, target: dict[int, Slot]) -> Route:
    """Order the way from the running assignment to `target` (slot by task index).

    Capacity holds after every move: a task enters a node when it has room there, and its slot when that has heap left
    and holds no other topology. When all wait for each other, the lowest waiting task is evicted first and placed
    later. After `limits.max_moves` running tasks have moved or been evicted, the others stay, and an eviction
    whose task could not be placed again is not begun; a new task that then has no room is not placed.
    """
    if not (problem.current >= 0).any() and _holds(problem, target):
        tasks = sorted(target)  # of the tasks alone: pairs of them and their slots take much longer
        slots = dict(zip(tasks, map(target.__getitem__, tasks), strict=True))
        return Route(moves=tuple(_arrival(problem.task_ids[task], slot) for task, slot in slots.items()), slots=slots)
    return _Walk(problem, target).run()


def _arrival(task: str, slot: Slot) -> Move:
    return Move(kind=MoveKind.PLACE, task=task, source=None, target=slot)


def _holds(problem: Arrays, target: dict[int, Slot]) -> bool:
    """Check whether every node, worker and slot has room for all that is planned in it: then any order will do."""
    placed = Placed.of(target, target.values())
    tasks, slot_of, nodes = placed.tasks, placed.slot_of, placed.nodes(problem)
    usage = np.zeros_like(problem.capacity)
    for column in range(usage.shape[1]):
        usage[:, column] = np.bincount(nodes[slot_of], weights=problem.demand[tasks, column], minlength=len(usage))
    tenant = np.zeros(len(nodes), dtype=np.int64)
    tenant[slot_of] = problem.topology[tasks]
    heap = np.bincount(slot_of, weights=problem.heap[tasks], minlength=len(nodes))
    # `tenant` holds the last topology written to a slot: a task of another one shows that two share it.
    shared = (tenant[slot_of] != problem.topology[tasks]).any()
    shared &= not problem.request.cluster.shared_slots
    return not shared and bool((usage <= problem.capacity).all() and (heap <= problem.heap_limit[tenant]).all())


class _Walk:
    def __init__(self, problem: Arrays, target: dict[int, Slot]) -> None:
        self.problem = problem
        self.target = target
        self.at = self._running()
        self.free: list[list[float]] = problem.capacity.tolist()
        self.demand: list[list[float]] = problem.demand.tolist()
        self.needs: list[float] = problem.heap.tolist()
        self.topology: list[int] = problem.topology.tolist()
        self.tenants: dict[Slot, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        self.heap: dict[Slot, float] = defaultdict(float)
        self.moves: list[Move] = []
        self.evicted: dict[int, int] = {}
        limit = problem.request.limits.max_moves
        self.left = problem.n if limit is None else limit
        for task, slot in self.at.items():
            self._enter(task, slot)

    def _running(self) -> dict[int, Slot]:
        problem = self.problem
        assignment, ids = problem.request.assignment, problem.task_ids
        return {task: assignment[ids[task]] for task in range(problem.n) if problem.current[task] >= 0}

    def run(self) -> Route:
        pending = [task for task in sorted(self.target) if self.at.get(task) != self.target[task]]
        leaving = [task for task in sorted(self.at) if task not in self.target and self.problem.fixed[task] < 0]
        # Evictions come first: what leaves for good makes room for all that follows.
        for task in leaving[: self.left]:
            self._step(MoveKind.EVICT, task, None)
        self.left -= len(leaving[: self.left])
        waiting = self._work_off(pending)
        if not self.left:
            self._return_evicted(waiting)
        dropped = sum(self.target.get(task) != slot for task, slot in self.at.items())
        return Route(moves=tuple(self.moves), slots=dict(self.at), dropped=dropped)

    def _work_off(self, pending: list[int]) -> list[int]:
        """Make the moves, pass after pass over the tasks by index; return those that wait in the end.

        A task that found no room is tried again only after something left the node that it waits for.
        """
        queue, waiting, victims = _Queue(pending), set(pending), iter(pending)
        while waiting:
            task = queue.next()
            # A deadlock: all that wait are blocked. Evict the lowest one that runs, to be placed again later.
            if task is None:
                task = next((each for each in victims if each in waiting and each in self.at), None)
                if task is None or not self.left:
                    break
                freed: str | None = self._evict_for_now(task)
            else:
                source = self.at.get(task)
                if not self._try(task):
                    queue.block(task, self.target[task].node)
                    continue
                waiting.discard(task)
                freed = source.node if source is not None else None
            queue.wake(freed)
        return sorted(waiting)

    def _return_evicted(self, pending: list[int]) -> None:
        """Take the way back to before the first eviction for which the limit left no second half."""
        # An eviction without its second move would leave a running task nowhere: everything from the first one on is
        # undone.
        cut = min((self.evicted[task] for task in pending if task in self.evicted), default=len(self.moves))
        if cut == len(self.moves):
            return
        self.moves, self.at = self.moves[:cut], self._running()
        for move in self.moves:
            task = self.problem.task_index[move.task]
            self.at.pop(task, None)
            if move.target is not None:
                self.at[task] = move.target

    def _try(self, task: int) -> bool:
        """Make the move if it is allowed and there is room; say whether it was made."""
        runs = task in self.at
        if (runs and not self.left) or not self._has_room(task):
            return False
        self.left -= runs
        self._step(MoveKind.MIGRATE if runs else MoveKind.PLACE, task, self.target[task])
        return True

    def _evict_for_now(self, victim: int) -> str:
        """Break a cycle of tasks that wait for each other; return the node that has more room now."""
        node = self.at[victim].node
        self.left -= 1
        self.evicted[victim] = len(self.moves)
        self._step(MoveKind.EVICT, victim, None)
        return node

    def _has_room(self, task: int) -> bool:
        slot, topology = self.target[task], self.topology[task]
        if self.tenants[slot].keys() - {topology} and not self.problem.request.cluster.shared_slots:
            return False
        if self.heap[slot] + self.needs[task] > self.problem.heap_limit[topology]:
            return False
        source = self.at.get(task)
        # Within a node the demand stays where it is, so that only heap and tenant of the slot count.
        if source is not None and source.node == slot.node:
            return True
        return all(map(le, self.demand[task], self.free[self.problem.node_index[slot.node]]))

    def _step(self, kind: MoveKind, task: int, slot: Slot | None) -> None:
        source = self.at.pop(task, None)
        if source is not None:
            self._leave(task, source)
        if slot is not None:
            self.at[task] = slot
            self._enter(task, slot)
        self.moves.append(Move(kind=kind, task=self.problem.task_ids[task], source=source, target=slot))

    def _enter(self, task: int, slot: Slot) -> None:
        node = self.problem.node_index[slot.node]
        self.free[node] = list(map(sub, self.free[node], self.demand[task]))
        self.tenants[slot][self.topology[task]] += 1
        self.heap[slot] += self.needs[task]

    def _leave(self, task: int, slot: Slot) -> None:
        node = self.problem.node_index[slot.node]
        self.free[node] = list(map(add, self.free[node], self.demand[task]))
        self.heap[slot] -= self.needs[task]
        tenants, topology = self.tenants[slot], self.topology[task]
        tenants[topology] -= 1
        if not tenants[topology]:
            del tenants[topology]


class _Queue:
    """Tasks to try in passes: within a pass by index; one that is woken after its turn waits for the next pass."""

    def __init__(self, tasks: list[int]) -> None:
        self._now = tasks.copy()
        self._later: list[int] = []
        self._blocked: dict[str, list[int]] = defaultdict(list)
        self._last = -1

    def next(self) -> int | None:
        """The task to try now; None when every one that waits is blocked, and then a new pass begins."""
        if not self._now:
            self._now, self._later, self._last = sorted(self._later), [], -1
        if not self._now:
            return None
        self._last = heappop(self._now)
        return self._last

    def block(self, task: int, node: str) -> None:
        """Let the task wait until something leaves the node."""
        self._blocked[node].append(task)

    def wake(self, node: str | None) -> None:
        """Something left the node, if it is one: those that wait for it get another turn."""
        if node is None:
            return
        for task in self._blocked.pop(node, ()):
            # The pass goes up by index: a task behind its head still gets its turn, one before it waits for the next
            # pass.
            if task > self._last:
                heappush(self._now, task)
            else:
                self._later.append(task)
