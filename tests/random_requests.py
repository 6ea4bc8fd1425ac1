"""Random requests whose least traffic can be proved: 3 to 9 nodes, at most 30 tasks of 1 to 3 topologies.

Five shapes of topologies, all groupings, heap limits in every third topology, nodes of three sizes with few slots; the
load is from three to nine tenths of the CPU. A number and a name of the series make a request: a series that nobody has
seen before is a name that nobody has used.
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import TYPE_CHECKING

import attrs

from headworks.model import Cluster, Component, Kind, Node, Request, Resources, Stream, Topology
from headworks.testing.instances.build import GROUPINGS

if TYPE_CHECKING:
    from collections.abc import Callable

    Dice = random.Random

TASKS = 30
"""At most in a request."""


def random_request(number: int, series: str = "traffic") -> Request:
    """Make a request in which nothing runs yet.

    Args:
        number: Number of the request in its series.
        series: Name of the series.
    """
    dice = random.Random(f"{series} {number}")
    nodes = _nodes(dice, dice.randint(3, 9))
    sizes = _sizes(dice, dice.randint(6, TASKS))
    topologies = [_topology(dice, index, size) for index, size in enumerate(sizes)]
    return Request(cluster=Cluster(nodes=nodes), topologies=_loaded(dice, nodes, topologies))


def _nodes(dice: Dice, count: int) -> tuple[Node, ...]:
    """Nodes of one kind in every third cluster, else of several."""
    alike = dice.random() < 1 / 3
    kinds = [_node(dice, index) for index in range(1 if alike else count)] * (count if alike else 1)
    return tuple(attrs.evolve(kind, id=f"n{index}") for index, kind in enumerate(kinds))


def _node(dice: Dice, index: int) -> Node:
    capacity = Resources(cpu=float(dice.choice((100, 200, 400))), memory=float(dice.choice((2048, 4096, 8192))))
    ports = tuple(range(6700, 6700 + dice.randint(1, 4)))
    return Node(id=f"n{index}", capacity=capacity, slots=ports, price=dice.choice((None, 0.1, 0.25)))


def _sizes(dice: Dice, tasks: int) -> list[int]:
    """Tasks of each of one to three topologies, three at least."""
    count = min(dice.randint(1, 3), tasks // 3)
    cuts = sorted(dice.randint(0, tasks - 3 * count) for _ in range(count - 1))
    return [3 + end - start for start, end in pairwise([0, *cuts, tasks - 3 * count])]


def _topology(dice: Dice, index: int, tasks: int) -> Topology:
    shape = dice.choice(tuple(SHAPES))
    pairs = SHAPES[shape](dice, min(tasks, dice.randint(3, 7)))
    width = 1 + max(target for _, target in pairs)
    counts = [1] * width
    for _ in range(tasks - width):
        counts[dice.randrange(width)] += 1
    sinks = {target for _, target in pairs}
    parts = tuple(_component(dice, number, count, spout=number not in sinks) for number, count in enumerate(counts))
    streams = tuple(
        Stream(source=f"c{source}", target=f"c{target}", grouping=dice.choice(GROUPINGS)) for source, target in pairs
    )
    largest = max(part.task_heap for part in parts)
    limit = dice.choice((None, None, 1.0, 2.0, 3.0))
    return Topology(
        id=f"t{index}", components=parts, streams=streams, worker_heap=None if limit is None else limit * largest
    )


def _component(dice: Dice, number: int, count: int, *, spout: bool) -> Component:
    return Component(
        id=f"c{number}",
        kind=Kind.SPOUT if spout else Kind.BOLT,
        parallelism=count,
        demand=Resources(cpu=float(dice.randint(2, 40)), memory=float(dice.choice((64, 128, 256, 512)))),
        heap=dice.choice((None, 64.0, 128.0)),
        rate=round(100.0 * 100.0 ** dice.random(), 1) if spout else None,
        selectivity=dice.choice((0.1, 0.5, 1.0, 1.0, 2.0, 5.0)),
    )


def _loaded(dice: Dice, nodes: tuple[Node, ...], topologies: list[Topology]) -> tuple[Topology, ...]:
    """The topologies with CPU demands that take three to nine tenths of what the nodes have."""
    need = sum(part.parallelism * part.demand["cpu"] for each in topologies for part in each.components)
    factor = dice.uniform(0.3, 0.9) * sum(node.capacity["cpu"] for node in nodes) / need
    most = max(node.capacity["cpu"] for node in nodes)

    def scaled(part: Component) -> Component:
        cpu = min(round(part.demand["cpu"] * factor, 1), most / 2)
        return attrs.evolve(part, demand=Resources({**part.demand, "cpu": cpu}))

    return tuple(attrs.evolve(each, components=tuple(scaled(part) for part in each.components)) for each in topologies)


def _line(_dice: Dice, width: int) -> list[tuple[int, int]]:
    return [(index, index + 1) for index in range(width - 1)]


def _diamond(_dice: Dice, width: int) -> list[tuple[int, int]]:
    middle = range(1, width - 1)
    return [*((0, each) for each in middle), *((each, len(middle) + 1) for each in middle)]


def _star(_dice: Dice, width: int) -> list[tuple[int, int]]:
    """Some spouts into one bolt, and some bolts behind it; numbered so that streams go upwards."""
    spouts = max(1, (width - 1) // 2)
    return [*((each, spouts) for each in range(spouts)), *((spouts, each) for each in range(spouts + 1, width))]


def _tree(_dice: Dice, width: int) -> list[tuple[int, int]]:
    return [((each - 1) // 2, each) for each in range(1, width)]


def _web(dice: Dice, width: int) -> list[tuple[int, int]]:
    """Each component reads one or two of those before it."""
    return [
        (source, each)
        for each in range(1, width)
        for source in sorted(dice.sample(range(each), min(each, dice.randint(1, 2))))
    ]


SHAPES: dict[str, Callable[[Dice, int], list[tuple[int, int]]]] = {
    "linear": _line,
    "diamond": _diamond,
    "star": _star,
    "tree": _tree,
    "web": _web,
}
