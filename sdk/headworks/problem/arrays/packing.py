"""Heaps of tasks packed into as few worker processes as a limited search finds: bin packing.

First fit decreasing and, where that may be one worker too many, branch and bound. It ends after `EFFORT` steps. Until
then the number is the least there is; after it, that of the best packing found, and `Packing.proven` is False. Then one
more task may need two more workers (`Room` looks at each), and fewer tasks may need more (after a removal
`Room.free_slots` may be negative: the plan would refuse the node).
"""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING

import attrs

from headworks.problem.arrays.build import STEP

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EFFORT = 1_000
"""Steps of branch and bound for one number of workers: larger proves more packings and may take milliseconds each."""


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
        limit: MB that a worker may have.
        held: MB in use in workers that are there in any case.
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
