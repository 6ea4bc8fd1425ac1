"""From nodes to slots: which worker process of its node each task goes to."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import attrs
import numpy as np

from headworks.model import Reason, Slot
from headworks.problem.arrays.workers import Workers, pack
from headworks.problem.rules.worker_rules import WorkerRules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from headworks.problem.arrays.arrays import Arrays


Kind = tuple[int, int]
"""What the tasks of a worker have in common: their topology, and its worker by number."""

ANY, LEFT = -1, -2
"""Numbers of workers that nobody decided, and of those that are given up."""


@attrs.define
class _Worker:
    """A worker process in the making: its heap limit, its port (None until one is found), heap in use, its tasks."""

    kind: Kind
    limit: float
    port: int | None = None
    used: float = 0.0
    tasks: list[int] = attrs.Factory(list)

    def has_room(self, heap: float) -> bool:
        return self.used + heap <= self.limit

    def add(self, task: int, heap: float) -> None:
        self.tasks.append(task)
        self.used += heap


def assign_slots(
    problem: Arrays, node_of: NDArray[np.int64], worker_of: NDArray[np.int64] | None = None
) -> tuple[dict[int, Slot], list[Reason]]:
    """Give every placed task a slot of its node.

    A topology has one worker on a node unless its heap limit or `worker_of` asks for more. A task that stays on its
    node keeps its slot where that can be: every touched slot is a restarted process. Where no running task may move,
    none is restarted either as long as the slots of its node suffice: new tasks get workers of their own. Where the
    slots do not suffice for that, workers are packed anew by the rule of `headworks.problem.arrays.workers`, beside
    those that fixed tasks hold: it is the one by which `Room` counts them. A new worker takes the lowest port that
    nobody uses now, then the lowest that is given up. Closed tasks keep their slots, which take no other. Where slots
    are shared, a task keeps its slot or takes the lowest of its node.

    Args:
        worker_of: Worker of each task, shape (n,), -1 or None where it is not decided: tasks of a topology on a node
            with different numbers have different workers, as far as the node has slots. Of topologies that are live it
            is not looked at: no worker begins for a task that moves while they run.

    Returns:
        Slot by task index, and a reason for each node whose slots do not suffice; its tasks have no slot then.
    """
    running = _running(problem)
    if problem.request.cluster.shared_slots:
        return _in_shared(problem, node_of, running)
    closed = {task: Slot(problem.node_ids[problem.current[task]], running[task]) for task in _closed(problem)}
    slots: dict[int, Slot] = dict(closed)
    reasons: list[Reason] = []
    by_node: dict[int, list[int]] = defaultdict(list)
    for task, node in enumerate(node_of.tolist()):
        if node >= 0 and task not in closed:
            by_node[node].append(task)
    ports = _ports(problem, set(closed.values()))
    used = _used(problem, running)
    packing = _Packing(problem, running, worker_of)
    for node in sorted(by_node):
        workers, proven = packing.fewest_restarts(by_node[node], node, len(ports[node]))
        if packing.rules:
            workers = packing.separated(workers, node, len(ports[node]))
            here = {task for worker in workers for task in worker.tasks}
            if len(here) < len(by_node[node]) and len(workers) <= len(ports[node]):
                reasons.append(_shared(problem, node, len(by_node[node]) - len(here), len(ports[node])))
        if len(workers) > len(ports[node]):
            reasons.append(_too_few(problem.node_ids[node], len(workers), len(ports[node]), proven=proven))
            continue
        _name_ports(workers, ports[node], used.get(node, set()))
        for worker in workers:
            slot = Slot(problem.node_ids[node], worker.port if worker.port is not None else 0)
            slots.update(dict.fromkeys(worker.tasks, slot))
    return slots, reasons


def _in_shared(
    problem: Arrays, node_of: NDArray[np.int64], running: dict[int, int]
) -> tuple[dict[int, Slot], list[Reason]]:
    nodes = sorted(problem.request.cluster.nodes, key=lambda each: each.id)
    first = [Slot(each.id, min(each.slots)) if each.slots else None for each in nodes]
    slots: dict[int, Slot] = {}
    without: set[str] = set()
    for task, node in enumerate(node_of.tolist()):
        slot = first[node] if node >= 0 else None
        if slot is not None:
            stays = problem.current[task] == node and running[task] != slot.port
            slots[task] = Slot(slot.node, running[task]) if stays else slot
        elif node >= 0:
            without.add(nodes[node].id)
    return slots, [_too_few(name, 1, 0, proven=True) for name in sorted(without)]


def _closed(problem: Arrays) -> list[int]:
    found: list[int] = np.flatnonzero(problem.closed).tolist()
    return found


def _ports(problem: Arrays, taken: set[Slot]) -> list[tuple[int, ...]]:
    held = {(slot.node, slot.port) for slot in taken}
    nodes = sorted(problem.request.cluster.nodes, key=lambda node: node.id)
    return [tuple(port for port in sorted(node.slots) if (node.id, port) not in held) for node in nodes]


def _running(problem: Arrays) -> dict[int, int]:
    """Port of each task that runs on a live slot, by task index."""
    assignment, ids = problem.request.assignment, problem.task_ids
    return {task: assignment[ids[task]].port for task in np.flatnonzero(problem.current >= 0).tolist()}


def _used(problem: Arrays, running: dict[int, int]) -> dict[int, set[int]]:
    used: dict[int, set[int]] = defaultdict(set)
    for task, port in running.items():
        used[int(problem.current[task])].add(port)
    return used


class _Packing:
    """Packing state of the workers, as lists: single numbers are read from them."""

    def __init__(self, problem: Arrays, running: dict[int, int], worker_of: NDArray[np.int64] | None) -> None:
        self._running = running
        self._asked = None if worker_of is None else _open_to_choice(problem, worker_of)
        self._fixed: list[bool] = (problem.fixed >= 0).tolist()
        self._any_fixed = any(self._fixed)
        self._current: list[int] = problem.current.tolist()
        self._topology: list[int] = problem.topology.tolist()
        self._heap: list[float] = problem.heap.tolist()
        rule = Workers(problem)
        self._limit, self._held = rule.limit, rule.ports
        self._still = problem.request.limits.max_moves == 0
        self.rules = WorkerRules(problem)

    def fewest_restarts(self, tasks: list[int], node: int, ports: int) -> tuple[list[_Worker], bool]:
        """Workers for the tasks of a node: of the ways to pack them, the gentlest for which its ports suffice.

        Returns:
            The workers, and whether the tasks are known to need so many if they are more than the ports.
        """
        for number in self._numbers(tasks):
            # Gentlest first: where no running task may move, workers that run take no further task, since that
            # restarts them.
            for closed in (True, False) if self._still else (False,):
                workers = self._kept(tasks, node, number, closed=closed)
                if len(workers) <= ports:
                    return workers, True
        # Keeping running workers needs too many ports: fall back on the packing that `Room` counted with, which holds.
        return self._anew(tasks)

    def separated(self, workers: list[_Worker], node: int, ports: int) -> list[_Worker]:
        """Workers as constraints within them ask: what may not be where it is goes to another one, or to a new one.

        A task for which no port is left is in none. What runs in a worker stays there where no running task may move.
        """
        rest: list[tuple[_Worker, int]] = []
        for worker in workers:
            tasks, worker.tasks, worker.used = worker.tasks, [], 0.0
            for task in sorted(tasks, key=lambda each: (not self._stays_in(each, worker, node), each)):
                if self.rules.allow(worker.tasks, task) or self._must_stay(task, worker, node):
                    worker.add(task, self._heap[task])
                else:
                    rest.append((worker, task))
        found = self._joined([each for each in workers if each.tasks], node)
        for worker, task in rest:
            mine = [each for each in found if each.kind[0] == worker.kind[0]]
            open_to = (each for each in mine if each.has_room(self._heap[task]) and self.rules.allow(each.tasks, task))
            goes = next((each for each in open_to if not (self._still and each.port is not None)), None)
            if goes is None and len(found) < ports:
                goes = _Worker((worker.kind[0], ANY), worker.limit)
                found.append(goes)
            if goes is not None:
                goes.add(task, self._heap[task])
        return found

    def _stays_in(self, task: int, worker: _Worker, node: int) -> bool:
        return self._current[task] == node and self._running[task] == worker.port

    def _must_stay(self, task: int, worker: _Worker, node: int) -> bool:
        return self._stays_in(task, worker, node) and (self._still or self._fixed[task])

    def _joined(self, workers: list[_Worker], node: int) -> list[_Worker]:
        """Workers with each set that has to be in one worker in the one that has most of it, if its heap suffices."""
        for tasks in self.rules.sets([task for worker in workers for task in worker.tasks]):
            homes = [worker for worker in workers if set(worker.tasks) & set(tasks)]
            if len(homes) < 2 or any(self._must_stay(task, worker, node) for worker in homes for task in worker.tasks):
                continue
            home = max(homes, key=lambda each: len(set(each.tasks) & set(tasks)))
            if home.used + sum(self._heap[task] for task in tasks if task not in home.tasks) > home.limit:
                continue
            for worker in homes:
                for task in [each for each in worker.tasks if each in tasks and worker is not home]:
                    worker.tasks.remove(task)
                    worker.used -= self._heap[task]
                    home.add(task, self._heap[task])
        return [worker for worker in workers if worker.tasks]

    def _numbers(self, tasks: list[int]) -> Iterator[dict[int, int]]:
        """Worker of each task by number: as the scheduler asked, then fewer and fewer a topology, at last undecided."""
        asked = self._asked
        if self.rules:
            mine_by: dict[int, list[int]] = defaultdict(list)
            for task in tasks:
                mine_by[self._topology[task]].append(task)
            yield {task: number for mine_of in mine_by.values() for task, number in self.rules.numbers(mine_of).items()}
        if asked is not None:
            mine: dict[int, set[int]] = defaultdict(set)
            decided = [task for task in tasks if asked[task] >= 0]
            for task in decided:
                mine[self._topology[task]].add(asked[task])
            rank = {topology: {number: at for at, number in enumerate(sorted(mine[topology]))} for topology in mine}
            for most in range(max(map(len, mine.values()), default=0), 0, -1):
                yield {task: rank[self._topology[task]][asked[task]] % most for task in decided}
        yield {}

    def _anew(self, tasks: list[int]) -> tuple[list[_Worker], bool]:
        """Pack the tasks beside those that hold their workers, as `Room` does."""
        held: dict[int, dict[int, _Worker]] = defaultdict(dict)
        rest: dict[int, list[int]] = defaultdict(list)
        for task in tasks:
            topology, port = self._topology[task], self._held.get(task)
            if port is None:
                rest[topology].append(task)
            else:
                worker = held[topology].setdefault(port, _Worker((topology, ANY), self._limit[topology], port))
                worker.add(task, self._heap[task])
        workers, proven = [], True
        for topology in sorted(held.keys() | rest.keys()):
            mine = [held[topology][port] for port in sorted(held[topology])]
            largest_first = sorted(rest[topology], key=lambda each: (-self._heap[each], each))
            limit = self._limit[topology]
            # Bin packing: bins of `limit` MB, of which those that fixed tasks hold are partly filled.
            packing = pack([self._heap[task] for task in largest_first], limit, [each.used for each in mine])
            mine += [_Worker((topology, ANY), limit) for _ in packing.used[len(mine) :]]
            for task, number in zip(largest_first, packing.worker_of, strict=True):
                mine[number].add(task, self._heap[task])
            workers += mine
            proven &= packing.proven
        return workers, proven

    def _kept(self, tasks: list[int], node: int, number: dict[int, int], *, closed: bool) -> list[_Worker]:
        """Workers for the tasks of a node: those that run there stay in their port as long as its heap allows.

        With `closed`, a worker that runs takes no more tasks.
        """
        workers: dict[Kind, list[_Worker]] = defaultdict(list)
        # Fixed tasks claim their ports before others fill the heap that they need.
        fixed_first = sorted(tasks, key=lambda each: not self._fixed[each]) if self._any_fixed else tasks
        kept = self._running_workers([task for task in fixed_first if self._current[task] == node], number)
        for worker in kept.values():
            workers[worker.kind].append(worker)
        rest = [task for task in fixed_first if self._current[task] != node or not self._stay(task, number, kept)]
        new: dict[Kind, list[_Worker]] = defaultdict(list) if closed else workers
        # First fit decreasing for what comes or lost its place; ties by task index.
        ordered = sorted(sorted(rest), key=self._heap.__getitem__, reverse=True)
        kinds = [(self._topology[task], number.get(task, ANY)) for task in ordered]
        heaps = map(self._heap.__getitem__, ordered)
        for (kind, heap), alike in groupby(zip(kinds, heaps, ordered, strict=True), key=itemgetter(0, 1)):
            self._first_fit(new[kind], kind, heap, [task for _, _, task in alike])
        groups = [*workers.values(), *(new.values() if closed else ())]
        return [worker for group in groups for worker in group if worker.tasks]

    def _running_workers(self, tasks: list[int], number: dict[int, int]) -> dict[int, _Worker]:
        """Empty workers by port, for those that run: a port keeps the worker by number of which it has most tasks.

        Args:
            tasks: Tasks that run on the node and stay there, fixed ones first.
            number: Worker by number of each task that has one.
        """
        owner: dict[int, int] = {}
        weight: dict[tuple[int, int], int] = defaultdict(int)
        for task in tasks:
            port, topology = self._running[task], self._topology[task]
            if owner.setdefault(port, topology) == topology:
                # a fixed task outweighs all others: it cannot go to another port
                weight[port, number.get(task, ANY)] += len(tasks) if self._fixed[task] else 1
        kinds: dict[int, Kind] = {}
        for port, each in sorted(weight, key=lambda key: (-weight[key], key)):
            kind = owner[port], each
            if port not in kinds and (each == ANY or kind not in kinds.values()):
                kinds[port] = kind
        # a port whose tasks all belong to workers that have another port is left, except by fixed tasks
        return {port: _Worker(kinds.get(port, (owner[port], LEFT)), self._limit[owner[port]], port) for port in owner}

    def _stay(self, task: int, number: dict[int, int], kept: dict[int, _Worker]) -> bool:
        """Add the task to the worker that it runs in, if it may stay there."""
        worker, heap = kept[self._running[task]], self._heap[task]
        topology, mine = worker.kind
        stays = topology == self._topology[task] and (
            self._fixed[task] or ((self._still or mine == number.get(task, ANY)) and worker.has_room(heap))
        )
        if stays:
            worker.add(task, heap)
        return stays

    def _first_fit(self, workers: list[_Worker], kind: Kind, heap: float, tasks: list[int]) -> None:
        """Tasks of one heap: a worker that has no room for one of them has none for those that follow."""
        at = 0
        for task in tasks:
            while at < len(workers) and not workers[at].has_room(heap):
                at += 1
            if at == len(workers):
                workers.append(_Worker(kind, self._limit[kind[0]]))
            workers[at].add(task, heap)


def _open_to_choice(problem: Arrays, worker_of: NDArray[np.int64]) -> list[int]:
    """Worker of each task by number; of live topologies none, for their tasks move between workers that run."""
    live = np.array([each.live for each in sorted(problem.request.topologies, key=lambda each: each.id)], dtype=bool)
    chosen: list[int] = np.where(live[problem.topology], ANY, worker_of).tolist()
    return chosen


def _name_ports(workers: list[_Worker], ports: tuple[int, ...], used: set[int]) -> None:
    kept = {worker.port for worker in workers}
    # Ports that nobody uses now come first: a port in use is free only after its worker has ended.
    free = iter(sorted((port for port in ports if port not in kept), key=lambda port: (port in used, port)))
    for worker in sorted((each for each in workers if each.port is None), key=lambda each: min(each.tasks)):
        worker.port = next(free)


def _shared(problem: Arrays, node: int, lost: int, have: int) -> Reason:
    name = problem.node_ids[node]
    message = (
        f"node {name} has {have} slots: constraints within workers leave {lost} of its tasks without one; add slots"
    )
    return Reason(code="constraint", subject=name, message=message, resource="slots", need=float(have + 1), have=have)


def _too_few(node: str, need: int, have: int, *, proven: bool) -> Reason:
    searched = "" if proven else ", as far as was searched for a better packing of their heaps"
    message = f"node {node} has {have} slots, the workers planned on it need {need}{searched}; "
    message += "add slots or spread topologies"
    return Reason(code="slots", subject=node, message=message, resource="slots", need=need, have=have)
