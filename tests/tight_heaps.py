"""Requests in which heaps just fill the workers that there are slots for: good packings are needed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from small_requests import component, node, request, topology

if TYPE_CHECKING:
    from headworks.model import Request

SIX = (4.0, 3.0, 3.0, 4.0, 3.0, 3.0)
"""Two workers of 10 hold them, 4 + 3 + 3 each; first fit decreasing opens a third."""


def six_heaps() -> Request:
    """`SIX` on a node with two slots."""
    parts = [component(f"c{number}", cpu=1.0, heap=heap) for number, heap in enumerate(SIX)]
    return request([node("n", cpu=1000.0, slots=2)], [topology("t", *parts, worker_heap=10.0)])


def tight_heaps(seed: int, *, tasks: int = 14, nodes: int = 3, fresh: bool = False) -> Request:
    """Small nodes of few slots; unless it is `fresh`, some tasks run, some of these are fixed, or nothing may move."""
    dice = random.Random(seed)
    cluster = [
        node(f"n{number}", cpu=dice.choice([30.0, 60.0, 1000.0]), slots=dice.randint(1, 4))
        for number in range(dice.randint(1, nodes))
    ]
    topologies, left = [], dice.randint(2, tasks)
    for number in range(dice.randint(1, 2)):
        parts = []
        for part in range(dice.randint(1, 6)):
            count = min(left, dice.randint(1, 3))
            left -= count
            heap = float(dice.choice([0, 2, 3, 4, 5, 6, 7, 9, 10, 11][: dice.choice([8, 10])]))
            if count:
                fixed = not fresh and dice.random() < 0.3
                parts.append(component(f"c{part}", count, float(dice.choice([0, 1, 5])), heap=heap, movable=not fixed))
        limit = dice.choice([10.0, 10.0, 10.5, 13.0, 20.0, None])
        topologies.append(topology(f"t{number}", *parts, worker_heap=limit))
    running = {} if fresh else _running(dice, cluster, topologies)
    return request(cluster, topologies, running, max_moves=None if fresh else dice.choice([None, 0]))


def _running(dice, cluster, topologies):
    """Where some tasks run: a worker serves one topology, and neither it nor its node is overloaded."""
    slots = [(each.id, port) for each in cluster for port in each.slots]
    tenant, heap = {}, dict.fromkeys(slots, 0.0)
    cpu = {each.id: each.capacity["cpu"] for each in cluster}
    found, share = {}, dice.choice([0.0, 0.3, 0.6, 1.0])
    for each in topologies:
        need = {part.id: part for part in each.components}
        for task in each.tasks():
            part, slot = need[task.component], dice.choice(slots)
            limit = float("inf") if each.worker_heap is None else each.worker_heap
            fits = heap[slot] + part.task_heap <= limit and part.demand["cpu"] <= cpu[slot[0]]
            if dice.random() < share and tenant.setdefault(slot, each.id) == each.id and fits:
                heap[slot] += part.task_heap
                cpu[slot[0]] -= part.demand["cpu"]
                found[task.id] = f"{slot[0]}:{slot[1]}"
    return found
