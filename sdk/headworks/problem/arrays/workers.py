"""The one rule by which the heaps of tasks fill the worker processes of a topology on a node: bin packing.

Storm gives each worker process a heap limit (`topology.worker.max.heap.size.mb`). Fixed tasks hold the workers in which
they run; the others are packed into as few as a limited search finds: first fit decreasing and, where that may be one
worker too many, branch and bound. It ends after `EFFORT` steps. Until then the number is the least there is; after it,
that of the best packing found, and `Packing.proven` is False. Then one more task may need two more workers (`Room`
looks at each), and fewer tasks may need more (after a removal `Room.free_slots` may be negative: the plan would refuse
the node).

Whoever counts workers counts here, and the number depends on nothing but *which* tasks are on a node. That is why what
`Room` takes, `Problem.plan` takes: `Room` counts by `Workers`, and the step from nodes to slots falls back on the same
`pack` of the same tasks. Of two different packings each finds room where the other finds none.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from copy import copy
from functools import cached_property
from itertools import groupby
from operator import mul
from typing import TYPE_CHECKING, Self

import attrs
import numpy as np

from headworks.problem.arrays.arrays import STEP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headworks.problem.arrays.arrays import Arrays

    Held = tuple[tuple[int, float, int], ...]
    """Port, MB in use and number of tasks of each worker that fixed tasks hold, by port."""
    Load = tuple[Held, tuple[int, ...]]
    """What a topology has on a node: workers that are held, and how many other tasks of each heap size."""


EFFORT = 1_000
"""Steps of branch and bound for one number of workers: larger proves more packings and may take milliseconds each."""
TOO_MANY = 100
"""Further workers for a task that no worker may hold: more than any node has slots for it."""

NOTHING: Held = ()


@attrs.frozen
class Packing:
    """Heaps in workers.

    Attributes:
        worker_of: Worker of each heap, those that are held first.
        used: MB in use in each worker.
        proven: Whether no packing has fewer workers.
    """

    worker_of: tuple[int, ...]
    used: tuple[float, ...]
    proven: bool


def pack(heaps: Sequence[float], limit: float, held: Sequence[float] = ()) -> Packing:
    """Pack heaps into as few workers as `EFFORT` finds; one above the limit has a worker to itself.

    Args:
        heaps: MB that each task needs, the largest first.
        limit: MB that a worker may have.
        held: MB in use in workers that are there in any case; more than the limit in one that takes nothing.
    """
    return pack_alike([(heap, len(list(alike))) for heap, alike in groupby(heaps)], limit, held)


def pack_alike(sizes: Sequence[tuple[float, int]], limit: float, held: Sequence[float] = ()) -> Packing:
    """Pack heaps of which many are equal; see `pack`.

    Args:
        sizes: MB that a task needs, the largest first, and the number of such tasks; at least one of each.
    """
    worker_of, used = _first_fit(sizes, limit, held)
    if not held and _is_least(sizes, limit, len(used)):
        return Packing(tuple(worker_of), tuple(used), proven=True)
    small = [each for each in sizes if each[0] <= limit]
    base = [*held, *(heap for heap, count in sizes[: len(sizes) - len(small)] for _ in range(count))]
    proven = True
    # First fit decreasing gives the upper bound, the sum of heaps the lower one: search for each number between them.
    for count in range(_least(small, limit, base), len(used)):
        heaps = [heap for heap, alike in small for _ in range(alike)]
        found, searched = _within(heaps, [limit - each for each in base] + [limit] * (count - len(base)))
        if found is not None:
            worker_of = [*range(len(held), len(base)), *found]
            used = base + [0.0] * (count - len(base))
            for heap, worker in zip(heaps, found, strict=True):
                used[worker] += heap
            break
        proven &= searched
    return Packing(tuple(worker_of), tuple(used), proven)


def _first_fit(
    sizes: Sequence[tuple[float, int]], limit: float, held: Sequence[float]
) -> tuple[list[int], list[float]]:
    """Worker of each heap, and MB in use in each worker: every heap goes to the first worker with room for it."""
    worker_of: list[int] = []
    used = list(held)
    for heap, count in sizes:
        at = 0
        while count:
            if at == len(used):
                used.append(0.0)
                takes = max(_times(limit, heap, count), 1)
            else:
                takes = _times(limit - used[at], heap, count)
            if takes:
                used[at] += takes * heap
                worker_of += [at] * takes
                count -= takes
            at += 1
    return worker_of, used


def _is_least(sizes: Sequence[tuple[float, int]], limit: float, count: int) -> bool:
    """Check at a glance that first fit used as few workers as there can be; often that suffices."""
    if not sizes or sizes[0][0] > limit:
        return False
    return len(sizes) == 1 or sum(heap * alike for heap, alike in sizes) > (count - 1) * limit


def _times(left: float, heap: float, most: int) -> int:
    """Times that a heap goes into what is left of a worker, at most so many."""
    if left < heap:
        return 0
    return most if heap <= 0 or left == math.inf else min(most, int(left // heap))


def _least(sizes: Sequence[tuple[float, int]], limit: float, base: Sequence[float]) -> int:
    """Workers below which the sum of the heaps has no room, nor those that are at least so large."""
    if limit == math.inf:
        return max(len(base), min(1, len(sizes)))
    # heaps fill workers in multiples of their greatest common divisor: what is left beyond that holds none
    unit = math.gcd(*(round(heap / STEP) for heap, _ in sizes)) * STEP or 1.0
    left, limit = [max(0.0, (limit - each) // unit * unit) for each in base], limit // unit * unit
    # Least number = ceil((sum of heaps - room in workers that are there) / limit).
    beyond = sum(heap * count for heap, count in sizes) - sum(left)
    more = math.ceil(beyond / limit) if beyond > 0 and limit > 0 else 0
    at = 0
    for heap, count in sizes:
        at += count
        # a worker holds floor(limit / heap) of the heaps that are as large as this one, the largest being first
        if heap > 0:
            more = max(more, math.ceil((at - sum(each // heap for each in left)) / (limit // heap)))
    return max(len(base) + more, min(1, len(sizes)))


def _within(heaps: Sequence[float], left: list[float]) -> tuple[list[int] | None, bool]:
    """Pack heaps, the largest first, into workers with `left` MB: the worker of each, and whether all was searched.

    Depth first. What is left of the workers, as a multiset, is all that the remaining heaps depend on: a state that was
    seen before has failed before.
    """
    rest = list(_sums(heaps))
    chosen: list[int] = []
    seen: set[tuple[int, tuple[float, ...]]] = set()
    ways = [_ways(heaps, rest, left, 0, seen)]
    for _ in range(EFFORT + len(heaps)):
        while ways and not ways[-1]:  # a dead end: the last choice that has another way is made anew
            ways.pop()
            if chosen:
                left[chosen[-1]] += heaps[len(chosen) - 1]
                chosen.pop()
        if not ways:
            return None, True
        worker = ways[-1].pop()
        left[worker] -= heaps[len(chosen)]
        chosen.append(worker)
        if len(chosen) == len(heaps):
            return chosen, True
        ways.append(_ways(heaps, rest, left, len(chosen), seen))
    return None, False


def _sums(heaps: Sequence[float]) -> Iterator[tuple[float, int]]:
    """Suffix sums of the heaps: MB from each heap on, and the number of heaps as large as it."""
    total, alike, found = 0.0, 0, []
    for at in reversed(range(len(heaps))):
        total += heaps[at]
        alike = alike + 1 if at + 1 < len(heaps) and heaps[at] == heaps[at + 1] else 1
        found.append((total, alike))
    return reversed(found)


def _ways(
    heaps: Sequence[float],
    rest: list[tuple[float, int]],
    left: list[float],
    at: int,
    seen: set[tuple[int, tuple[float, ...]]],
) -> list[int]:
    """Workers to try for a heap, the fullest last (it is tried first); none where the rest cannot have room."""
    if at == len(heaps):
        return []
    heap, smallest, (total, alike) = heaps[at], heaps[-1], rest[at]
    state = (at, tuple(sorted(left)))
    # room that is too small for the smallest heap is lost for all
    if state in seen or sum(each for each in left if each >= smallest) < total:
        return []
    seen.add(state)
    # Of heaps as large as this one, a worker with r MB left holds floor(r / heap): too few in all is a dead end.
    if heap > 0 and sum(each // heap for each in left if each >= heap) < alike:
        return []
    # Workers with equally much left are interchangeable: one of each is tried.
    different = {each: worker for worker, each in enumerate(left) if each >= heap}
    if heap in different:  # whatever else would fill this worker may change places with the heap
        return [different[heap]]
    return [different[each] for each in sorted(different, reverse=True)]


def _held_ports(problem: Arrays) -> dict[int, int]:
    """Port of the worker that each fixed task holds, by task.

    Where two topologies share a port, which no worker may, it is that of the topology with the lowest of these tasks;
    the others are packed like tasks that are not fixed.
    """
    owner: dict[tuple[int, int], int] = {}
    found = {}
    for task in np.flatnonzero((problem.fixed >= 0) & ~problem.closed).tolist():
        port, topology = problem.request.assignment[problem.task_ids[task]].port, int(problem.topology[task])
        if owner.setdefault((int(problem.fixed[task]), port), topology) == topology:
            found[task] = port
    return found


class Workers:
    """Worker processes on each node, counted as tasks come and go.

    A topology has one on each node where it has a task, more where its heap limit or its fixed tasks ask for them.
    Closed tasks are not counted, nor the slots that they hold.

    Attributes:
        slots: Slots of each node.
        sizes: Different heaps of the tasks of each topology, the largest first; 0 alone for one without a limit.
        size: Index of each task's heap in the sizes of its topology.
        limit: MB of heap that a worker of each topology may have.
        ports: Port of the worker that each fixed task holds, by task.
        plain: Whether every topology has one worker on a node, at most: no heap limit, no fixed tasks in two of them.
    """

    def __init__(self, problem: Arrays) -> None:
        self.slots: list[int] = problem.slots.tolist()
        # heaps are multiples of STEP: no sum of them lies between a limit and the multiple below, and sums stay exact
        self.limit: list[float] = (np.floor(problem.heap_limit / STEP) * STEP).tolist()
        self._topology: list[int] = problem.topology.tolist()
        self._heap: list[float] = problem.heap.tolist()
        self._closed: list[bool] = problem.closed.tolist()
        self._any_closed = any(self._closed)
        self.ports = _held_ports(problem)
        held = {(int(problem.fixed[task]), self._topology[task], port) for task, port in self.ports.items()}
        split = len(held) > len({each[:2] for each in held})
        self.plain = not split and not np.isfinite(problem.heap_limit).any()
        self.sizes, self.size = _sizes(problem)
        self._loads: list[dict[int, Load]] = [{} for _ in range(problem.m)]
        self._taken = [0] * problem.m
        self._packed = problem.packings
        self._numbers: list[dict[Load, int]] = [{} for _ in self.limit]

    def copy(self) -> Self:
        """The same workers, which change apart from these; numbers of workers by load are shared."""
        other = copy(self)
        vars(other).update(_loads=[each.copy() for each in self._loads], _taken=self._taken.copy())
        return other

    def taken(self, node: int) -> int:
        """Number of slots of a node that its workers take."""
        return self._taken[node]

    def topologies(self, node: int) -> tuple[int, ...]:
        """Indices of the topologies that have a worker on the node."""
        return tuple(self._loads[node])

    def size_of(self, topology: int, heap: float) -> int:
        """Index of a heap in the sizes of a topology, which have it."""
        sizes = self.sizes[topology]
        return sizes.index(heap) if len(sizes) > 1 else 0

    def further(self, topology: int, size: int, node: int) -> int:
        """Number of further workers that the node needs for another task that is not fixed."""
        if self.sizes[topology][size] > self.limit[topology]:
            return TOO_MANY
        load = self._loads[node].get(topology)
        if load is None:
            return 1
        if self.limit[topology] == np.inf:
            return 0
        more = self._number(topology, _more(load, size, 1)) - self._number(topology, load)
        return min(max(0, more), TOO_MANY)

    def fit(self, task: int, node: int) -> bool:
        """Check whether the node's slots suffice with the task on it, which is not fixed."""
        return self._taken[node] + self.further(self._topology[task], self.size[task], node) <= self.slots[node]

    def add(self, task: int, node: int) -> None:
        """A task comes."""
        self._change(task, node, 1)

    def add_if_fits(self, task: int, node: int) -> bool:
        """A task that is not fixed comes, if the node's slots suffice with it: whether it came. See `fit` and `add`."""
        topology, size, loads = self._topology[task], self.size[task], self._loads[node]
        if self.sizes[topology][size] > self.limit[topology]:
            return False
        before = loads.get(topology)
        after = _more(before or self._empty(topology), size, 1)
        taken = self._taken[node] + self._number(topology, after) - (self._number(topology, before) if before else 0)
        # a packing that was searched to its end never needs fewer workers for one task more: see `further`
        if max(taken, self._taken[node]) > self.slots[node]:
            return False
        loads[topology], self._taken[node] = after, taken
        return True

    def add_alike(self, tasks: Sequence[int], node: int) -> int:
        """Tasks come one after the other, as long as the slots suffice: how many. Workers are packed once for all.

        Args:
            tasks: Tasks of one topology and one heap, none of them fixed; at least one.
        """
        topology, size = self._topology[tasks[0]], self.size[tasks[0]]
        if self.sizes[topology][size] > self.limit[topology]:
            return 0
        before = self._loads[node].get(topology)
        load = before or self._empty(topology)
        others = self._taken[node] - (self._number(topology, before) if before else 0)

        def needed(count: int) -> int:
            return others + self._number(topology, _more(load, size, count))

        count = len(tasks)
        after = _more(load, size, count)
        taken = others + self._number(topology, after)
        if taken > self.slots[node]:
            count = bisect_right(range(1, count), self.slots[node], key=needed)
            after, taken = _more(load, size, count), needed(count) if count else 0
        if count:
            self._taken[node], self._loads[node][topology] = taken, after
        return count

    def remove(self, task: int, node: int) -> None:
        """A task goes."""
        self._change(task, node, -1)

    def emptiest(self, topology: int, node: int) -> float:
        """MB of heap left in the emptiest worker of a topology on a node, -inf if it has none there."""
        load = self._loads[node].get(topology)
        if load is None or self.limit[topology] == np.inf:
            return -np.inf if load is None else np.inf
        return self.limit[topology] - min(self._packing(topology, load).used)

    @cached_property
    def _kind(self) -> list[tuple[int, int]]:
        """Topology of each task, and its heap by index."""
        return list(zip(self._topology, self.size, strict=True))

    def needed(self, tasks: Iterable[int]) -> tuple[int, bool]:
        """Number of workers that some tasks need on one node, and whether it is proven to be the least."""
        loads: dict[int, Load] = {}
        if self._any_closed:
            tasks = [each for each in tasks if not self._closed[each]]
        if self.ports:
            tasks = list(tasks)
            for task in (each for each in tasks if each in self.ports):
                topology = self._topology[task]
                loads[topology] = self._changed(loads.get(topology, self._empty(topology)), task, 1)
            tasks = [each for each in tasks if each not in self.ports]
        # all of one heap at once: a node has many tasks, and few different ones
        for (topology, size), count in Counter(map(self._kind.__getitem__, tasks)).items():
            loads[topology] = _more(loads.get(topology) or self._empty(topology), size, count)
        counted = [(topology, load, self._number(topology, load)) for topology, load in loads.items()]
        plain = (self.limit[topology] == np.inf or number == 1 for topology, _, number in counted)
        proven = all(
            each or self._packing(topology, load).proven
            for each, (topology, load, _) in zip(plain, counted, strict=True)
        )
        return sum(number for _, _, number in counted), proven

    def _change(self, task: int, node: int, sign: int) -> None:
        if self._closed[task]:
            return
        topology = self._topology[task]
        loads = self._loads[node]
        before = loads.get(topology)
        after = self._changed(before or self._empty(topology), task, sign)
        self._taken[node] -= self._number(topology, before) if before else 0
        if after[0] or any(after[1]):
            loads[topology] = after
            self._taken[node] += self._number(topology, after)
        else:
            del loads[topology]

    def _empty(self, topology: int) -> Load:
        return NOTHING, (0,) * len(self.sizes[topology])

    def _changed(self, load: Load, task: int, sign: int) -> Load:
        port = self.ports.get(task) if self.ports else None
        if port is None:
            return _more(load, self.size[task], sign)
        held = {each: (heap, count) for each, heap, count in load[0]}
        heap, count = held.get(port, (0.0, 0))
        held[port] = (heap + sign * self._heap[task], count + sign)
        return tuple((each, *held[each]) for each in sorted(held) if held[each][1]), load[1]

    def _number(self, topology: int, load: Load) -> int:
        """Workers of a topology on a node, where it has a task."""
        known = self._numbers[topology]
        if load not in known:
            held, counts = load
            limit = self.limit[topology]
            if limit == np.inf:
                known[load] = max(1, len(held))
            elif not held and sum(map(mul, counts, self.sizes[topology])) <= limit:
                known[load] = 1
            else:
                known[load] = len(self._packing(topology, load).used)
        return known[load]

    def _packing(self, topology: int, load: Load) -> Packing:
        used = tuple(heap for _, heap, _ in load[0]) if load[0] else ()
        key = (topology, used, load[1])
        if key not in self._packed:
            sizes = [each for each in zip(self.sizes[topology], load[1], strict=True) if each[1]]
            self._packed[key] = pack_alike(sizes, self.limit[topology], used)
        return self._packed[key]


def _more(load: Load, size: int, count: int) -> Load:
    held, counts = load
    return held, (*counts[:size], counts[size] + count, *counts[size + 1 :])


def _sizes(problem: Arrays) -> tuple[list[tuple[float, ...]], list[int]]:
    """The different heaps of each topology, the largest first, and the index of each task's among them."""
    count = len(problem.heap_limit)
    sizes: list[tuple[float, ...]] = [(0.0,)] * count
    size = np.zeros(problem.n, dtype=np.int64)
    ends = np.searchsorted(problem.topology, np.arange(count + 1)).tolist()  # its tasks are contiguous
    for topology in np.flatnonzero(np.isfinite(problem.heap_limit)).tolist():
        tasks = slice(ends[topology], ends[topology + 1])
        heaps, inverse = np.unique(-problem.heap[tasks], return_inverse=True)
        sizes[topology], size[tasks] = tuple((-heaps).tolist()) or (0.0,), inverse.reshape(-1)
    return sizes, size.tolist()
