"""Small requests on which Algorithm 1 was worked by hand."""

from __future__ import annotations

from headworks.model import Cluster, Component, FrozenMap, Node, Request, Resources, Slot, Stream, Topology


def chain() -> Request:
    """C1: A-B-C-D with 10, 100 and 10 tuples/s, two equal nodes for two tasks each: B, C go first, together."""
    return request(
        tasks={"a": (50, 1), "b": (50, 1), "c": (50, 1), "d": (50, 1)},
        traffic={("a", "b"): 10, ("b", "c"): 100, ("c", "d"): 10},
        nodes={"n1": (100, 10), "n2": (100, 10)},
    )


def false_failure() -> Request:
    """C2: there is a placement, {t0, t2, t3} and {t1}, and Algorithm 1 does not find it."""
    return request(
        tasks={"t0": (10, 60), "t1": (10, 40), "t2": (40, 10), "t3": (40, 10)},
        traffic={("t0", "t1"): 4, ("t2", "t3"): 6, ("t1", "t2"): 3},
        nodes={"n1": (100, 100), "n2": (60, 50)},
    )


def nearly_full() -> Request:
    """C4: 85 of 90 points are taken; P brings 1 tuple/s and may bring 15 more, Q brings 2. One of them fits.

    `x` is what fills the node, `y` waits and fits nowhere. R is 85 / 90, so that beta counts only if the
    threshold is above.
    """
    return request(
        tasks={"p": (5, 0), "q": (5, 0), "x": (85, 0), "y": (95, 0)},
        traffic={("p", "x"): 1, ("p", "y"): 15, ("q", "x"): 2},
        nodes={"n1": (90, 10)},
        placed={"x": "n1"},
    )


def request(
    *,
    tasks: dict[str, tuple[float, float]],
    traffic: dict[tuple[str, str], float],
    nodes: dict[str, tuple[float, float]],
    placed: dict[str, str] | None = None,
) -> Request:
    """One component of one task for each name; amounts are (points, MB); `placed` tasks run and do not move.

    Args:
        tasks: Points and MB of each task.
        traffic: Tuples/s between two tasks.
        nodes: Points and MB of each node.
        placed: Node of each task that runs and does not move.
    """
    placed = placed or {}
    components = tuple(
        Component(id=name, demand=Resources(cpu=cpu, memory=memory), movable=name not in placed)
        for name, (cpu, memory) in tasks.items()
    )
    streams = tuple(Stream(source=a, target=b, rate=rate) for (a, b), rate in traffic.items())
    cluster = Cluster(
        nodes=tuple(Node(id=name, capacity=Resources(cpu=cpu, memory=memory)) for name, (cpu, memory) in nodes.items())
    )
    return Request(
        cluster=cluster,
        topologies=(Topology(id="t", components=components, streams=streams),),
        assignment=FrozenMap({f"t/{name}/0": Slot(node, 0) for name, node in placed.items()}),
    )
