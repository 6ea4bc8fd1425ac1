"""Random requests with profiles on nodes of several cores, and what each task of a plan needs by the profiles."""

from __future__ import annotations

import random

from headworks.model import (
    Cluster,
    Component,
    FrozenMap,
    Kind,
    Node,
    Profile,
    Request,
    Resources,
    Slot,
    Stream,
    Topology,
)
from headworks.model.rates import component_rates

POINTS = (50.0, 100.0, 150.0, 200.0, 400.0, 400.0, 800.0, 1600.0)
"""CPU of a node: half a core to sixteen."""


def threaded_request(number: int, series: str = "threads") -> Request:
    """Make a request: a tree of components on one to four nodes of several cores, some of it running.

    Args:
        number: Number of the request in its series.
        series: Name of the series.
    """
    dice = random.Random(f"{series} {number}")
    types = {f"m{index}": dice.choice(POINTS) for index in range(dice.randint(1, 3))}
    nodes = tuple(_node(dice, index, types) for index in range(dice.randint(1, 4)))
    names = [f"c{index}" for index in range(dice.randint(1, 4))]
    parts = tuple(_component(dice, name, spout=not index) for index, name in enumerate(names))
    streams = tuple(
        Stream(source=dice.choice(names[:index]), target=name, fanout=dice.choice(("copy", "split")))
        for index, name in enumerate(names)
        if index
    )
    topology = Topology(id="t", components=parts, streams=streams)
    profiles = tuple(
        Profile(topology="t", component=part.id, machine_type=kind, e=cost * dice.uniform(0.5, 2.0), met=met)
        for part in parts[dice.choice((0, 0, 1)) if len(parts) > 1 else 0 :]
        for cost, met in [(dice.choice((0.005, 0.02, 0.1)), dice.choice((0.0, 0.0, 1.0, 8.0)))]
        for kind in types
    )
    running = {task.id: Slot(dice.choice(nodes).id, 6700) for task in topology.tasks()} if dice.random() < 0.2 else {}
    return Request(
        cluster=Cluster(nodes=nodes), topologies=(topology,), profiles=profiles, assignment=FrozenMap(running)
    )


def _node(dice: random.Random, index: int, types: dict[str, float]) -> Node:
    kind = dice.choice(sorted(types))
    capacity = Resources(cpu=types[kind], memory=4096.0)
    return Node(id=f"n{index}", capacity=capacity, slots=(6700, 6701), machine_type=kind)


def _component(dice: random.Random, name: str, *, spout: bool) -> Component:
    return Component(
        id=name,
        kind=Kind.SPOUT if spout else Kind.BOLT,
        rate=dice.choice((1.0, 100.0)) if spout else None,
        selectivity=1.0 if spout else dice.choice((0.5, 1.0, 2.0)),
        threads=dice.choice((1, 1, 1, 2, 5)),
        max_parallelism=dice.choice((None, None, None, 2)),
        movable=dice.random() < 0.9,
        demand=Resources(cpu=dice.choice((0.0, 0.0, 20.0, 180.0))),
    )


def needs(request: Request, plan) -> dict[str, tuple[float, float]]:
    """CPU points that each task with a profile needs at the plan's input rate, and what its threads can use.

    A fixed cost beyond the threads counts as all that they can use.
    """
    (topology,) = request.topologies
    nodes = {node.id: node for node in request.cluster.nodes}
    costs = {(each.component, each.machine_type): each for each in request.profiles}
    rates = component_rates(topology)
    spouts = sum(rates[part.id] for part in topology.components if part.kind is Kind.SPOUT)
    found = {}
    for part in topology.components:
        tasks = plan.parallelism.get(f"t/{part.id}", part.parallelism)
        each = rates[part.id] * plan.input_rate / spouts / tasks
        for index in range(tasks):
            node = nodes[plan.assignment[f"t/{part.id}/{index}"].node]
            cost = costs.get((part.id, node.machine_type))
            if cost is not None:
                percent, most = node.capacity.cpu / 100.0, 100.0 * part.threads
                found[f"t/{part.id}/{index}"] = cost.e * each * percent + min(cost.met * percent, most), most
    return found
