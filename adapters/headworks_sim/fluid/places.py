"""The running tasks of a simulation, their slots, and the nodes that are alive: the state that its events change."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headworks.model import Slot
    from headworks.problem import Problem


class RunningTasks:
    """Running, absent and lost tasks; n tasks by index, as the problem orders them, t topologies.

    Attributes:
        index: Index of each task by id.
        asked: The stored assignment, which supervisors try to carry out.
        running: Slot of each task that runs, by id.
        node_of: int64 (n,), node on which each task runs, -1 if it does not.
        worker: int64 (n,), number of its worker process, -1 if it does not run.
        absent: Tasks that ran, shall run, and do not.
        missing: int64 (t,), number of absent tasks of each topology.
        down: Dead nodes, and since when.
    """

    def __init__(self, problem: Problem) -> None:
        """Start with every task stopped and every node alive."""
        self._problem = problem
        self.index = problem.task_index
        self.asked: dict[str, Slot] = {}
        self.running: dict[str, Slot] = {}
        self.node_of = np.full(problem.n, -1, dtype=np.int64)
        self.worker = np.full(problem.n, -1, dtype=np.int64)
        self.absent: set[str] = set()
        self.missing = np.zeros(len(problem.topology_ids), dtype=np.int64)
        self.down: dict[str, float] = {}
        self._lost: dict[str, tuple[Slot, float]] = {}
        self._workers: dict[Slot, int] = {}
        self._orders: Counter[str] = Counter()

    @classmethod
    def of(cls, problem: Problem) -> RunningTasks:
        """Start with the running assignment of a request, but for tasks on nodes that it does not have."""
        made = cls(problem)
        assignment = problem.request.assignment
        for task in sorted(assignment):
            if problem.current[problem.task_index[task]] >= 0:
                made.asked[task] = assignment[task]
                made._put(task, assignment[task])
        return made

    def topology(self, task: str) -> int:
        """Index of a task's topology."""
        return int(self._problem.topology[self.index[task]])

    def order(self, task: str) -> int:
        """Number of a new order for a task: events of an older one, which are queued already, have no effect."""
        self._orders[task] += 1
        return self._orders[task]

    def standing(self, wanted: Mapping[str, Slot]) -> dict[str, Slot]:
        """Tasks that run, or are about to run where an assignment wants them: they need no new order."""
        waiting = {task: slot for task, slot in self.asked.items() if wanted.get(task) == slot}
        return {**waiting, **self.running}

    def ask(self, wanted: dict[str, Slot]) -> None:
        """Store an assignment; a task that is not in it is missed no longer."""
        for task in sorted(self.absent - wanted.keys()):
            self._orders[task] += 1
            self._found(task)
        self.asked = wanted

    def stop(self, task: str, slot: Slot | None, order: int, *, absent: bool) -> None:
        """End a task at a slot, unless it runs elsewhere by now.

        Args:
            task: Its id.
            slot: The slot that it leaves.
            order: Number of the order by which it leaves; an older one has no effect.
            absent: It shall run elsewhere, and is missed until it does.
        """
        if self._orders[task] == order and self.running.get(task) == slot:
            self._take(task)
            if absent:
                self._miss(task)

    def start(self, task: str, slot: Slot | None, order: int) -> None:
        """Start a task at a slot, if the node is alive and the order the newest one.

        Args:
            task: Its id.
            slot: The slot that it comes to.
            order: Number of the order by which it comes.
        """
        if slot is not None and self._orders[task] == order and self.can_run(slot.node):
            self._put(task, slot)

    def can_run(self, node: str) -> bool:
        """True for a node that is there and alive."""
        return node in self._problem.node_index and node not in self.down

    def lose_node(self, node: str, now: float) -> None:
        """End a node with all tasks that run there; without effect if it is dead.

        Args:
            node: Its id.
            now: Seconds of simulated time.
        """
        self.down.setdefault(node, now)
        for task in sorted(task for task, slot in self.running.items() if slot.node == node):
            self._lose(task, now)

    def regain_node(self, node: str) -> list[str]:
        """Bring a node back; returns the tasks that its supervisor has to start, in order."""
        if self.down.pop(node, None) is None:
            return []
        return sorted(t for t, slot in self.asked.items() if slot.node == node and t not in self.running)

    def lose_worker(self, slot: str, now: float) -> list[str]:
        """End a worker process; returns its tasks, which its supervisor starts again.

        Args:
            slot: The slot as text, `NODE:PORT`.
            now: Seconds of simulated time.
        """
        tasks = sorted(task for task, each in self.running.items() if str(each) == slot)
        for task in tasks:
            self._lose(task, now)
        return [task for task in tasks if self.asked.get(task) is not None]

    def seen(self, now: float, detection: float) -> tuple[dict[str, Slot], set[str]]:
        """Slots of tasks and dead nodes as a monitor sees them.

        Tasks and nodes that were lost less than `detection` seconds ago look alive, as heartbeats are missed no sooner.

        Args:
            now: Seconds of simulated time.
            detection: Seconds after which a loss is noticed.
        """
        dead = {node for node, since in self.down.items() if now - since >= detection}
        held = {
            task: slot
            for task, (slot, since) in self._lost.items()
            if now - since < detection and self.asked.get(task) == slot
        }
        seen = {**held, **self.running}
        return {task: seen[task] for task in sorted(seen)}, dead

    def _put(self, task: str, slot: Slot) -> None:
        number = self.index[task]
        self.running[task] = slot
        self.node_of[number] = self._problem.node_index[slot.node]
        self.worker[number] = self._workers.setdefault(slot, len(self._workers))
        self._lost.pop(task, None)
        self._found(task)

    def _take(self, task: str) -> None:
        del self.running[task]
        self.node_of[self.index[task]] = self.worker[self.index[task]] = -1

    def _lose(self, task: str, now: float) -> None:
        self._lost[task] = self.running[task], now
        self._take(task)
        self._miss(task)

    def _found(self, task: str) -> None:
        if task in self.absent:
            self.absent.discard(task)
            self.missing[self.topology(task)] -= 1

    def _miss(self, task: str) -> None:
        if task not in self.absent:
            self.absent.add(task)
            self.missing[self.topology(task)] += 1
