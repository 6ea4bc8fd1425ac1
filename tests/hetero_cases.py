"""Small requests with profiles."""

from __future__ import annotations

from itertools import pairwise

from headworks.model import Cluster, Component, Kind, Node, Profile, Request, Resources, Stream, Topology


def profiled(
    e: list[list[float]],
    met: float = 0.0,
    *,
    machines: tuple[int, ...] | None = None,
    alpha: tuple[float, ...] = (),
    rate: float | None = 1.0,
    **more,
) -> Request:
    """A chain of components c0, c1, ...; `e` by component and machine type, `machines` of each type (one)."""
    names = [f"c{index}" for index in range(len(e))]
    types = [f"m{index}" for index in range(len(e[0]))]
    selectivity = alpha or (1.0,) * len(e)
    parts = tuple(
        Component(id=name, kind=Kind.BOLT if index else Kind.SPOUT, rate=None if index else rate,
                  selectivity=selectivity[index])
        for index, name in enumerate(names)
    )  # fmt: skip
    nodes = tuple(
        Node(id=f"{kind}-{number:03d}", capacity=Resources(cpu=100.0), machine_type=kind)
        for kind, count in zip(types, machines or (1,) * len(types), strict=True)
        for number in range(count)
    )
    profiles = tuple(
        Profile(topology="t", component=name, machine_type=kind, e=cost, met=met)
        for name, row in zip(names, e, strict=True)
        for kind, cost in zip(types, row, strict=True)
    )
    streams = tuple(Stream(source=a, target=b) for a, b in pairwise(names))
    topology = Topology(id="t", components=parts, streams=streams)
    return Request(cluster=Cluster(nodes=nodes), topologies=(topology,), profiles=profiles, **more)
