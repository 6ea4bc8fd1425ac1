"""Generator of requests with profiles: machines of a few types, and components that cost differently on each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headworks.model import Cluster, Component, Kind, Node, Profile, Request, Resources, Stream, Topology

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headworks.testing.instances.build import Dice

MACHINES, PARTS = (3, 9), (1, 5)
"""Least and most machines and profiled components of a request."""
METS = (0, 5, 15, 37)
"""Percent that a task takes at most at any rate: a request draws one of them, and each profile up to that."""
COSTS = (0.02, 0.05, 0.1, 0.2, 0.3)
"""Percent-seconds of a tuple, which each component and each machine type then vary."""


def build_profiled(dice: Dice) -> Request:
    """A request for throughput: 3 to 9 machines of 1 to 3 types, 1 to 5 profiled components of one or two topologies.

    Some have memory that binds, one slot on each machine, or a spout without profile; nothing runs yet.
    """
    types = [f"type-{number}" for number in range(dice.number(1, 3))]
    memory, few = dice.pick((False, False, False, False, True)), dice.pick((False, False, True))
    nodes = tuple(_node(dice, number, types, memory=memory, few=few) for number in range(dice.number(*MACHINES)))
    parts = dice.number(*PARTS)
    two = parts > 2 and dice.pick((False, False, False, False, True))
    sizes = (parts // 2, parts - parts // 2) if two else (parts,)
    topologies = tuple(_topology(dice, number, size, memory=memory) for number, size in enumerate(sizes))
    most = dice.pick(METS)
    return Request(
        cluster=Cluster(nodes=nodes),
        topologies=topologies,
        profiles=tuple(each for topology in topologies for each in _profiles(dice, topology, types, most)),
    )


def _node(dice: Dice, number: int, types: Sequence[str], *, memory: bool, few: bool) -> Node:
    capacity = {"cpu": 100.0, **({"memory": float(dice.pick((1024, 2048, 4096)))} if memory else {})}
    slots = tuple(6700 + port for port in range(1 if few else dice.number(1, 4)))
    return Node(id=f"n{number}", capacity=Resources(capacity), slots=slots, machine_type=dice.pick(types))


def _topology(dice: Dice, number: int, size: int, *, memory: bool) -> Topology:
    """A tree of components; where there is one more than asked for, its first is a spout that has no profile."""
    free = dice.pick((False, False, True))
    names = [f"c{index}" for index in range(size + free)]
    components = tuple(
        Component(
            id=name,
            kind=Kind.BOLT if index else Kind.SPOUT,
            rate=None if index else float(dice.pick((1, 10, 100))),
            selectivity=dice.pick((1.0, 1.0, 0.5, 2.0)) if index else 1.0,
            demand=Resources(memory=float(dice.pick((64, 256, 512)))) if memory else Resources(),
        )
        for index, name in enumerate(names)
    )
    streams = tuple(
        Stream(
            source=names[dice.number(0, index - 1) if dice.number(0, 1) else index - 1],
            target=name,
            fanout=dice.pick(("copy", "split")),
        )
        for index, name in enumerate(names)
        if index
    )
    return Topology(id=f"t{number}-free" if free else f"t{number}", components=components, streams=streams)


def _profiles(dice: Dice, topology: Topology, types: Sequence[str], most: int) -> Iterator[Profile]:
    for part in topology.components[topology.id.endswith("-free") :]:
        cost = dice.pick(COSTS) * dice.number(50, 200) / 100
        for name in types:
            e = cost * dice.number(40, 250) / 100
            met = dice.number(0, 10 * most) / 10
            yield Profile(topology=topology.id, component=part.id, machine_type=name, e=e, met=met)
